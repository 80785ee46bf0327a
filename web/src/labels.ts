// Labels along the diagonals: each beside its own line, off the other lines and off the points.

import type { Log, Area } from "./geometry";

export interface Line {
  text: string;
  rate: number; // B/s
  end: number; // flop/B at which the diagonal ends
  needed: boolean; // without room, a label that is not needed is left out
}

export interface Label {
  text: string;
  x: number; // px, start of the baseline
  y: number;
  angle: number; // degrees
}

const HEIGHT = 13; // px of a line of text
const OFF = 5; // px between a line and its label

interface Box {
  u: number;
  v: number;
  width: number;
}

/**
 * Places for the labels of parallel diagonals.
 *
 * Worked out in coordinates along (u) and across (v) the lines, where every diagonal is a constant
 * v and every label an upright box.
 */
export function place(
  lines: Line[],
  x: Log,
  y: Log,
  area: Area,
  points: [number, number][],
  widthOf: (text: string) => number,
): Label[] {
  const slope = Math.atan2(y(1) - y(10), x(10) - x(1));
  const along = (px: number, py: number) => px * Math.cos(slope) - py * Math.sin(slope);
  const across = (px: number, py: number) => -px * Math.sin(slope) - py * Math.cos(slope);
  const back = (u: number, v: number): [number, number] => [
    u * Math.cos(slope) - v * Math.sin(slope),
    -u * Math.sin(slope) - v * Math.cos(slope),
  ];
  const from = x.domain()[0]!;
  const heights = lines.map((line) => across(x(from), y(line.rate * from)));
  const dots = points.map(([px, py]) => ({ u: along(px, py), v: across(px, py) }));
  const taken: Box[] = [];
  const labels: Label[] = [];
  lines.forEach((line, index) => {
    const height = heights[index]!;
    const width = widthOf(line.text);
    const start = Math.max(from, y.domain()[0]! / line.rate);
    const first = along(x(start), y(start * line.rate)) + 8;
    const last = along(x(line.end), y(line.end * line.rate)) - width - 8;
    let best: { u: number; v: number; cost: number } | null = null;
    for (const v of [height + OFF, height - OFF - HEIGHT + 3]) {
      const crossing = heights.some((other) => other !== height && other > v - 2 && other < v + HEIGHT - 1);
      const beside = dots.filter((dot) => dot.v > v - 6 && dot.v < v + HEIGHT + 6);
      for (let u = first; u <= last; u += 10) {
        const box = { u, v, width };
        if (taken.some((other) => overlap(box, other)) || !inside(box, back, area)) continue;
        const hidden = beside.filter((dot) => dot.u > u - 6 && dot.u < u + width + 6);
        const cost = hidden.length * 200 + (u - first) + Number(crossing) * 1000 + Number(v < height) * 30;
        if (best === null || cost < best.cost) best = { u, v, cost };
      }
    }
    if (best === null || (!line.needed && best.cost >= 1000)) return;
    taken.push({ u: best.u, v: best.v, width });
    const [px, py] = back(best.u, best.v + 2);
    labels.push({ text: line.text, x: px, y: py, angle: (-slope * 180) / Math.PI });
  });
  return labels;
}

const overlap = (a: Box, b: Box): boolean =>
  a.u < b.u + b.width + 8 && b.u < a.u + a.width + 8 && Math.abs(a.v - b.v) < HEIGHT;

function inside(box: Box, back: (u: number, v: number) => [number, number], area: Area): boolean {
  return [box.u, box.u + box.width].every((u) =>
    [box.v, box.v + HEIGHT].every((v) => {
      const [px, py] = back(u, v);
      return px >= area.left && px <= area.right && py >= area.top && py <= area.bottom;
    }),
  );
}

interface Segment {
  from: [number, number]; // px
  to: [number, number];
}

/** Places for the labels of horizontal lines, between the px `left` and `right`, best far right. */
export function level(
  lines: { text: string; at: number; needed: boolean }[],
  diagonals: Segment[],
  left: number,
  right: number,
  points: [number, number][],
  widthOf: (text: string) => number,
): Label[] {
  const taken: { x: number; top: number; width: number }[] = [];
  const labels: Label[] = [];
  for (const line of [...lines].sort((a, b) => Number(b.needed) - Number(a.needed))) {
    const width = widthOf(line.text);
    let best: { x: number; top: number; cost: number } | null = null;
    for (const top of [line.at - HEIGHT - 4, line.at + 3]) {
      const struck = lines.filter(({ at }) => at > top && at < top + HEIGHT + 1).length;
      for (let x = right - 6 - width; x >= left; x -= 8) {
        if (taken.some((t) => x < t.x + t.width + 8 && t.x < x + width + 8 && Math.abs(top - t.top) < HEIGHT + 1)) continue;
        const crossed = diagonals.filter((diagonal) => cuts(diagonal, x, x + width, top, top + HEIGHT)).length;
        const hidden = points.filter(([px, py]) => px > x - 8 && px < x + width + 8 && py > top - 8 && py < top + HEIGHT + 8).length;
        const cost = (struck + crossed) * 1000 + hidden * 200 + (right - x) + Number(top > line.at) * 30;
        if (best === null || cost < best.cost) best = { x, top, cost };
      }
    }
    if (best === null || (!line.needed && best.cost >= 1000)) continue;
    taken.push({ x: best.x, top: best.top, width });
    labels.push({ text: line.text, x: best.x, y: best.top + HEIGHT - 3, angle: 0 });
  }
  return labels;
}

// Whether a rising line passes through a box; both ends of the overlap in x above or below it do not.
function cuts({ from, to }: Segment, left: number, right: number, top: number, bottom: number): boolean {
  const [start, end] = [Math.max(left, from[0]), Math.min(right, to[0])];
  if (start > end) return false;
  const heightAt = (x: number) => from[1] + ((x - from[0]) / (to[0] - from[0])) * (to[1] - from[1]);
  return heightAt(start) > top && heightAt(end) < bottom;
}

/** Positions at least `gap` apart, as near the wanted ones as sweeping down and back up leaves them. */
export function spread(wanted: number[], gap: number, from: number, to: number): number[] {
  const order = wanted.map((_, index) => index).sort((a, b) => wanted[a]! - wanted[b]!);
  const at = [...wanted];
  let edge = from;
  for (const index of order) edge = (at[index] = Math.max(at[index]!, edge)) + gap;
  edge = to;
  for (const index of order.reverse()) edge = (at[index] = Math.min(at[index]!, edge)) - gap;
  return at;
}
