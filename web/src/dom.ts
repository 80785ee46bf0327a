// Building elements.  Text goes in as text, never as markup: names come from other people's programs.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined>;

/** An element with attributes and children; null attributes and children are left out. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false));
  return element;
}

/** A bar of that share of its width, beside a number that says the same. */
export function bar(share: number): HTMLElement {
  const frame = el("span", { class: "bar", "aria-hidden": "true" }, el("span"));
  (frame.firstChild as HTMLElement).style.width = `${Math.min(Math.max(share, 0), 1) * 100}%`;
  return frame;
}

/** The element of that id; the template has it. */
export const byId = (id: string): HTMLElement => document.getElementById(id)!;

/** A plain table; columns whose title ends in " *" hold numbers, and the first names its row. */
export function dataTable(caption: string, titles: string[], rows: string[][]): HTMLTableElement {
  const numeric = titles.map((title) => title.endsWith(" *"));
  const head = titles.map((title, at) => el("th", { scope: "col", class: numeric[at] && "number" }, title.replace(" *", "")));
  const body = rows.map((row) =>
    el("tr", {}, ...row.map((text, at) => (at ? el("td", { class: numeric[at] && "number" }, text) : el("th", { scope: "row" }, text)))),
  );
  return el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...body));
}

/** Rows of a description list: term and what is known of it. */
export function terms(rows: [string, string | null | undefined][]): HTMLElement {
  const known = rows.filter((row): row is [string, string] => Boolean(row[1]));
  return el("dl", { class: "facts" }, ...known.map(([term, text]) => el("div", {}, el("dt", {}, term), el("dd", {}, text))));
}
