// What is said in words: the sums, the findings, the ceilings, how it was recorded.

import type { Ceiling, Finding, Gap, Placement, Program } from "./document";
import { bar, byId, dataTable, el, terms } from "./dom";
import { maybe, percent, show, showBinary, UNKNOWN } from "./units";

/** The sums of a step, as a row of figures; those that the bar below shows bear its colour and are its parts. */
export function sums(program: Program | null): Node[] {
  if (program === null) return [];
  const shown = parts(program);
  const whole = program.step_s ?? program.busy_s; // a profiler of single kernels records no time around them
  const share = (value: number | null) =>
    value === null || !whole ? null : `${percent(value / whole)} of ${program.step_s === null ? "device time" : "the step"}`;
  const figure = (label: string, value: number | null, hints: (string | null)[], part?: Part["name"]) =>
    value === null ? null : el("div", {},
      el("dt", {}, part && shown.length > 0 && el("span", { class: `key ${part}`, "aria-hidden": "true" }), label),
      el("dd", {}, show(value, "s")), el("dd", { class: "hint" }, hints.filter(Boolean).join(", ")));
  const figures = [
    figure("one step", program.step_s, [program.steps === null || program.steps === 1 ? "wall time" : `wall time, mean of ${program.steps}`]),
    figure("in operators", program.busy_s, [program.step_s === null ? "measured" : share(program.busy_s)]),
    figure("roof", program.roof_s, ["least time", share(program.roof_s)], "roof"),
    figure("lost in operators", lost(program), ["above their roof", share(lost(program))], "lost"),
    figure("of no step", program.others_s || null, ["what belongs to no step ran", share(program.others_s ?? null)], "others"),
    figure("between operators", program.gap_s, [share(program.gap_s)], "between"),
    figure("overhead", program.overhead_s, ["of starting operators"]),
  ];
  return figures.filter((node): node is HTMLDivElement => node !== null);
}

interface Part {
  name: "roof" | "lost" | "others" | "between";
  seconds: number;
}

// What operators took beyond their roof; null where it is longer than something ran, as with streams that overlap.
function lost({ step_s, busy_s, others_s, gap_s, roof_s }: Program): number | null {
  if (busy_s === null || roof_s === null || roof_s > busy_s) return null;
  const above = (step_s === null ? busy_s : step_s - (gap_s ?? 0) - (others_s ?? 0)) - roof_s;
  return above < 0 ? null : above;
}

// What a step consists of; nothing where its parts do not add up to it.
function parts(program: Program): Part[] {
  const { step_s, roof_s, others_s, gap_s } = program;
  const above = lost(program);
  if (!step_s || roof_s === null || above === null) return [];
  const others: Part[] = others_s ? [{ name: "others", seconds: others_s }] : [];
  return [{ name: "roof", seconds: roof_s }, { name: "lost", seconds: above }, ...others, { name: "between", seconds: gap_s ?? 0 }];
}

/** One step as a bar: what it needs, what operators take beyond that, and what lies between them. */
export function step(program: Program | null): Node[] {
  const shown = program ? parts(program) : [];
  if (!shown.length) return [];
  const words: Record<Part["name"], string> = { roof: "at the roof", lost: "lost in operators", others: "of no step", between: "between operators" };
  const told = shown.map(({ name, seconds }) => `${show(seconds, "s")} ${words[name]}`).join(", ");
  const pieces = shown.map(({ name, seconds }) => {
    const piece = el("span", { class: name, title: `${show(seconds, "s")} ${words[name]}` });
    piece.style.flexGrow = String(seconds / program!.step_s!);
    return piece;
  });
  return [el("div", { class: "step", role: "img", "aria-label": `One step: ${told}` }, ...pieces)];
}

const FIRST = 5; // findings that are open from the start

/** From which time to which, where that is predicted and anything is to win. */
function predicted({ saves_s, now_s, then_s }: Finding): string {
  if (!saves_s || now_s === null || !then_s) return "";
  const [now, least, most] = [now_s, ...then_s].map((seconds) => show(seconds, "s"));
  return `: ${now} \u2192 ${most === least || most === now ? least : `${least} to ${most}`}`;
}

// Codes below 100 are of sanity: whether the model holds for this recording at all.
const isDoubt = ({ code }: Finding): boolean => /^RF0/.test(code);

/** The first findings, one a line, each leading to what stands behind it. */
export function first(found: Finding[], program: Program | null): Node[] {
  if (!found.length) return [];
  const most = Math.max(...found.map((finding) => finding.saves_s ?? 0), program?.step_s ?? program?.busy_s ?? 0);
  const lines = found.slice(0, FIRST).map((finding, at) => {
    const link = el("a", { href: `#finding-${at + 1}` }, el("span", { class: "code" }, finding.code), finding.claim);
    link.addEventListener("click", (event) => {
      event.preventDefault(); // what the address holds after "#" is what the reader chose
      const article = byId(`finding-${at + 1}`);
      article.scrollIntoView({ block: "start" });
      article.focus({ preventScroll: true });
    });
    const seconds = finding.saves_s;
    const worth = seconds ? `at most ${show(seconds, "s")}` : seconds === 0 ? "nothing to win" : isDoubt(finding) ? "a doubt" : "not known";
    return el("li", {}, link, el("span", { class: "saves" }, seconds ? bar(seconds / most) : el("span"), worth));
  });
  return [el("h2", {}, "What to look at first, and what it could save"), el("ol", {}, ...lines)];
}

