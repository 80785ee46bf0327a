// What a point says: in a box for those who see it, in one line for those who listen.

import { labelOf, unitOf, type Item } from "./document";
import { el, terms } from "./dom";
import { nameOf, others, type Mark } from "./marks";
import { calls, maybe, percent, show } from "./units";

const boundOf = (item: Item) => item.bounds.find((bound) => bound.resource === item.binding);

function rows(mark: Mark): [string, string][] {
  const { item } = mark;
  const bound = boundOf(item);
  const known = (value: string | null | undefined) => value || "unknown";
  return [
    ["calls", item.calls === null ? "unknown" : calls(item.calls)],
    ["measured", item.measured_s === null ? "not measured" : show(item.measured_s, "s")],
    ["roof time", maybe(item.roof_s, "s")],
    ["lost", maybe(item.lost_s, "s")],
    ["of its roof", item.roof_fraction === null ? "unknown" : percent(item.roof_fraction) + (mark.above ? ", above it" : "")],
    ["bound by", bound ? `${bound.resource}, ${show(bound.rate, `${unitOf(bound.resource)}/s`)}` : known(item.binding)],
    ["basis", bound ? [bound.basis, bound.variant].filter(Boolean).join(", ") : "no ceiling"],
    ["placed at", mark.panel === "chart" ? `${mark.boundary}, ${show(mark.x, "flop/B")}` : mark.boundary],
    ["counted", counted(mark)],
    ["also at", others(mark).map(([boundary, at]) => `${boundary}, ${show(at, "flop/B")}`).join("; ")],
    ["rate", mark.y !== null ? show(mark.y, "flop/s") : show(mark.x, "B/s")],
  ];
}

// Where the point would stand by the bytes that crossed, and why it is not there.
function counted({ counted: at, panel, boundary, item }: Mark): string {
  if (at === null) return "";
  const times = item.excess?.[boundary];
  const where = show(at, panel === "chart" ? "flop/B" : "B/s");
  return times == null ? where : `${where}: ${times.toFixed(2)} times the bytes of the formula crossed`;
}

/** The box beside a point. */
export function box(mark: Mark): Node[] {
  const where = [mark.item.module, mark.item.phase].filter(Boolean).join(", ");
  return [
    el("strong", {}, labelOf(mark.item)),
    mark.item.shapes && el("span", { class: "shapes" }, mark.item.shapes),
    where && el("span", { class: "where" }, where),
    terms(rows(mark).map(([term, text]) => [term, mark.hollow && term === "rate" ? `${text} at most` : text])),
  ].filter((node): node is HTMLElement => node instanceof Node);
}

/** The same in words. */
export const spoken = (mark: Mark): string =>
  `${nameOf(mark)}: ${rows(mark).filter(([, text]) => text).map(([term, text]) => `${term} ${text}`).join("; ")}`;
