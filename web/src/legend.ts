// What the signs of the chart mean; only those that occur.

import { create } from "d3-selection";
import { symbol, symbolCircle } from "d3-shape";
import type { Item } from "./document";
import { el } from "./dom";
import { others, radiusOf, timeOf, type Mark } from "./marks";
import { COUNTED } from "./points";
import { show } from "./units";

type Shape = Mark["look"];

/** Shapes, sizes and states in one list, and in words what the chart leaves out. */
export function legend(marks: Mark[], unplaced: Item[]): Node[] {
  const entries: HTMLElement[] = [];
  const seen = new Map<string, Shape>();
  for (const mark of marks) seen.set(mark.item.binding ?? "", mark.look);
  for (const [resource, look] of [...seen].sort(([a], [b]) => a.localeCompare(b))) {
    entries.push(entry(sign(look, 6, "filled"), resource ? `bound by ${resource}` : "no ceiling known"));
  }
  const some = marks[0]?.look;
  const plain = some && { ...some, shape: symbolCircle, color: "--ink-soft" };
  if (plain && marks.some((mark) => mark.hollow)) {
    entries.push(entry(sign(plain, 5, "hollow"), "hollow: not measured, drawn on its roof"));
  }
  if (plain && marks.some((mark) => mark.above)) {
    entries.push(entry(sign(plain, 4, "above"), "ring and arrow: more than 5 % above its roof"));
  }
  if (plain && marks.some((mark) => others(mark).length)) {
    entries.push(entry(sign(plain, 4, "hollow"), "rings joined to the point pointed at: its bytes at the other boundaries"));
  }
  if (plain && marks.some((mark) => mark.counted !== null)) {
    entries.push(entry(sign(plain, COUNTED, "hollow"), "small ring joined to a point: the same by the bytes that counters saw"));
  }
  const longest = marks.reduce((most, mark) => Math.max(most, timeOf(mark.item)), 0);
  if (plain && longest > 0) {
    const sizes = [longest, longest / 10].map((time) => entry(sign(plain, radiusOf(time, longest), "filled"), show(time, "s")));
    entries.push(el("li", { class: "sizes" }, "area is time:", el("ul", {}, ...sizes)));
  }
  const nodes: Node[] = entries.length ? [el("ul", { class: "signs" }, ...entries)] : [];
  if (unplaced.length) nodes.push(el("p", { class: "note" }, `Only in the table: ${absent(unplaced)}.`));
  return nodes;
}

// Items that need nothing, views for example, apart from those of which something is not known.
function absent(unplaced: Item[]): string {
  const idle = unplaced.filter((item) => item.flop === 0 && !item.unaccounted.length && !item.bounds.length && !item.no_ceiling.length);
  const unknown = unplaced.length - idle.length;
  const items = (count: number) => `${count} item${count > 1 ? "s" : ""}`;
  return [
    idle.length && `${items(idle.length)} that need${idle.length > 1 ? "" : "s"} no arithmetic and no bytes`,
    unknown && `${items(unknown)} of which flop, bytes or ceiling are not known`,
  ].filter(Boolean).join(", ");
}

const entry = (svg: SVGElement, text: string): HTMLElement => el("li", {}, svg, text);

function sign(look: Shape, radius: number, state: "filled" | "hollow" | "above"): SVGElement {
  const half = Math.max(8, radius + (state === "above" ? 6 : 2));
  const svg = create("svg").attr("class", "sign").attr("aria-hidden", "true")
    .attr("width", half * 2).attr("height", half * 2).attr("viewBox", [-half, -half, 2 * half, 2 * half].join(" "));
  const hollow = state === "hollow";
  svg.append("path").attr("d", symbol(look.shape, Math.PI * radius ** 2)()!)
    .style("fill", hollow ? "none" : `var(${look.color})`).style("stroke", `var(${look.color})`)
    .style("stroke-width", hollow ? 2 : 0);
  if (state === "above") {
    svg.append("circle").attr("r", radius + 3).style("fill", "none").style("stroke", "var(--warn)").style("stroke-width", 1.75);
  }
  return svg.node() as unknown as SVGElement;
}
