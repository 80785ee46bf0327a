// Where things stand: the plot above, the strip of work without arithmetic below.

import { scaleLog, type ScaleLogarithmic } from "d3-scale";
import { others, type Mark } from "./marks";
import type { Roof } from "./roofs";

export type Log = ScaleLogarithmic<number, number>;

export interface Area {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface Geometry {
  width: number;
  height: number;
  roomy: boolean; // labels of pipes stand right of the plot, else inside
  plot: Area;
  x: Log; // flop/B
  y: Log; // flop/s
  strip: { area: Area; rows: string[]; x: Log } | null; // B/s
}

const ROW = 38; // px, a row of the strip
const UNDER_PLOT = 50; // px, ticks and title of the x axis

/**
 * Lay out a chart of `width` px under the roofs that are drawn; `rows` are the boundaries of the
 * strip, innermost first, and `aside` px are what the longest label of a pipe takes.
 */
export function lay(width: number, marks: Mark[], memory: Roof[], pipes: Roof[], rows: string[], aside: number): Geometry {
  const roomy = width >= 760;
  const left = 72;
  const right = width - (roomy ? Math.max(120, aside + 24) : 12);
  const plot = { left, right, top: 12, bottom: Math.round(Math.min(540, Math.max(340, width * 0.5))) };
  const [xDomain, yDomain] = domains(marks, memory, pipes);
  const top = plot.bottom + UNDER_PLOT + 34;
  const area = { left, right, top, bottom: top + ROW * rows.length };
  return {
    width,
    height: rows.length ? area.bottom + UNDER_PLOT : plot.bottom + UNDER_PLOT,
    roomy,
    plot,
    x: scaleLog(xDomain, [plot.left, plot.right]),
    y: scaleLog(yDomain, [plot.bottom, plot.top]),
    strip: rows.length
      ? { area, rows, x: scaleLog(rateDomain(marks, memory, rows), [left, right]) }
      : null,
  };
}

// Every point and every ridge is inside, with air around; so are the levels joined to a point that see
// more bytes.  Those that a kernel hardly touches would push all else aside.
function domains(marks: Mark[], memory: Roof[], pipes: Roof[]): [[number, number], [number, number]] {
  const points = marks.filter((mark) => mark.panel === "chart");
  const rates = pipes.map((roof) => roof.ceiling.rate);
  const widths = memory.map((roof) => roof.ceiling.rate);
  const ridges = rates.flatMap((rate) => widths.map((width) => rate / width));
  const xs = [...points.flatMap((mark) => [mark.x, mark.counted ?? mark.x, ...others(mark).map(([, at]) => at).filter((at) => at < mark.x)]), ...ridges];
  const ys = [...points.map((mark) => mark.y!), ...rates];
  if (!xs.length) xs.push(0.1, 100);
  if (!ys.length) ys.push(...(widths.length ? widths.map((width) => width * xs[0]!) : [1e9, 1e12]));
  const x: [number, number] = [low(xs) / 3, high(xs) * 3];
  // Slow roofs come in from the left with room for their labels.
  const floor = widths.length ? (low(widths) * x[0]) / 1.5 : Infinity;
  return [x, [Math.min(low(ys) / 2.5, floor), high(ys) * 2]];
}

function rateDomain(marks: Mark[], memory: Roof[], rows: string[]): [number, number] {
  const roofs = memory.filter((roof) => rows.includes(roof.ceiling.resource));
  const rates = [
    ...marks.filter((mark) => mark.panel === "strip").flatMap((mark) => [mark.x, mark.counted ?? mark.x]),
    ...roofs.map((roof) => roof.ceiling.rate),
  ];
  return [low(rates) / 2, high(rates) * 2];
}

// Not Math.min(...values): five thousand arguments are many.
const low = (values: number[]): number => values.reduce((a, b) => (b < a ? b : a));
const high = (values: number[]): number => values.reduce((a, b) => (b > a ? b : a));

/** Middle of a row of the strip. */
export const rowY = (area: Area, row: number): number => area.top + ROW * (row + 0.5);

/** Powers of ten inside, or finer steps where a zoom left none or one. */
export function ticks(scale: Log): number[] {
  const [from, to] = scale.domain() as [number, number];
  const powers: number[] = [];
  for (let power = Math.ceil(Math.log10(from)); power <= Math.log10(to); power++) powers.push(10 ** power);
  return powers.length >= 2 ? powers : scale.ticks(6);
}
