// The items as a real table: sortable, searchable, with what stands behind each number.

import { isAbove, labelOf, type Item } from "./document";
import { detail } from "./detail";
import { bar, byId, el } from "./dom";
import { atRest } from "./pointer";
import { recall, remember } from "./state";
import { calls, grouped, maybe, percent, UNKNOWN } from "./units";

interface Column {
  key: string;
  label: string;
  hint?: string;
  numeric?: boolean;
  value(item: Item): number | string | null;
  text(item: Item): string;
}

const words = (key: string, label: string, of: (item: Item) => string | null): Column => ({
  key, label, value: of, text: (item) => of(item) || UNKNOWN,
});
const seconds = (key: "measured_s" | "roof_s" | "lost_s", label: string, hint: string): Column => ({
  key, label, hint, numeric: true, value: (item) => item[key], text: (item) => maybe(item[key], "s"),
});
const intensityOf = (item: Item) => (item.placed_at === null ? null : (item.intensity[item.placed_at] ?? null));

const COLUMNS: Column[] = [
  words("label", "item", labelOf),
  words("shapes", "shapes", (item) => item.shapes),
  { key: "calls", label: "calls", numeric: true, value: (i) => i.calls, text: (i) => (i.calls === null ? UNKNOWN : calls(i.calls)) },
  seconds("measured_s", "measured", "time of all calls in one step"),
  seconds("roof_s", "roof", "least time under the ceilings"),
  seconds("lost_s", "lost", "measured minus roof time"),
  { key: "roof_fraction", label: "of roof", hint: "roof time over measured time", numeric: true, value: (i) => i.roof_fraction, text: (i) => percent(i.roof_fraction) },
  words("binding", "bound by", (item) => item.binding),
  words("placed_at", "placed at", (item) => item.placed_at),
  { key: "intensity", label: "flop/B", hint: "arithmetic intensity at the boundary it is placed at", numeric: true, value: intensityOf, text: (i) => maybe(intensityOf(i), "flop/B").replace(" flop/B", "") },
  // "" is outside every module, which is no news; only null is unknown.
  { ...words("module", "module", (item) => item.module), text: (item) => item.module ?? UNKNOWN },
  words("phase", "phase", (item) => item.phase),
];
const FIRST = 25; // rows at first
const MORE = 250; // and on each request: thousands at once take a browser a second to lay out

export interface Table {
  /** Show the details of an item and bring its row into view. */
  reveal(index: number): void;
}

/** "-lost_s" is by time lost, the most first; so it is when nothing was chosen. */
function order(text: string): { key: string; down: boolean } {
  const key = text.replace(/^-/, "");
  const known = COLUMNS.some((column) => column.key === key);
  return known ? { key, down: text.startsWith("-") } : { key: "lost_s", down: true };
}

