// Two drawings with the points between them: grid, axes and roofs below, the labels above.

import { axisBottom, axisLeft } from "d3-axis";
import { select, type Selection } from "d3-selection";
import { rowY, ticks, type Area, type Geometry, type Log } from "./geometry";
import { level, place, spread } from "./labels";
import type { Look } from "./looks";
import type { Mark } from "./marks";
import { shortVariant, type Roof } from "./roofs";
import { show, tick } from "./units";

export interface Scene {
  geometry: Geometry;
  x: Log; // as zoomed
  y: Log;
  marks: Mark[];
  memory: Roof[]; // those to draw
  pipes: Roof[];
  boundary: string | null; // the one selected; null is all
  lookOf: (resource: string | null) => Look;
}

type Group = Selection<SVGSVGElement, unknown, null, undefined>;

/** Draw everything anew; there are tens of elements, never thousands. */
export function backdrop(below: SVGSVGElement, above: SVGSVGElement, scene: Scene, widthOf: (text: string) => number): void {
  const { geometry } = scene;
  const [root, names] = [below, above].map((svg) => {
    const sized = select(svg).attr("viewBox", `0 0 ${geometry.width} ${geometry.height}`).attr("width", geometry.width).attr("height", geometry.height);
    sized.selectAll("*").remove();
    return sized;
  }) as [Group, Group];
  clip(root, geometry.plot);
  axes(root, scene);
  roofLines(root, names, scene, widthOf);
  strip(root, names, scene, widthOf);
}

function clip(root: Group, { left, right, top, bottom }: Area): void {
  root.append("clipPath").attr("id", "plot-area").append("rect")
    .attr("x", left).attr("y", top).attr("width", right - left).attr("height", bottom - top);
}

function axes(root: Group, { geometry: { plot, strip: below, roomy }, x, y }: Scene): void {
  root.append("g").attr("class", "axis").attr("transform", `translate(0,${plot.bottom})`)
    .call(axisBottom(x).tickValues(ticks(x)).tickFormat((v) => show(+v, "flop/B").replace(" flop/B", ""))
      .tickSizeInner(-(plot.bottom - plot.top)).tickSizeOuter(0).tickPadding(8));
  root.append("g").attr("class", "axis").attr("transform", `translate(${plot.left},0)`)
    .call(axisLeft(y).tickValues(ticks(y)).tickFormat((v) => tick(+v))
      .tickSizeInner(-(plot.right - plot.left)).tickSizeOuter(0).tickPadding(8));
  title(root, plot, `arithmetic intensity, flop/B${roomy ? " at the boundary each point is placed at" : ""}`);
  root.append("text").attr("class", "title").attr("text-anchor", "middle")
    .attr("transform", `translate(12,${(plot.top + plot.bottom) / 2}) rotate(-90)`).text("flop/s");
  if (!below) return;
  root.append("g").attr("class", "axis").attr("transform", `translate(0,${below.area.bottom})`)
    .call(axisBottom(below.x).tickValues(ticks(below.x)).tickFormat((v) => tick(+v))
      .tickSizeInner(-(below.area.bottom - below.area.top)).tickSizeOuter(0).tickPadding(8));
  title(root, below.area, "B/s");
}

function title(root: Group, area: Area, text: string): void {
  root.append("text").attr("class", "title").attr("text-anchor", "middle")
    .attr("x", (area.left + area.right) / 2).attr("y", area.bottom + 42).text(text);
}

