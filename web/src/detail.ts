// What stands behind one item: every bound with its basis, every line counted, the spread.

import { crossed } from "./crossed";
import { unitOf, type Item, type Line } from "./document";
import { bar, dataTable, el, terms } from "./dom";
import { replayed } from "./replay";
import { calls, maybe, percent, show } from "./units";

/** The details of an item, as they open under its row. */
export function detail(item: Item): Node[] {
  const nodes: (Node | null)[] = [
    item.bounds.length ? bounds(item) : el("p", {}, "Nothing bounds this item: no part of it has both a count and a ceiling."),
    item.ledger?.length ? lines(item.ledger) : null,
    crossed(item),
    terms([
      ["operator", item.name],
      ["shapes", item.shapes],
      ["module", item.module],
      ["serial time", item.serial_s === null ? null : `${show(item.serial_s, "s")} with no overlap`],
      ["attainable", item.attainable_flop_per_s === null ? null : show(item.attainable_flop_per_s, "flop/s")],
      ["overhead", item.overhead_s === null ? null : `${show(item.overhead_s, "s")} of the measured time`],
      ["samples", spread(item)],
      ["share of operator time", item.share === null ? null : percent(item.share)],
      ["excess flop", excess(item)],
      ["page faults", item.page_faults == null ? null : calls(item.page_faults)],
      ["not accounted for", item.unaccounted.join(", ")],
      ["no ceiling for", item.no_ceiling.join(", ")],
      ["conventions", (item.conventions ?? []).join("; ")],
    ]),
    replayed(item),
    item.too_short ? el("p", { class: "note" }, "Each call is shorter than the recorder can time well.") : null,
  ];
  return nodes.filter((node): node is Node => node !== null);
}

function bounds(item: Item): HTMLElement {
  const rows = item.bounds.map((bound) => {
    const unit = unitOf(bound.resource);
    const served = bound.served_by && bound.served_by !== bound.resource ? `done by ${bound.served_by}` : null;
    return [
      bound.resource,
      show(bound.amount, unit),
      show(bound.rate, `${unit}/s`),
      show(bound.least_s, "s"),
      unit === "B" ? maybe(item.intensity[bound.resource], "flop/B") : "",
      [bound.basis, bound.variant, served].filter(Boolean).join(", "),
    ];
  });
  const times: (number | null)[] = item.bounds.map((bound) => bound.least_s);
  for (const [what, time, why] of [
    ["starting it", item.overhead_s, "overhead, no part of the roof"],
    ["measured", item.measured_s, item.calls === null ? "" : `in ${calls(item.calls)} call${item.calls === 1 ? "" : "s"}`],
  ] as const) {
    if (time === null) continue;
    rows.push([what, "", "", show(time, "s"), "", why]);
    times.push(time);
  }
  const table = dataTable("Time by resource", ["resource", "amount *", "ceiling *", "least time *", "intensity *", "basis"], rows);
  table.querySelector("tbody tr")?.classList.add("binding"); // the slowest stands first
  const longest = Math.max(...times.map((time) => time ?? 0));
  table.querySelectorAll<HTMLTableRowElement>("tbody tr").forEach((row, at) => {
    const cell = row.cells[3]!;
    cell.replaceChildren(bar((times[at] ?? 0) / longest), el("span", { class: "share time" }, cell.textContent));
  });
  return table;
}

function lines(ledger: Line[]): HTMLElement {
  const rows = ledger.map((line) => [line.resource, show(line.amount, line.unit), line.why, line.access ?? "", line.exactness]);
  return dataTable("What was counted", ["resource", "amount *", "why", "access", "count"], rows);
}

function spread({ spread: s, spread_of: of }: Item): string | null {
  if (s === null) return null;
  const half = `median ${show(s.median, "s")}, half of ${s.n} between ${show(s.q1, "s")} and ${show(s.q3, "s")}`;
  return [`${half}, best ${show(s.best, "s")}`, of && `each one ${of}`, s.unstable].filter(Boolean).join(", ");
}

// Of arithmetic; that of bytes stands beside them.
function excess({ excess: amounts }: Item): string | null {
  const known = Object.entries(amounts ?? {}).filter((entry): entry is [string, number] => entry[1] !== null && unitOf(entry[0]) !== "B");
  return known.map(([resource, times]) => `${times.toFixed(2)} times the formula's at ${resource}`).join(", ") || null;
}
