// How a resource looks: one colour and one shape each, so that colour never speaks alone.

import {
  symbolCircle, symbolCross, symbolDiamond, symbolSquare, symbolStar, symbolTimes, symbolTriangle,
  symbolWye, type SymbolType,
} from "d3-shape";

export interface Look {
  shape: SymbolType;
  color: string; // name of a custom property of the style sheet
}

const symbolDrop: SymbolType = {
  draw(context, size) {
    const r = Math.sqrt(size / (3 * Math.sqrt(3)));
    context.moveTo(0, r * 2);
    context.lineTo(-Math.sqrt(3) * r, -r);
    context.lineTo(Math.sqrt(3) * r, -r);
    context.closePath();
  },
};

const symbolHexagon: SymbolType = {
  draw(context, size) {
    const r = Math.sqrt((2 * size) / (3 * Math.sqrt(3)));
    for (let corner = 0; corner < 6; corner++) {
      const angle = (Math.PI / 3) * corner;
      context[corner ? "lineTo" : "moveTo"](r * Math.cos(angle), r * Math.sin(angle));
    }
    context.closePath();
  },
};

const FIXED: Record<string, Look> = {
  dram: { shape: symbolCircle, color: "--dram" },
  l3: { shape: symbolSquare, color: "--l3" },
  l2: { shape: symbolDiamond, color: "--l2" },
  l1: { shape: symbolDrop, color: "--l1" },
  shared: { shape: symbolWye, color: "--shared" },
};
// Pipes share these in the order in which the document names them.
const PIPES: Look[] = [
  { shape: symbolTriangle, color: "--pipe-1" },
  { shape: symbolCross, color: "--pipe-2" },
  { shape: symbolStar, color: "--pipe-3" },
];
const OTHER: Look = { shape: symbolHexagon, color: "--other" };
const NONE: Look = { shape: symbolTimes, color: "--other" };

/** A function from resource to look; null, nothing known to bind, has a look of its own. */
export function looks(pipes: Iterable<string>): (resource: string | null) => Look {
  const table = new Map<string, Look>(Object.entries(FIXED));
  let next = 0;
  for (const pipe of pipes) {
    if (!table.has(pipe)) table.set(pipe, PIPES[next++ % PIPES.length]!);
  }
  return (resource) => (resource === null ? NONE : (table.get(resource) ?? OTHER));
}
