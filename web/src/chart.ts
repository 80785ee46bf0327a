// The chart as a whole: its state, and what pointer, keyboard and controls do to it.

import { Delaunay } from "d3-delaunay";
import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent } from "d3-zoom";
import { backdrop, pipeText, type Scene } from "./backdrop";
import type { Placement } from "./document";
import { byId, el } from "./dom";
import { lay, rowY, type Geometry } from "./geometry";
import { legend } from "./legend";
import type { Look } from "./looks";
import { marks as marksOf, type Mark } from "./marks";
import { own } from "./own";
import { points, type Dot, type Palette } from "./points";
import { roofs, type Roof } from "./roofs";
import { atRest } from "./pointer";
import { recall, remember } from "./state";
import { box, spoken } from "./tooltip";

export interface Chart {
  /** Point at an item, or at none; false when it has no point. */
  emphasise(index: number | null): boolean;
}

const NEAR = 26; // px within which the pointer finds a point
const ORDER = ["l1", "l2", "l3", "shared", "dram"];

/** Build the chart in its place; `open` is called with the item that was clicked or entered. */
export function chart(placement: Placement, lookOf: (resource: string | null) => Look, open: (index: number) => void): Chart {
  const { marks, unplaced } = marksOf(placement, lookOf);
  const { memory, pipes } = roofs(placement);
  const inStrip = new Set(marks.filter((mark) => mark.panel === "strip").map((mark) => mark.boundary));
  const rows = [...ORDER.filter((level) => inStrip.has(level)), ...[...inStrip].filter((level) => !ORDER.includes(level))];
  // Readers step through the points from the most time lost to the least.
  const ranked = [...marks].sort((a, b) => (b.item.lost_s ?? -Infinity) - (a.item.lost_s ?? -Infinity) || a.index - b.index);

  const frame = byId("chart");
  const svg = frame.querySelector<SVGSVGElement>("svg.plot")!;
  const names = frame.querySelector<SVGSVGElement>("svg.names")!;
  const all = byId("all") as HTMLCanvasElement;
  const one = byId("one") as HTMLCanvasElement;
  const list = byId("points");
  const tip = byId("tooltip");
  const widthOf = (text: string) => {
    const context = one.getContext("2d")!;
    context.font = getComputedStyle(frame).getPropertyValue("--label-font");
    return context.measureText(text).width;
  };

  let geometry: Geometry;
  let transform = zoomIdentity;
  let dots: Dot[] = [];
  let finder: Delaunay<Dot> | null = null;
  let boundary: string | null = recall("boundary") || null;
  let variants = recall("variants") === "all";
  let active: Mark | null = null;

  const drawn = (roofs: Roof[]) => roofs.filter((roof) => roof.chosen || variants);

  function relay(): void {
    const aside = Math.max(0, ...drawn(pipes).flatMap(pipeText).map(widthOf));
    geometry = lay(frame.clientWidth, marks, drawn(memory), drawn(pipes), rows, aside);
    frame.style.height = `${geometry.height}px`;
    draw();
    option(null);
  }

  function scene(): Scene {
    const x = transform.rescaleX(geometry.x);
    const y = transform.rescaleY(geometry.y);
    return { geometry, x, y, marks, memory: drawn(memory), pipes: drawn(pipes), boundary, lookOf };
  }

  function draw(): void {
    const now = scene();
    dots = marks.map((mark) => {
      const across = mark.panel === "chart" ? now.x : geometry.strip!.x;
      return {
        mark,
        x: across(mark.x),
        counted: mark.counted === null ? null : across(mark.counted),
        y: mark.panel === "chart" ? now.y(mark.y!) : rowY(geometry.strip!.area, rows.indexOf(mark.boundary)),
        faded: boundary !== null && mark.boundary !== boundary,
      };
    });
    finder = dots.length ? Delaunay.from(dots, (dot) => dot.x, (dot) => dot.y) : null;
    backdrop(svg, names, now, widthOf);
    paint();
  }

  function paint(): void {
    points(sized(all, geometry), dots, geometry.plot, palette());
    pick();
  }

  // The point in question, on a canvas of its own: it changes with every move of the pointer.
  function pick(): void {
    const context = sized(one, geometry);
    const dot = active && dots.find((candidate) => candidate.mark === active);
    if (!dot) return;
    own(context, dot, scene(), palette());
    points(context, [{ ...dot, faded: false }], geometry.plot, palette()); // whatever lay over it
  }

  function show(wanted: Mark | null, withTip: boolean): void {
    active = wanted;
    pick();
    const dot = wanted && dots.find((candidate) => candidate.mark === wanted);
    tip.hidden = !dot || !withTip;
    if (!dot) return void option(null);
    option(dot);
    if (!withTip) return;
    tip.replaceChildren(...box(dot.mark));
    const { offsetWidth: width, offsetHeight: height } = tip;
    const away = dot.mark.radius + 14;
    const left = dot.x + away + width <= geometry.width ? dot.x + away : dot.x - away - width;
    tip.style.left = `${Math.max(0, left)}px`;
    tip.style.top = `${Math.min(Math.max(0, dot.y - height / 2), Math.max(0, geometry.height - height))}px`;
  }

  // One element stands for the point that readers are at; it lies over that point.
  function option(dot: Dot | null): void {
    const at = dot ?? dots.find((candidate) => candidate.mark === ranked[0]);
    if (!at) return;
    const ring = list.firstElementChild as HTMLElement | null ?? list.appendChild(el("div", { id: "point", role: "option" }));
    ring.setAttribute("aria-selected", String(dot !== null));
    ring.setAttribute("aria-label", spoken(at.mark));
    ring.setAttribute("aria-posinset", String(ranked.indexOf(at.mark) + 1));
    ring.setAttribute("aria-setsize", String(ranked.length));
    ring.dataset.item = String(at.mark.index);
    const size = at.mark.radius + 5;
    Object.assign(ring.style, { left: `${at.x - size}px`, top: `${at.y - size}px`, width: `${2 * size}px`, height: `${2 * size}px` });
  }

  function nearest(event: PointerEvent | MouseEvent): Mark | null {
    const corner = svg.getBoundingClientRect();
    const [x, y] = [event.clientX - corner.left, event.clientY - corner.top];
    const dot = finder && dots[finder.find(x, y)];
    return dot && Math.hypot(dot.x - x, dot.y - y) <= Math.max(NEAR, dot.mark.radius) ? dot.mark : null;
  }

  const behaviour = zoom<HTMLElement, unknown>()
    .scaleExtent([0.5, 64])
    .extent(() => [[geometry.plot.left, geometry.plot.top], [geometry.plot.right, geometry.plot.bottom]])
    // The wheel scrolls the page, as everywhere; with Ctrl it zooms.  Fingers scroll too.
    .filter((event: Event) => (event instanceof WheelEvent ? event.ctrlKey || event.metaKey : !(event as MouseEvent).button))
    .touchable(() => false)
    .on("zoom", (event: D3ZoomEvent<HTMLElement, unknown>) => {
      transform = event.transform;
      draw();
      show(active, false);
    });
  const zoomed = select(list).call(behaviour);

  list.addEventListener("pointermove", (event) => {
    if (atRest(event)) return;
    const mark = nearest(event);
    list.style.cursor = mark ? "pointer" : "";
    if (mark !== active) show(mark, true);
  });
  list.addEventListener("pointerleave", (event) => {
    if (!atRest(event)) show(null, false);
  });
  list.addEventListener("click", (event) => {
    const mark = nearest(event);
    if (mark) open(mark.index);
  });
  list.addEventListener("focus", () => {
    if (list.matches(":focus-visible")) show(active ?? ranked[0] ?? null, true);
  });
  list.addEventListener("blur", () => show(null, false));
  list.addEventListener("keydown", (event) => {
    const rank = active ? ranked.indexOf(active) : -1;
    const steps: Record<string, number> = { ArrowRight: rank + 1, ArrowDown: rank + 1, ArrowLeft: rank - 1, ArrowUp: rank - 1, Home: 0, End: ranked.length - 1 };
    const wanted = steps[event.key];
    if (wanted !== undefined && ranked.length) show(ranked[Math.min(Math.max(wanted, 0), ranked.length - 1)]!, true);
    else if (event.key === "Enter" && active) open(active.index);
    else if (event.key === "Escape") tip.hidden = true;
    else if (event.key === "+") zoomed.call(behaviour.scaleBy, 1.5);
    else if (event.key === "-") zoomed.call(behaviour.scaleBy, 1 / 1.5);
    else if (event.key === "0") zoomed.call(behaviour.transform, zoomIdentity);
    else return;
    event.preventDefault();
  });
  byId("zoom-in").addEventListener("click", () => zoomed.call(behaviour.scaleBy, 1.5));
  byId("zoom-out").addEventListener("click", () => zoomed.call(behaviour.scaleBy, 1 / 1.5));
  byId("zoom-reset").addEventListener("click", () => zoomed.call(behaviour.transform, zoomIdentity));

  const chooser = byId("boundary") as HTMLSelectElement;
  const levels = new Set([...memory.map((roof) => roof.ceiling.resource), ...marks.map((mark) => mark.boundary)]);
  const ordered = [...ORDER.filter((level) => levels.has(level)), ...[...levels].filter((level) => !ORDER.includes(level))];
  chooser.append(...ordered.map((level) => el("option", { value: level }, level)));
  if (boundary && !levels.has(boundary)) boundary = null;
  chooser.value = boundary ?? "";
  chooser.addEventListener("change", () => {
    boundary = chooser.value || null;
    remember("boundary", chooser.value);
    draw();
  });
  const every = byId("variants") as HTMLInputElement;
  every.checked = variants;
  every.addEventListener("change", () => {
    variants = every.checked;
    remember("variants", variants ? "all" : "");
    relay();
  });

  byId("legend").replaceChildren(...legend(marks, unplaced));
  if (!ranked.length) {
    list.setAttribute("role", "group"); // a list box without options is none
    list.removeAttribute("aria-activedescendant");
  }
  new ResizeObserver(() => {
    if (frame.clientWidth === geometry?.width) return;
    relay();
  }).observe(frame);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint());

  return {
    emphasise(index) {
      const mark = index === null ? null : (marks.find((candidate) => candidate.index === index) ?? null);
      show(mark, false);
      return mark !== null;
    },
  };
}

// A cleared canvas over the whole chart; twice as fine as the screen at least, for pages that are printed.
function sized(canvas: HTMLCanvasElement, { width, height }: Geometry): CanvasRenderingContext2D {
  const ratio = Math.max(2, window.devicePixelRatio);
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  return context;
}

function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const known = new Map<string, string>();
  return (name) => known.get(name) ?? known.set(name, style.getPropertyValue(name)).get(name)!;
}
