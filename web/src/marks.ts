// From items to points.  One point an item, at the boundary it is placed at; the others are joined to it
// while it is pointed at.

import { countedBytes } from "./crossed";
import { isAbove, labelOf, type Item, type Placement } from "./document";
import type { Look } from "./looks";

export interface Mark {
  item: Item;
  index: number; // into Placement.items
  panel: "chart" | "strip";
  boundary: string;
  x: number; // flop/B in the chart, B/s in the strip
  y: number | null; // flop/s; the strip has none
  counted: number | null; // where x is by the bytes that counters saw
  hollow: boolean; // not measured: drawn where its roof would let it be
  above: boolean;
  look: Look;
  radius: number; // px
}

const LARGEST = 14; // px
const MANY = 400; // points, of which a smaller size keeps the cloud readable

/** The points to draw, largest first so that small ones lie on top, and the items without a place. */
export function marks(
  placement: Placement,
  lookOf: (resource: string | null) => Look,
): { marks: Mark[]; unplaced: Item[] } {
  const longest = placement.items.reduce((most, item) => Math.max(most, timeOf(item)), 0);
  const smallest = placement.items.length > MANY ? 2.5 : 4; // px; still told apart and pointed at
  const found: Mark[] = [];
  const unplaced: Item[] = [];
  placement.items.forEach((item, index) => {
    const place = placeOf(item);
    if (place === null) return void unplaced.push(item);
    found.push({
      ...place,
      counted: countedAt(item, place),
      item,
      index,
      hollow: item.measured_s === null,
      above: isAbove(item),
      look: lookOf(item.binding),
      radius: Math.max(smallest, radiusOf(timeOf(item), longest)),
    });
  });
  found.sort((a, b) => b.radius - a.radius);
  return { marks: found, unplaced };
}

/** Area goes with time [px]. */
export const radiusOf = (time: number, longest: number): number => (longest > 0 ? LARGEST * Math.sqrt(time / longest) : 0);

/** Measured time, or roof time where nothing was measured. */
export const timeOf = (item: Item): number => item.measured_s ?? item.roof_s ?? 0;

/** The intensities of a point's item at its other boundaries [flop/B]: the same work, other bytes. */
export const others = (mark: Mark): [string, number][] =>
  mark.panel === "strip" ? [] : Object.entries(mark.item.intensity).filter(([boundary, at]) => boundary !== mark.boundary && at > 0);

type Place = Pick<Mark, "panel" | "boundary" | "x" | "y">;

function placeOf(item: Item): Place | null {
  const boundary = item.placed_at;
  if (boundary === null || item.flop === null) return null;
  const bytes = item.demand?.[boundary];
  if (item.flop === 0) {
    const rate = item.bounds.find((bound) => bound.resource === boundary)?.rate;
    const x = item.measured_s !== null && bytes ? bytes / item.measured_s : rate;
    return bytes && x ? { panel: "strip", boundary, x, y: null } : null;
  }
  const x = item.intensity[boundary];
  const y = item.measured_s !== null ? item.flop / item.measured_s : item.attainable_flop_per_s;
  return x && y ? { panel: "chart", boundary, x, y } : null;
}

function countedAt(item: Item, { panel }: Place): number | null {
  const bytes = countedBytes(item);
  if (!bytes) return null;
  if (panel === "chart") return item.flop! / bytes;
  return item.measured_s ? bytes / item.measured_s : null;
}

/** One line that says all about a point, for readers who do not see it. */
export const nameOf = (mark: Mark): string => [labelOf(mark.item), mark.item.shapes].filter(Boolean).join(" ");
