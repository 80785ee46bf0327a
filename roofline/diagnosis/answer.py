"""The answer in two plain sentences: how far from the roof, and what to do first."""

import re
from collections.abc import Sequence

from roofline.diagnosis.doubts.waiting import CODE as WAITING
from roofline.diagnosis.doubts.waiting import waiting
from roofline.diagnosis.rule import Finding
from roofline.diagnosis.unexplained import below_the_roof, without_ceilings
from roofline.program import Program
from roofline.units import show, show_share

STARTING = "RF308"  # nothing to win, and nothing else can be seen before it is set apart
FAR = 0.5  # of a step at its roof
NEAR = 0.8  # the same; below, "nothing to do" is not what is known


def answer(program: Program, findings: Sequence[Finding]) -> tuple[str, str]:
    """How long a step takes against its roof, then the first thing to do about it."""
    return _where(program, findings), _what(program, findings)


def _where(program: Program, findings: Sequence[Finding]) -> str:
    whole = program.whole
    name = (program.recorder.program if program.recorder else "") or "The program"
    if not program.parts and program.roof.ceilings:
        return f"{name} holds ceilings of {program.roof.name}, and nothing that ran."
    step = "a step" if whole.steps > 1 else "the run"
    # A profiler of single kernels records no time around them: device time is what there is.
    step_s, of = (whole.busy_s, " of device time") if whole.step_s is None else (whole.step_s, "")
    if not step_s:  # a step of no length is a clock too coarse, not a time
        return f"{name} has no times, so nothing can be said about how far it is from its roof."
    takes = f"{name} takes {show(step_s, 's')}{of} for {step}"
    if any(finding.code == WAITING for finding in findings):
        takes += (
            f", but waited for a processor during {waiting(program):.0%} of that: its times cannot "
            "be trusted"
        )
    if whole.roof_s is None and program.roof.ceilings:
        return f"{takes}; nothing that ran is accounted for, so its roof is unknown."
    if whole.roof_s is None or not program.roof.ceilings:  # what needs nothing has a roof of 0
        return f"{takes}; without ceilings of its device, how far that is from the roof is unknown."
    of_that = f", {show_share(whole.roof_s / step_s)} of that"
    if any(finding.code == WAITING for finding in findings):
        of_that = ""
    part = "" if (whole.coverage or 0) >= 0.995 else " (what is accounted for)"
    return (
        f"{takes}; at the roof of {program.roof.name} its operators would need "
        f"{show(whole.roof_s, 's')}{part}{of_that}."
    )


def _share(program: Program) -> float:
    """Of a step's time what the work needs at its roof; 1 where either is nothing."""
    whole = program.whole
    spent_s = whole.busy_s if whole.step_s is None else whole.step_s
    return whole.roof_s / spent_s if whole.roof_s and spent_s else 1.0


def _what(program: Program, findings: Sequence[Finding]) -> str:
    advice = [f for f in findings if f.saves_s]
    doubts = [f for f in findings if f.doubt_s is not None]
    waited = next((f for f in findings if f.code == WAITING), None)
    if waited is not None:
        return f"First, {waited.next_step}."
    if advice:
        first = advice[0]
        todo = re.split(r"[:;]", first.next_step, maxsplit=1)[0]
        most = f"at most {show(first.saves_s or 0.0, 's')} to win"
        return f"First, {todo} ({most}), because {first.claim}."
    if doubts:
        return f"First settle a doubt about the model: {doubts[0].claim}."
    return _without_advice(program, findings)


def _without_advice(program: Program, findings: Sequence[Finding]) -> str:
    """What is not known, and how to get to know it."""
    if not program.parts and program.roof.ceilings:
        return "`roofline import --keep` keeps them, so that work can be placed under them."
    if program.whole.roof_s is None or not program.roof.ceilings:
        return without_ceilings(program)
    share = _share(program)
    start = next((f for f in findings if f.code == STARTING), None)
    if start is not None and share < FAR:
        todo = re.split(r"[:;(]", start.next_step, maxsplit=1)[0].strip()
        return f"First, {todo}, because {start.claim}."
    if share < NEAR:
        return below_the_roof(program, findings, share)
    return "Nothing found here is worth doing."
