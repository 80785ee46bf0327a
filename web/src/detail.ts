// What stands behind one item: every bound with its basis, the counts beside each other, the spread.

import { unitOf, type Item } from "./document";
import { el, terms } from "./dom";
import { maybe, percent, show } from "./units";

/** The details of an item, as they open under its row. */
export function detail(item: Item): Node[] {
  const nodes: (Node | null)[] = [
    item.bounds.length ? bounds(item) : el("p", {}, "Nothing bounds this item: no part of it has both a count and a ceiling."),
    terms([
      ["operator", item.name],
      ["serial time", item.serial_s === null ? null : `${show(item.serial_s, "s")} with no overlap`],
      ["attainable", item.attainable_flop_per_s === null ? null : show(item.attainable_flop_per_s, "flop/s")],
      ["overhead", item.overhead_s === null ? null : show(item.overhead_s, "s")],
      ["samples", spread(item)],
      ["share of the step", item.share === null ? null : percent(item.share)],
      ["excess traffic", excess(item)],
      ["not accounted for", item.unaccounted.join(", ")],
      ["no ceiling for", item.no_ceiling.join(", ")],
    ]),
    item.too_short ? el("p", { class: "note" }, "Each call is shorter than the recorder can time well.") : null,
  ];
  return nodes.filter((node): node is Node => node !== null);
}

function bounds(item: Item): HTMLElement {
  const rows = item.bounds.map((bound) => {
    const unit = unitOf(bound.resource);
    const intensity = item.intensity[bound.resource];
    return el("tr", { class: bound.resource === item.binding && "binding" },
      el("th", { scope: "row" }, bound.resource),
      el("td", { class: "number" }, show(bound.amount, unit)),
      el("td", { class: "number" }, show(bound.rate, `${unit}/s`)),
      el("td", { class: "number" }, show(bound.least_s, "s")),
      el("td", { class: "number" }, unit === "B" ? maybe(intensity, "flop/B") : ""),
      el("td", {}, [bound.basis, bound.variant].filter(Boolean).join(", ")),
    );
  });
  const titles = ["resource", "amount", "ceiling", "least time", "intensity", "basis"];
  const head = titles.map((title, at) => el("th", { scope: "col", class: at > 0 && at < 5 && "number" }, title));
  return el("table", { class: "bounds" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
}

function spread({ spread: s }: Item): string | null {
  if (s === null) return null;
  const half = `median ${show(s.median, "s")}, half of ${s.n} between ${show(s.q1, "s")} and ${show(s.q3, "s")}`;
  return `${half}, best ${show(s.best, "s")}`;
}

function excess({ excess: amounts }: Item): string | null {
  const known = Object.entries(amounts ?? {}).filter((entry): entry is [string, number] => entry[1] !== null);
  return known.map(([resource, times]) => `${times.toFixed(2)} times at ${resource}`).join(", ") || null;
}
