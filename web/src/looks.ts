// How a resource looks: one colour and one shape each, so that colour never speaks alone.

import {
  symbolCircle, symbolCross, symbolDiamond, symbolSquare, symbolStar, symbolTimes, symbolTriangle,
  symbolWye, type SymbolType,
} from "d3-shape";

export interface Look {
  shape: SymbolType;
  color: string; // name of a custom property of the style sheet
}

// A regular polygon of the asked area, its first corner `turn` turns after "right".
function polygon(corners: number, turn: number): SymbolType {
  return {
    draw(context, size) {
      const radius = Math.sqrt((2 * size) / (corners * Math.sin((2 * Math.PI) / corners)));
      for (let corner = 0; corner < corners; corner++) {
        const angle = 2 * Math.PI * (turn + corner / corners);
        context[corner ? "lineTo" : "moveTo"](radius * Math.cos(angle), radius * Math.sin(angle));
      }
      context.closePath();
    },
  };
}

const FIXED: Record<string, Look> = {
  dram: { shape: symbolCircle, color: "--dram" },
  l3: { shape: symbolSquare, color: "--l3" },
  l2: { shape: symbolDiamond, color: "--l2" },
  l1: { shape: polygon(3, 1 / 4), color: "--l1" },
  shared: { shape: symbolWye, color: "--shared" },
};
// Pipes share these in the order in which the document names them.
const PIPES: Look[] = [
  { shape: symbolTriangle, color: "--pipe-1" },
  { shape: symbolCross, color: "--pipe-2" },
  { shape: symbolStar, color: "--pipe-3" },
  { shape: polygon(3, 0), color: "--pipe-4" },
];
const OTHER: Look = { shape: polygon(6, 0), color: "--other" };
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
