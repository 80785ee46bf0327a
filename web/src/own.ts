// The roof of one item: exactly the ceilings its bounds were computed with, and the way up to it; and
// the same work at every other boundary that its bytes crossed, joined by a line.

import type { Scene } from "./backdrop";
import { unitOf } from "./document";
import { rowY, type Log } from "./geometry";
import { others } from "./marks";
import type { Dot, Palette } from "./points";

/** Draw over the points what the item `dot` was placed under. */
export function own(context: CanvasRenderingContext2D, dot: Dot, { geometry, x, y, lookOf }: Scene, palette: Palette): void {
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
  hierarchy(context, dot, x, lookOf, palette);
  context.restore();
}

const RING = 5; // px
const ABOVE = 11; // px from a ring to the middle of its name
const LINE = 13; // px between names that would meet

function hierarchy(context: CanvasRenderingContext2D, { mark, x: at, y }: Dot, x: Log, lookOf: Scene["lookOf"], palette: Palette): void {
  const there = others(mark).map(([boundary, intensity]) => ({ boundary, px: x(intensity) })).sort((a, b) => a.px - b.px);
  if (!there.length) return;
  const ends = [at, ...there.map(({ px }) => px)];
  context.beginPath();
  context.moveTo(Math.min(...ends), y);
  context.lineTo(Math.max(...ends), y);
  context.stroke();
  context.font = palette("--label-font");
  context.textAlign = "center";
  let [edge, rise] = [-Infinity, 0];
  for (const { boundary, px } of there) {
    context.beginPath();
    context.arc(px, y, RING, 0, 2 * Math.PI);
    context.fillStyle = palette("--paper");
    context.fill();
    context.strokeStyle = palette(lookOf(boundary).color);
    context.lineWidth = 2;
    context.stroke();
    const half = context.measureText(boundary).width / 2 + 3;
    rise = px - half < edge ? rise + LINE : 0;
    edge = px + half;
    name(context, boundary, px, y - ABOVE - rise, palette);
  }
}

function name(context: CanvasRenderingContext2D, text: string, x: number, y: number, palette: Palette): void {
  context.lineJoin = "round";
  context.lineWidth = 3.5;
  context.strokeStyle = palette("--paper");
  context.strokeText(text, x, y);
  context.fillStyle = palette("--ink");
  context.fillText(text, x, y);
}

function dashes(context: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  context.setLineDash([3, 3]);
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
