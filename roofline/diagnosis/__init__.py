"""Findings: what a program's placement means, and what to do next.

A sanity finding silences advice on its own item only; when more than a fifth of the time is in
doubt it silences the advice on the whole program too.  A program that waited for a processor has
its times in doubt: advice that claims a time is silent, other advice says no seconds.
"""

from collections.abc import Callable, Iterator, Set
from dataclasses import replace

from roofline.diagnosis.compute.alignment import unaligned
from roofline.diagnosis.compute.far import far_below
from roofline.diagnosis.compute.narrow import ridge_moved, unpacking
from roofline.diagnosis.compute.on_pipe import on_pipe
from roofline.diagnosis.compute.padding import padding
from roofline.diagnosis.compute.precision import accumulate_in_16, tf32_unused
from roofline.diagnosis.doubts.above import above_the_roof
from roofline.diagnosis.doubts.clocks import other_clock
from roofline.diagnosis.doubts.counted import below_compulsory, inverted_levels
from roofline.diagnosis.doubts.ledger import incomplete_ledger
from roofline.diagnosis.doubts.recording import before_the_window, cold_caches, graph_launches
from roofline.diagnosis.doubts.waiting import CODE as WAITING
from roofline.diagnosis.doubts.waiting import WITHOUT_TIMES, waited_for_processors
from roofline.diagnosis.kernels import from_counters
from roofline.diagnosis.links import exposed, link_roof
from roofline.diagnosis.memory.fresh import fresh_memory
from roofline.diagnosis.memory.on_roof import at_the_roof
from roofline.diagnosis.memory.passes import excess_passes
from roofline.diagnosis.memory.picked import irregular
from roofline.diagnosis.memory.resident import from_cache
from roofline.diagnosis.memory.traffic import copies, excess_traffic
from roofline.diagnosis.overhead.gaps import launch_bound, overhead_bound
from roofline.diagnosis.overhead.host import recompiled, uploads, waits
from roofline.diagnosis.overhead.sizes import flat
from roofline.diagnosis.overhead.startup import starting_up
from roofline.diagnosis.rule import Finding
from roofline.program import Program
from roofline.units import show

Rule = Callable[[Program], Iterator[Finding]]
SANITY: tuple[Rule, ...] = (
    waited_for_processors,
    above_the_roof,
    graph_launches,
    incomplete_ledger,
    before_the_window,
    inverted_levels,
    below_compulsory,
    other_clock,
    cold_caches,
)
ADVICE: tuple[Rule, ...] = (
    excess_passes,
    starting_up,
    overhead_bound,
    launch_bound,
    waits,
    uploads,
    recompiled,
    flat,
    exposed,
    link_roof,
    tf32_unused,
    accumulate_in_16,
    far_below,
    padding,
    unaligned,
    unpacking,
    ridge_moved,
    fresh_memory,
    excess_traffic,
    copies,
    irregular,
    from_counters,
    from_cache,
    at_the_roof,
    on_pipe,
)
# Advice about the whole that rests on times alone: doubts about ledgers leave it standing.
FROM_TIMES: tuple[Rule, ...] = (
    starting_up,
    overhead_bound,
    launch_bound,
    waits,
    uploads,
    recompiled,
    exposed,
)
# Advice whose claim is a time or a share of one, of a host that waited for a processor: that may be
# the waiting.  What claims flop, bytes, page faults or neighbours stands, without its seconds.
CLAIMS_TIME: tuple[Rule, ...] = (
    starting_up,
    overhead_bound,
    flat,
    link_roof,
    tf32_unused,
    far_below,
    unaligned,
    unpacking,
    copies,
    irregular,
    from_cache,
    at_the_roof,
    on_pipe,
)
OF_THE_HOST: tuple[Rule, ...] = (starting_up, overhead_bound)  # kernels take their own time
# While starting kernels takes longer than running them, faster kernels are not felt.
FELT_FIRST = ("RF305",)
IN_DOUBT = 0.2  # of busy time

__all__ = ["ADVICE", "SANITY", "Finding", "diagnose"]


def diagnose(program: Program) -> tuple[Finding, ...]:
    """Every finding that holds: doubts first, then advice by what it could save."""
    doubts = [finding for rule in SANITY for finding in rule(program)]
    in_doubt = {name for f in doubts for name in (f.item, *f.items) if name}
    busy_s = program.whole.busy_s
    doubt_s = sum(finding.doubt_s or 0.0 for finding in doubts)
    silent = bool(busy_s) and doubt_s > IN_DOUBT * (busy_s or 0.0)
    waited = any(finding.code == WAITING for finding in doubts)
    lost = () if not waited else CLAIMS_TIME if program.kernels is None else OF_THE_HOST
    advice = [
        finding
        for rule in ADVICE
        if rule not in lost
        for finding in rule(program)
        if not _names_only(finding, in_doubt)
        and not (silent and rule not in FROM_TIMES and not (finding.item or finding.items))
    ]
    advice = [_within_the_step(finding, program) for finding in advice]
    advice = [finding for finding in advice if _shorter(finding)]
    advice.sort(key=lambda f: (f.code in FELT_FIRST, f.saves_s or 0.0), reverse=True)
    if waited and program.kernels is None:
        advice = [_without_times(finding) for finding in advice]
    return (*doubts, *advice)


def _names_only(finding: Finding, in_doubt: Set[str]) -> bool:
    """Whether all that it speaks of is in doubt."""
    named = {finding.item, *finding.items} - {""}
    return bool(named) and named <= in_doubt


def _within_the_step(finding: Finding, program: Program) -> Finding:
    """No change saves more than a step lasts, though calls beside each other add up to more."""
    step_s = program.whole.step_s
    if finding.saves_s is None or step_s is None or finding.saves_s <= step_s:
        return finding
    beside = f"its calls run beside each other: a whole step takes {show(step_s, 's')}"
    return replace(finding, saves_s=step_s, evidence=(*finding.evidence, beside))


def _shorter(finding: Finding) -> bool:
    """Whether a time that is to become shorter is so in the digits that are printed.

    What says that nothing is to win saves 0, and stands.
    """
    if not finding.saves_s or finding.now_s is None:
        return True
    least_s = finding.now_s - finding.saves_s if finding.then_s is None else finding.then_s[0]
    return show(least_s, "s") != show(finding.now_s, "s")


def _without_times(finding: Finding) -> Finding:
    """Advice that claims counts: beside times that cannot be trusted it says no seconds."""
    lines = list(finding.evidence)
    for text in finding.timed:
        lines = [line.replace(text, "") for line in lines]
    counted = tuple(line for line in lines if line)
    if counted == finding.evidence and not finding.saves_s:
        return finding
    evidence = (*counted, WITHOUT_TIMES)
    return replace(finding, evidence=evidence, timed=(), saves_s=None, now_s=None, then_s=None)
