// The roof of one item: exactly the ceilings its bounds were computed with, and the way up to it.

import type { Scene } from "./backdrop";
import { unitOf } from "./document";
import { rowY } from "./geometry";
import type { Dot, Palette } from "./points";

/** Draw over the points what the item `dot` was placed under. */
export function own(context: CanvasRenderingContext2D, dot: Dot, { geometry, x, y }: Scene, palette: Palette): void {
  const { mark } = dot;
  context.save();
  context.strokeStyle = palette("--ink");
  context.lineWidth = 1.5;
  context.beginPath();
  const memory = mark.item.bounds.find((bound) => bound.resource === mark.boundary)?.rate;
  if (mark.panel === "strip") {
    if (memory === undefined) return context.restore();
    const at = geometry.strip!.x(memory);
    const middle = rowY(geometry.strip!.area, geometry.strip!.rows.indexOf(mark.boundary));
    context.moveTo(at, middle - 16);
    context.lineTo(at, middle + 16);
    context.stroke();
    dashes(context, dot.x, dot.y, at, middle);
    return context.restore();
  }
  const { left, right, top, bottom } = geometry.plot;
  context.rect(left, top, right - left, bottom - top);
  context.clip();
  context.beginPath();
  const pipe = mark.item.bounds.find((bound) => unitOf(bound.resource) === "flop");
  // A pipe that does a part of the flop holds the whole back to its rate times flop over that part.
  const flat = pipe ? (pipe.rate * mark.item.flop!) / pipe.amount : Infinity;
  const [from, to] = x.domain() as [number, number];
  if (memory !== undefined) {
    context.moveTo(x(from), y(from * memory));
    const knee = Math.min(flat / memory, to);
    context.lineTo(x(knee), y(knee * memory));
    if (knee < to) context.lineTo(x(to), y(flat));
  } else if (Number.isFinite(flat)) {
    context.moveTo(x(from), y(flat));
    context.lineTo(x(to), y(flat));
  }
  context.stroke();
  const roof = mark.item.attainable_flop_per_s;
  if (roof) dashes(context, dot.x, dot.y, dot.x, y(roof));
  context.restore();
}

function dashes(context: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  context.setLineDash([3, 3]);
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
