// What a profiler counted when it ran an item's kernels again: a state of its own, and never a part
// of the times above it.

import { unitOf, type Item, type Replay } from "./document";
import { dataTable, el, terms } from "./dom";
import { percent, show } from "./units";

const LEGIBLE = 80; // letters of a kernel's name, of which templates make hundreds

/** The counters of one call, kernel by kernel and together; null where nothing was replayed. */
export function replayed({ replay }: Item): HTMLElement | null {
  if (!replay) return null;
  const rows = replay.kernels.map((kernel) => [
    kernel.name.length > LEGIBLE ? `${kernel.name.slice(0, LEGIBLE - 1)}…` : kernel.name,
    String(kernel.launch),
    kernel.time_s === null ? "" : show(kernel.time_s, "s"),
    kernel.roof_fraction === null ? "" : percent(kernel.roof_fraction),
    kernel.binding ?? "",
    kernel.clock_hz === null ? "" : show(kernel.clock_hz, "Hz"),
  ]);
  const titles = ["kernel", "launch *", "own time *", "of its roof *", "bound by", "clock *"];
  return el(
    "div",
    {},
    dataTable(`Counters of one call: ${replay.state}, another state than the times above`, titles, rows),
    terms([
      ["flop that ran", amounts(replay.executed, replay.excess)],
      ["bytes that crossed", crossed(replay)],
      ["not counted", replay.missing.join(", ")],
      ["no share of a roof", replay.refused],
      ["source", replay.source],
    ]),
  );
}

function amounts(found: Record<string, number> | null, excess: Record<string, number>): string | null {
  if (found === null) return null;
  return Object.entries(found).map(([resource, amount]) => worded(resource, amount, excess)).join(", ") || "none";
}

function crossed({ achieved, excess }: Replay): string | null {
  if (achieved === null) return null;
  return Object.entries(achieved).map(([resource, seen]) => worded(resource, seen.total, excess)).join(", ");
}

function worded(resource: string, amount: number, excess: Record<string, number>): string {
  const times = excess[resource];
  const needed = times === undefined ? "" : ` (${times.toFixed(2)} times what is needed)`;
  return `${show(amount, unitOf(resource))} at ${resource}${needed}`;
}