/** Build the table; `hover` hears of the item under the pointer. */
export function table(items: Item[], by: string, hover: (index: number | null) => void): Table {
  const numbered = items.map((item, index) => ({ item, index }));
  const opened = new Set<number>();
  const made = new Map<number, HTMLElement[]>(); // rows once built; sorting only moves them
  let sorted = order(recall("sort"));
  let limit = FIRST;
  let search = recall("find").toLowerCase();

  const head = el("tr", {}, ...COLUMNS.map(header));
  const body = el("tbody");
  const frame = byId("items");
  const count = byId("count");
  const more = byId("more") as HTMLButtonElement;
  frame.append(el("table", { class: "items" }, el("caption", { class: "unseen" }, "Items, with measured and least times"), el("thead", {}, head), body));

  function header(column: Column): HTMLElement {
    const button = el("button", { type: "button", title: column.hint }, column.label);
    button.addEventListener("click", () => {
      const same = sorted.key === column.key;
      sorted = { key: column.key, down: same ? !sorted.down : Boolean(column.numeric) };
      remember("sort", `${sorted.down ? "-" : ""}${sorted.key}`);
      draw();
    });
    return el("th", { scope: "col", class: column.numeric && "number", "data-key": column.key }, button);
  }

  function wanted() {
    const column = COLUMNS.find((candidate) => candidate.key === sorted.key)!;
    const sign = sorted.down ? -1 : 1;
    const found = numbered.filter(({ item }) =>
      [labelOf(item), item.name, item.shapes, item.module, item.phase, item.binding].some((text) => text?.toLowerCase().includes(search)),
    );
    return found.sort((a, b) => {
      const [left, right] = [column.value(a.item), column.value(b.item)];
      // Unknown is neither large nor small: it stands last either way.
      if (left === null || right === null) return Number(left === null) - Number(right === null) || a.index - b.index;
      const order = typeof left === "number" ? left - (right as number) : left.localeCompare(right as string);
      return sign * order || a.index - b.index;
    });
  }

  function draw(): void {
    for (const cell of head.children) {
      const here = (cell as HTMLElement).dataset.key === sorted.key;
      if (here) cell.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    const found = wanted();
    const shown = found.slice(0, limit);
    body.replaceChildren(...shown.flatMap(({ item, index }) => rows(item, index)));
    if (!shown.length) body.append(el("tr", {}, el("td", { colspan: COLUMNS.length, class: "none" }, items.length ? "No item matches." : "This run holds no items.")));
    count.textContent = `${grouped(shown.length)} of ${grouped(items.length)} items, one a ${by}`;
    const left = found.length - shown.length;
    more.hidden = left === 0;
    more.textContent = left > MORE ? `Show ${MORE} more` : `Show the other ${left}`;
  }

  function rows(item: Item, index: number): HTMLElement[] {
    const known = made.get(index) ?? build(item, index);
    made.set(index, known);
    return known;
  }

  function build(item: Item, index: number): HTMLElement[] {
    const open = opened.has(index);
    const row = el("tr", { "data-item": index, class: isAbove(item) && "above" }, ...COLUMNS.map((column) => cell(column, item, index, open)));
    row.addEventListener("pointerenter", (event) => atRest(event) || hover(index));
    row.addEventListener("pointerleave", (event) => atRest(event) || hover(null));
    return open ? [row, el("tr", { class: "detail", id: `detail-${index}` }, el("td", { colspan: COLUMNS.length }, ...detail(item)))] : [row];
  }

  function cell(column: Column, item: Item, index: number, open: boolean): HTMLElement {
    const text = column.text(item);
    if (column.key === "label") {
      const button = el("button", { type: "button", "aria-expanded": String(open), "aria-controls": open && `detail-${index}` }, text);
      button.addEventListener("click", () => toggle(index, !open));
      return el("th", { scope: "row", title: text.length > 20 && text }, button);
    }
    const td = el("td", { class: column.numeric ? "number" : column.key, title: !column.numeric && text.length > 20 && text });
    if (column.key === "roof_fraction" && item.roof_fraction !== null) {
      td.append(bar(item.roof_fraction), el("span", { class: "share" }, text));
    } else td.append(text);
    if (column.key === "roof_fraction" && isAbove(item)) td.append(el("span", { class: "flag" }, " above"));
    return td;
  }

  function toggle(index: number, open: boolean): void {
    if (open) opened.add(index);
    else opened.delete(index);
    made.delete(index);
    draw();
    body.querySelector<HTMLElement>(`tr[data-item="${index}"] button`)?.focus();
  }

  more.addEventListener("click", () => {
    limit += MORE;
    draw();
  });
  const input = byId("search") as HTMLInputElement;
  input.value = recall("find");
  input.addEventListener("input", () => {
    search = input.value.trim().toLowerCase();
    remember("find", input.value.trim());
    draw();
  });
  draw();

  return {
    reveal(index) {
      if (search) remember("find", (input.value = search = ""));
      limit = Math.max(limit, wanted().findIndex((row) => row.index === index) + 1);
      toggle(index, true);
      body.querySelector(`tr[data-item="${index}"]`)?.scrollIntoView({ block: "center" });
    },
  };
}
