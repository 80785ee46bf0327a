// What counters saw cross while the program itself ran, beside what the formulas ask for.

import { type Crossed, type Item } from "./document";
import { dataTable, el, terms } from "./dom";
import { maybe, show, UNKNOWN } from "./units";

/** The boundaries that counters watched while this item ran. */
const seen = (item: Item): [string, Crossed][] =>
  Object.entries(item.achieved ?? {}).filter((entry): entry is [string, Crossed] => Boolean(entry[1]?.source));

/** Bytes over the boundary that an item is placed at, as counted; null where they were not. */
export const countedBytes = (item: Item): number | null =>
  (item.placed_at === null ? null : item.achieved?.[item.placed_at]?.total) ?? null;

/** Bytes by formula and by counter at each boundary, and how often each byte crossed; null without counters. */
export function crossed(item: Item): HTMLElement | null {
  const found = seen(item);
  if (!found.length) return null;
  const rows = found.map(([boundary, amounts]) => [
    boundary,
    maybe(item.demand?.[boundary], "B"),
    maybe(amounts.read, "B"),
    maybe(amounts.write, "B"),
    together(amounts),
    times(item.excess?.[boundary]),
    between(amounts),
  ]);
  const titles = ["boundary", "by formula *", "read *", "written *", "together *", "excess *", "surely between"];
  const spare = rows.every((row) => !row[titles.length - 1]); // bounds that read like the amounts
  const columns = titles.length - Number(spare);
  const sources = [...new Set(found.map(([, { source }]) => source!))].join("; ");
  return el("div", {},
    dataTable("Bytes that crossed while it ran, as counters saw them", titles.slice(0, columns), rows.map((row) => row.slice(0, columns))),
    terms([["counted by", sources]]));
}

/** "3.43x": counted over needed. */
const times = (excess: number | null | undefined): string => (excess == null ? UNKNOWN : `${excess.toFixed(2)}x`);

// One way alone is the least that crossed.
function together({ total, low }: Crossed): string {
  if (total !== null) return show(total, "B");
  return low === null ? UNKNOWN : `at least ${show(low, "B")}`;
}

function between({ low, high }: Crossed): string {
  if (low === null || high === null) return UNKNOWN;
  const [least, most] = [show(low, "B"), show(high, "B")];
  return least === most ? "" : `${least} and ${most}`;
}
