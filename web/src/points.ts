// The points, on a canvas: thousands of them move with a zoom in one frame.

import { symbol } from "d3-shape";
import type { Area } from "./geometry";
import type { Mark } from "./marks";

export interface Dot {
  mark: Mark;
  x: number; // px
  y: number;
  counted: number | null; // x by the bytes that counters saw
  faded: boolean;
}

/** Colours of the style sheet by the names of their custom properties. */
export type Palette = (name: string) => string;

/** Draw the dots in order; those of the chart are cut at the edge of the plot, by a zoom alone. */
export function points(context: CanvasRenderingContext2D, dots: Dot[], plot: Area, palette: Palette): void {
  const draw = (dot: Dot) => {
    counted(context, dot, palette);
    point(context, dot, palette);
  };
  dots.filter((dot) => dot.mark.panel === "strip").forEach(draw);
  context.save();
  context.beginPath();
  context.rect(plot.left, plot.top, plot.right - plot.left, plot.bottom - plot.top);
  context.clip();
  dots.filter((dot) => dot.mark.panel === "chart").forEach(draw);
  context.restore();
}

function point(context: CanvasRenderingContext2D, { mark, x, y, faded }: Dot, palette: Palette): void {
  context.save();
  context.translate(x, y);
  context.globalAlpha = faded ? 0.15 : 1;
  context.beginPath();
  symbol(mark.look.shape, Math.PI * mark.radius ** 2).context(context)();
  const color = palette(mark.look.color);
  if (mark.hollow) {
    context.lineWidth = 2;
    context.strokeStyle = color;
    context.stroke();
  } else {
    context.globalAlpha *= 0.82;
    context.fillStyle = color;
    context.fill();
    context.globalAlpha = faded ? 0.15 : 1;
    context.lineWidth = 1.25;
    context.strokeStyle = palette("--paper");
    context.stroke();
    if (mark.item.binding === null) {
      context.strokeStyle = color;
      context.stroke();
    }
  }
  if (mark.above) raised(context, mark.radius, palette);
  context.restore();
}

/** Radius of the ring where counters would have a point [px]. */
export const COUNTED = 3.5;

/** Far enough from its point to be told apart from it. */
const apart = (dot: Dot): boolean => dot.counted !== null && Math.abs(dot.counted - dot.x) > dot.mark.radius + COUNTED + 1;

// Where the point would stand by the bytes that were counted, joined to it; under it.
function counted(context: CanvasRenderingContext2D, dot: Dot, palette: Palette): void {
  if (!apart(dot)) return;
  const [x, side] = [dot.counted!, Math.sign(dot.x - dot.counted!)];
  context.save();
  context.globalAlpha = dot.faded ? 0.15 : 1;
  context.strokeStyle = palette(dot.mark.look.color);
  context.lineWidth = 1.25;
  context.beginPath();
  context.moveTo(dot.x, dot.y);
  context.lineTo(x + side * COUNTED, dot.y);
  context.stroke();
  context.lineWidth = 1.75;
  context.beginPath();
  context.arc(x, dot.y, COUNTED, 0, 2 * Math.PI);
  context.stroke();
  context.restore();
}

// A ring and an arrow head: above its roof.
function raised(context: CanvasRenderingContext2D, radius: number, palette: Palette): void {
  const ring = radius + 4.5;
  context.lineWidth = 1.75;
  context.strokeStyle = palette("--warn");
  context.beginPath();
  context.arc(0, 0, ring, 0, 2 * Math.PI);
  context.moveTo(-5, -ring - 3);
  context.lineTo(0, -ring - 8);
  context.lineTo(5, -ring - 3);
  context.stroke();
}