function roofLines(root: Group, names: Group, scene: Scene, widthOf: (text: string) => number): void {
  const { geometry: { plot, roomy }, x, y, boundary, memory, pipes } = scene;
  const top = pipes[0]?.ceiling.rate ?? y.domain()[1]!;
  const widest = memory[0]?.ceiling.rate ?? Infinity;
  const [from, to] = x.domain() as [number, number];
  const lines = root.append("g").attr("clip-path", "url(#plot-area)");
  const faded = (roof: Roof) => boundary !== null && roof.ceiling.resource !== boundary;
  const draw = (roof: Roof, x1: number, y1: number, x2: number, y2: number, dim: boolean) =>
    lines.append("line").attr("class", roof.chosen ? "roof" : "roof variant").classed("faded", dim)
      .classed("selected", boundary === roof.ceiling.resource).attr("data-resource", roof.ceiling.resource)
      .attr("x1", x(x1)).attr("y1", y(y1)).attr("x2", x(x2)).attr("y2", y(y2))
      .style("stroke", `var(${scene.lookOf(roof.ceiling.resource).color})`);
  for (const roof of memory) {
    const { rate } = roof.ceiling;
    draw(roof, from, from * rate, top / rate, top, faded(roof));
  }
  for (const roof of pipes) {
    const { rate } = roof.ceiling;
    draw(roof, Math.min(rate / widest, to), rate, to, rate, false);
  }
  const named = [...memory].sort((a, b) => Number(b.chosen) - Number(a.chosen));
  const points = scene.marks.filter((m) => m.panel === "chart").map((m): [number, number] => [x(m.x), y(m.y!)]);
  const labels = place(
    named.map((roof) => ({ text: textOf(roof), rate: roof.ceiling.rate, end: Math.min(top / roof.ceiling.rate, to), needed: roof.chosen })),
    x, y, plot, points, widthOf,
  );
  for (const label of labels) {
    const roof = named.find((candidate) => textOf(candidate) === label.text)!;
    names.append("text").attr("class", "label").classed("faded", faded(roof))
      .attr("transform", `translate(${label.x},${label.y}) rotate(${label.angle})`).text(label.text);
  }
  const seen = pipes.filter(({ ceiling }) => y(ceiling.rate) >= plot.top && y(ceiling.rate) <= plot.bottom);
  if (roomy) {
    const at = spread(seen.map((roof) => y(roof.ceiling.rate)), 28, plot.top + 10, plot.bottom);
    seen.forEach((roof, index) => outside(names, roof, y(roof.ceiling.rate), at[index]!, plot.right));
    return;
  }
  const inside = level(
    seen.map((roof) => ({ text: pipeText(roof).join(" "), at: y(roof.ceiling.rate), needed: roof.chosen })),
    memory.map(({ ceiling: { rate } }) => ({ from: [x(from), y(from * rate)], to: [x(top / rate), y(top)] })),
    scene.memory.length ? plot.left + (plot.right - plot.left) * 0.35 : plot.left, plot.right, points, widthOf,
  );
  for (const label of inside) names.append("text").attr("class", "label").attr("x", label.x).attr("y", label.y).text(label.text);
}

/** The two lines beside the roof of a pipe: its name and its rate. */
export const pipeText = ({ ceiling }: Roof): [string, string] => [
  [ceiling.resource, shortVariant(ceiling)].filter(Boolean).join(" "),
  show(ceiling.rate, `${ceiling.unit}/s`),
];

function outside(names: Group, roof: Roof, line: number, at: number, right: number): void {
  const [name, rate] = pipeText(roof);
  names.append("path").attr("class", "leader").attr("d", `M${right},${line}L${right + 10},${at}`);
  const text = names.append("text").attr("class", "label").attr("x", right + 14).attr("y", at);
  text.append("tspan").text(name);
  text.append("tspan").attr("class", "rate").attr("x", right + 14).attr("dy", "1.2em").text(rate);
}

const textOf = ({ ceiling }: Roof): string =>
  [ceiling.resource, shortVariant(ceiling), show(ceiling.rate, "B/s")].filter(Boolean).join(" ");

function strip(root: Group, names: Group, scene: Scene, widthOf: (text: string) => number): void {
  const below = scene.geometry.strip;
  if (!below) return;
  const { area, rows, x } = below;
  root.append("text").attr("class", "heading").attr("x", scene.geometry.roomy ? area.left : 0).attr("y", area.top - 12)
    .text(`No arithmetic: ${scene.geometry.roomy ? "bytes a second" : "B/s"} against the bandwidth roof`);
  rows.forEach((resource, row) => {
    const middle = rowY(area, row);
    const dim = scene.boundary !== null && scene.boundary !== resource;
    root.append("text").attr("class", "label row").classed("faded", dim).attr("text-anchor", "end")
      .attr("x", area.left - 10).attr("y", middle + 4).text(resource);
    root.append("line").attr("class", "lane").attr("x1", area.left).attr("x2", area.right).attr("y1", middle).attr("y2", middle);
    for (const roof of scene.memory.filter((r) => r.ceiling.resource === resource)) {
      const at = x(roof.ceiling.rate);
      root.append("line").attr("class", roof.chosen ? "roof" : "roof variant").classed("faded", dim)
        .attr("x1", at).attr("x2", at).attr("y1", middle - 15).attr("y2", middle + 15)
        .style("stroke", `var(${scene.lookOf(resource).color})`);
      if (!roof.chosen) continue;
      const text = [shortVariant(roof.ceiling), show(roof.ceiling.rate, "B/s")].filter(Boolean).join(" ");
      const fits = at + 8 + widthOf(text) < scene.geometry.width;
      names.append("text").attr("class", "label").classed("faded", dim).attr("text-anchor", fits ? "start" : "end")
        .attr("x", at + (fits ? 8 : -8)).attr("y", middle - 5).text(text);
    }
  });
}