/** Whether what the finding is about stands in its claim, or begins what shows it. */
function told({ item, claim, evidence }: Finding): boolean {
  return !item || claim.includes(item) || Boolean(evidence[0]?.startsWith(item));
}

/** Findings in the order given: sanity first, then what could save most. */
export function findings(found: Finding[]): Node[] {
  if (!found.length) return [el("p", { class: "note" }, "Nothing was found.")];
  const articles = found.map((finding, at) =>
    el("article", { class: "finding", id: `finding-${at + 1}`, tabindex: -1 },
      el("h3", {}, el("span", { class: "code" }, finding.code), finding.claim),
      el("div", { class: "about" },
        !told(finding) && el("p", { class: "where" }, finding.item),
        el("ul", {}, ...finding.evidence.map((line) => el("li", {}, line))),
      ),
      terms([
        ["Next", finding.next_step],
        ["Saves", finding.saves_s === null ? null : `at most ${show(finding.saves_s, "s")} a step${predicted(finding)}`],
        ["Wrong if", finding.wrong_if],
      ]),
    ),
  );
  const rest = articles.slice(FIRST);
  if (!rest.length) return articles;
  const more = `${rest.length} more finding${rest.length > 1 ? "s" : ""}`;
  return [...articles.slice(0, FIRST), el("details", {}, el("summary", {}, more), ...rest)];
}

/** Every ceiling with where it came from; what many share is said once, below. */
export function ceilings(roof: Ceiling[]): Node[] {
  if (!roof.length) return [el("p", { class: "note" }, "No ceiling of this device is known.")];
  const foundBy = (c: Ceiling) => [c.source, c.conditions, c.unstable, c.as_of].filter(Boolean).join("; ");
  const sources = [...new Set(roof.map(foundBy))];
  const rows = roof.map((c) => {
    const unit = `${c.unit}/s`;
    return [
      c.resource,
      c.variant || UNKNOWN,
      show(c.rate, unit),
      c.q1 === null || c.q3 === null ? UNKNOWN : `${show(c.q1, unit)} to ${show(c.q3, unit)}`,
      maybe(c.best, unit),
      c.n === null ? UNKNOWN : c.dropped ? `${c.n} of ${c.n + c.dropped}` : String(c.n),
      c.capacity === null ? UNKNOWN : showBinary(c.capacity),
      c.basis,
      String(sources.indexOf(foundBy(c)) + 1),
    ];
  });
  const titles = ["resource", "variant", "rate *", "middle half *", "best *", "samples *", "holds *", "basis", "source *"];
  return [
    // No part of it takes the focus, so that the whole must, to be scrolled by keyboard.
    el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table of ceilings" }, dataTable("Ceilings of this device", titles, rows)),
    el("details", {}, el("summary", {}, "How each was found"),
      el("ol", { class: "sources" }, ...sources.map((text) => el("li", {}, text || "no source is stated")))),
  ];
}

function amount({ seconds, count }: Gap): string {
  const known = [seconds !== null && show(seconds, "s"), count !== null && `${count} time${count === 1 ? "" : "s"}`].filter(Boolean);
  return known.length ? ` (${known.join(", ")})` : "";
}

/** How the times were taken, and what the recording knows it does not hold. */
export function recording({ recorder, program, gaps }: Placement): Node[] {
  const facts = recorder && terms([
    ["program", recorder.program],
    ["recorded", recorder.recorded_at],
    ["by", recorder.tool],
    ["versions", Object.entries(recorder.versions ?? {}).map(([name, version]) => `${name} ${version}`).join(", ")],
    ["times", recorder.timer],
    ["threads", recorder.threads === null ? null : String(recorder.threads)],
    ["overhead of an event", recorder.overhead_s === null ? "unknown" : show(recorder.overhead_s, "s")],
    ["shortest trusted time", recorder.shortest_s === null ? "unknown" : show(recorder.shortest_s, "s")],
    ["counters", recorder.counters],
    ["caches", recorder.cache],
    ["clocks", recorder.clock],
    ["recorder's own time", program?.bookkeeping_s == null ? null : `${show(program.bookkeeping_s, "s")} a step`],
    ["exit code", recorder.exit_code === null ? "unknown" : String(recorder.exit_code)],
  ]);
  const missing = gaps.map((gap) =>
    el("li", {}, el("strong", {}, gap.name), `: ${gap.what}${amount(gap)}`),
  );
  const nodes: (Node | null)[] = [
    facts ?? el("p", { class: "note" }, "Nobody noted how this was recorded."),
    recorder?.warnings?.length ? el("ul", { class: "warnings" }, ...recorder.warnings.map((line) => el("li", {}, line))) : null,
    el("h3", {}, "What this recording does not hold"),
    missing.length ? el("ul", { class: "gaps" }, ...missing) : el("p", { class: "note" }, "No gap is known."),
  ];
  return nodes.filter((node): node is Node => node !== null);
}
