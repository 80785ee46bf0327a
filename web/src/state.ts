// What the reader chose, kept in the address after "#": a link to a file shows what its sender saw.

const chosen = new URLSearchParams(location.hash.slice(1));

/** What stands under `name`; "" is nothing. */
export const recall = (name: string): string => chosen.get(name) ?? "";

/** Keep `value` under `name`; "" forgets it. */
export function remember(name: string, value: string): void {
  if (value) chosen.set(name, value);
  else chosen.delete(name);
  const text = chosen.toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}
