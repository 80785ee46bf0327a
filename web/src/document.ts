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
  sustained: boolean | null; // null is not told apart from a burst
  way: string | null;
  capacity: number | null; // B
  clock_hz: number | null;
  source: string | null;
  conditions: string | null;
  confidence: string | null;
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
  count: string;
  resource: string;
  amount: number;
  rate: number;
  clock_hz: number | null;
  basis: string;
  least_s: number;
  variant: string | null;
  served_by?: string; // the pipe that does the work, where the device lacks the one demanded
  served_why: string | null;
}

export interface Spread {
  n: number;
  dropped: number;
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
  low: number | null; // of a bounded amount
  high: number | null;
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
  kind: string | null;
  count: string;
  calls: number | null;
  demand: Record<string, number | null> | null; // null within: resident, further out is not reached
  unaccounted: string[];
  intensity: Record<string, number>;
  ridge_point: Record<string, number>;
  bounds: Bound[]; // slowest first
  binding: string | null;
  next_bound: { resource: string; share: number } | null; // share of the time of the one that binds
  ambiguous_with: string[];
  axes_s: Record<string, number>; // least time of compute and of each boundary
  roof_s: number | null;
  serial_s: number | null;
  loose_roof_s: number | null;
  attainable_flop_per_s: number | null;
  measured_s: number | null;
  degree: string | null; // how much of it is counted
  roof_fraction: number | null;
  lost_s: number | null;
  without_roof_s: number | null;
  starts: number | null;
  overhead_s: number | null;
  placed_at: string | null;
  perhaps_at: string | null; // the farther boundary, where shapes leave two
  no_ceiling: string[];
  executed: Record<string, number | null>; // by pipe, and by boundary where more moves than is asked for
  achieved?: Record<string, Crossed | null> | null; // by boundary, as counters saw it in the running program
  excess: Record<string, number | null> | null;
  spread: Spread | null;
  too_short: boolean | null;
  share: number | null;
  flop: number | null;
  spread_of?: string; // "call" or "step"
  page_faults?: number | null;
  exactness: string;
  conventions?: string[];
  ledger?: Line[] | null;
  executed_ledger: Line[] | null;
  facts: Record<string, Fact>; // what counters say beside flop and bytes
  main_kernel: { name: string; share: number } | null;
  busiest: { fact: string; value: number; unit: string } | null;
  replay?: Replay | null; // of one call, in a state of its own; null: its kernels were not replayed
}

export interface Fact {
  value: number;
  unit: string;
  source: string;
  mark: string;
}

export interface Replay {
  source: string;
  state: string; // "caches flushed, clocks free"
  missing: string[]; // kernels of the call without counters
  executed: Record<string, number> | null; // by pipe
  achieved: Record<string, ReplayedBytes> | null; // by boundary
  excess: Record<string, number>; // counted over needed
  time_s: number | null;
  roof_s: number | null;
  roof_fraction: number | null;
  refused: string | null; // why it is not held against ceilings
  kernels: ReplayedKernel[];
  facts: Record<string, Fact>;
}

export interface ReplayedBytes {
  read: number | null;
  write: number | null;
  total: number;
  source: string;
}

export interface ReplayedKernel {
  name: string;
  launch: number;
  of: number | null; // launches of that kernel
  time_s: number | null;
  clock_hz: number | null;
  passes: number | null;
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
  items: string[]; // the lines, where it speaks of several
  doubt_s: number | null; // of a sanity finding: a step's time that it puts in doubt
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
  in_part: number | null; // share of time of which something is counted, and not all
  waited: number | null; // share of the wall time in which other programs held the processors
  calls: number | null;
  mfu: Use | null;
  hfu: Use | null;
  mbu: Use | null;
  flop: Record<string, Record<string, number>>; // useful, recomputed, executed: by pipe
  recomputed_share: number | null;
  achieved: Record<string, Crossed> | null;
  excess: Record<string, number | null> | null;
  told: string | null;
  overlap: Overlap | null;
  critical_path: CriticalPath | null;
}

/** A share of one ceiling, and the formula that it comes from. */
export interface Use {
  share: number;
  formula: string;
  resource: string;
  amount: number;
  time_s: number;
  rate: number;
  basis: string;
  complete: boolean;
}

export interface Overlap {
  streams: number;
  beside_s: number;
  communication_s: number;
  exposed_s: number;
}

export interface CriticalPath {
  kernels_s: number;
  communication_s: number;
  copies_s: number;
  others_s: number;
  waiting_s: number;
  beside_s: number;
  longest: { name: string; seconds: number }[];
}

export interface Timeline {
  kind: string;
  claim: string;
  evidence: string[];
}

/** How kernels were run again for their counters. */
export interface Replays {
  tool: string;
  cache: string;
  clock: string;
  timer: string;
  warnings: string[];
  note: string;
}

export interface Placement {
  schema: string;
  device: { id: string | null; name: string; kind: string | null; basis: string | null; threads: number | null } | null;
  roof: Ceiling[];
  recorder: Recorder | null;
  program: Program | null;
  coverage: number | null;
  answer: string[];
  by?: string; // what one item is: a call, an operator, a module, ...
  items: Item[];
  findings: Finding[];
  timeline: Timeline | null;
  replays: Replays | null;
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
