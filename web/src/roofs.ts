// The roofs to draw: one a memory level and a pipe in use, and all others on request.

import { unitOf, type Ceiling, type Placement } from "./document";

export interface Roof {
  ceiling: Ceiling;
  chosen: boolean; // stands for a resource in use; the others are its variants, and what nothing uses
}

const LEVELS = ["l1", "l2", "l3", "shared", "dram"];

/** Ceilings that have a place in a chart of flop/s over flop/B. */
export function roofs(placement: Placement): { memory: Roof[]; pipes: Roof[] } {
  const placed = new Set(placement.items.map((item) => item.placed_at));
  const inChart = (c: Ceiling) =>
    c.unit === "flop" || (c.unit === "B" && (LEVELS.includes(c.resource) || placed.has(c.resource)));
  const groups = new Map<string, Ceiling[]>();
  for (const ceiling of placement.roof.filter(inChart)) {
    groups.set(ceiling.resource, [...(groups.get(ceiling.resource) ?? []), ceiling]);
  }
  const wanted = inUse(placement);
  const all = [...groups].flatMap(([resource, group]) => {
    const chosen = wanted(resource) ? choose(group, placement) : null;
    return group.map((ceiling) => ({ ceiling, chosen: ceiling === chosen }));
  });
  all.sort((a, b) => b.ceiling.rate - a.ceiling.rate);
  return {
    memory: all.filter((roof) => roof.ceiling.unit === "B"),
    pipes: all.filter((roof) => roof.ceiling.unit === "flop"),
  };
}

// A card has fifteen pipes: those that no item demands say nothing of this run.  Memory levels all say
// something, but shared memory, which is used on purpose or not at all.
function inUse({ items }: Placement): (resource: string) => boolean {
  const bounds = items.flatMap((item) => item.bounds);
  const used = new Set(bounds.flatMap((bound) => [bound.resource, bound.served_by]));
  const anyPipe = bounds.some((bound) => unitOf(bound.resource) === "flop");
  return (resource) => {
    if (used.has(resource)) return true;
    return LEVELS.includes(resource) ? resource !== "shared" || !bounds.length : !anyPipe;
  };
}

// The variant under which most time was placed; with none, reads and what a library reaches.
function choose(group: Ceiling[], placement: Placement): Ceiling {
  const time = (ceiling: Ceiling) =>
    placement.items.reduce((sum, item) => {
      const used = item.bounds.some((b) => b.resource === ceiling.resource && b.rate === ceiling.rate);
      return sum + (used ? (item.measured_s ?? item.roof_s ?? 0) : 0);
    }, 0);
  const preference = (c: Ceiling) => Number(c.access === "read") + Number(c.reach === "library");
  const ranked = group.map((ceiling) => ({ ceiling, time: time(ceiling), wish: preference(ceiling) }));
  ranked.sort((a, b) => b.time - a.time || b.wish - a.wish || b.ceiling.rate - a.ceiling.rate);
  return ranked[0]!.ceiling;
}

/** What tells this ceiling from the others of its resource: "copy", "register"; "" is nothing. */
export const shortVariant = (ceiling: Ceiling): string =>
  [ceiling.access, ceiling.reach === "register" ? "in registers" : null].filter(Boolean).join(", ");
