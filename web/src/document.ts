// The placement document as the page gets it ("roofline.placement/1").  null is unknown.

export interface Ceiling {
  resource: string;
  unit: string; // flop, op, B or launch
  rate: number; // unit a second
  basis: string;
  variant: string | null; // in words
  access: string | null;
  threads: number | null;
  reach: string | null;
  capacity: number | null; // B
  source: string | null;
  conditions: string | null;
  n: number | null;
  dropped: number | null; // samples left out as disturbed
  unstable: string | null; // why no one number stands for the samples
  median: number | null;
  q1: number | null;
  q3: number | null;
  best: number | null;
  low: number | null;
  high: number | null;
  as_of: string | null;
}

export interface Bound {
  resource: string;
  amount: number;
  rate: number;
  basis: string;
  least_s: number;
  variant: string | null;
  served_by?: string; // the pipe that does the work, where the device lacks the one demanded
}

export interface Spread {
  n: number;
  unstable: string;
  median: number;
  q1: number;
  q3: number;
  best: number;
  low: number | null;
  high: number | null;
}

export interface Line {
  resource: string;
  amount: number;
  unit: string;
  why: string;
  access: string | null;
  exactness: string;
}

/** Bytes of one step over a boundary; all null where nothing was counted. */
export interface Crossed {
  read: number | null;
  write: number | null;
  total: number | null; // null where one way alone was counted, which is `low` then
  low: number | null;
  high: number | null;
  source: string | null;
}

export interface Item {
  name: string;
  shapes: string | null;
  module: string | null;
  phase: string | null;
  calls: number | null;
  demand: Record<string, number | null> | null; // null within: resident, further out is not reached
  unaccounted: string[];
  intensity: Record<string, number>;
  bounds: Bound[]; // slowest first
  binding: string | null;
  roof_s: number | null;
  serial_s: number | null;
  attainable_flop_per_s: number | null;
  measured_s: number | null;
  roof_fraction: number | null;
  lost_s: number | null;
  overhead_s: number | null;
  placed_at: string | null;
  no_ceiling: string[];
  achieved?: Record<string, Crossed | null> | null; // by boundary, as counters saw it in the running program
  excess: Record<string, number | null> | null;
  spread: Spread | null;
  too_short: boolean | null;
  share: number | null;
  flop: number | null;
  spread_of?: string; // "call" or "step"
  page_faults?: number | null;
  conventions?: string[];
  ledger?: Line[] | null;
  replay?: Replay | null; // of one call, in a state of its own; null: its kernels were not replayed
}

export interface Replay {
  source: string;
  state: string; // "caches flushed, clocks free"
  missing: string[]; // kernels of the call without counters
  executed: Record<string, number> | null; // by pipe
  achieved: Record<string, { total: number }> | null; // by boundary
  excess: Record<string, number>; // counted over needed
  time_s: number | null;
  roof_fraction: number | null;
  refused: string | null; // why it is not held against ceilings
  kernels: ReplayedKernel[];
}

export interface ReplayedKernel {
  name: string;
  launch: number;
  time_s: number | null;
  clock_hz: number | null;
  binding: string | null;
  roof_fraction: number | null;
}

export interface Finding {
  code: string;
  item: string | null;
  claim: string;
  evidence: string[];
  next_step: string | null;
  saves_s: number | null;
  now_s: number | null; // a step's time of what the advice would change
  then_s: [number, number] | null; // the same afterwards, least and most
  wrong_if: string | null;
}

export interface Gap {
  name: string;
  what: string;
  seconds: number | null;
  count: number | null;
}

export interface Recorder {
  program: string | null;
  tool: string | null;
  recorded_at: string | null;
  versions: Record<string, string> | null;
  threads: number | null;
  timer: string | null;
  overhead_s: number | null;
  shortest_s: number | null;
  counters?: string | null; // how bytes were counted while the program ran
  cache: string | null;
  clock: string | null;
  exit_code: number | null;
  warnings: string[] | null;
}

export interface Program {
  steps: number | null;
  step_s: number | null;
  busy_s: number | null;
  others_s?: number | null; // in which only what belongs to no step ran
  gap_s: number | null;
  roof_s: number | null;
  loose_roof_s: number | null;
  lost_s: number | null;
  overhead_s: number | null;
  bookkeeping_s: number | null;
}

export interface Placement {
  schema: string;
  device: { name: string; kind: string | null; basis: string | null; threads: number | null } | null;
  roof: Ceiling[];
  recorder: Recorder | null;
  program: Program | null;
  coverage: number | null;
  answer: string[];
  by?: string; // what one item is: a call, an operator, a module, ...
  items: Item[];
  findings: Finding[];
  gaps: Gap[];
}

/** The name a person reads. */
export const labelOf = (item: Item): string => item.name.replace(/^aten::/, "");

/** More than this over its roof, an item is a finding about the model. */
const ABOVE = 1.05;
export const isAbove = (item: Item): boolean =>
  item.roof_fraction !== null && item.roof_fraction > ABOVE;

/** Unit of a resource, by the closed table of names that the library has. */
export function unitOf(resource: string): string {
  if (resource === "launch" || resource === "dispatch") return "launch";
  if (!/^(vector|tensor|sfu)/.test(resource)) return "B";
  return /-int\d/.test(resource) ? "op" : "flop";
}

/** Read the document that stands in the page. */
export function read(): Placement {
  return JSON.parse(document.getElementById("placement")!.textContent!) as Placement;
}
