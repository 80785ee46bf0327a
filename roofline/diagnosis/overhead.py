"""RF3xx: time that does not follow the work."""

from collections.abc import Iterator

from roofline.diagnosis.rule import Finding
from roofline.program import Program
from roofline.units import show

ELSEWHERE = 20.0  # assumed: gaps this many times the cost of a start are not starting
BOUND = 0.3  # assumed: from this share of a step on, overhead is what binds it


def overhead_bound(program: Program) -> Iterator[Finding]:
    """RF301 and RF302: a step is bound by what is not the operators' work."""
    whole = program.whole
    if whole.step_s is None or whole.gap_s is None or not whole.calls:
        return
    dispatch_s = whole.overhead_s or 0.0
    roof_s = whole.roof_s or 0.0
    # Starting an operator is part of its time here; it cannot be more than all of that.
    spent_s = whole.gap_s + min(dispatch_s, whole.busy_s or 0.0)
    if spent_s < BOUND * whole.step_s or spent_s < roof_s:
        return
    gap_s, call_s = whole.gap_s / whole.calls, dispatch_s / whole.calls
    if call_s and gap_s > ELSEWHERE * call_s:
        yield _between(program, gap_s, call_s)
    else:
        yield _starting(program, spent_s, call_s)


def _starting(program: Program, spent_s: float, call_s: float) -> Finding:
    """RF301: the calls are too many and too small."""
    whole = program.whole
    step_s = whole.step_s or 0.0
    floor = show(call_s, "s") if call_s else "an unknown time"
    return Finding(
        code="RF301",
        item="",
        claim=(
            f"bound by overhead: {spent_s / step_s:.0%} of a step goes into starting "
            f"{whole.calls:.0f} operators, not into their work"
        ),
        evidence=(
            f"{show(whole.gap_s or 0.0, 's')} of {show(step_s, 's')} a step no operator ran",
            f"{show(step_s / whole.calls, 's')} a call; starting one takes {floor} at its ceiling",
            _work(program),
        ),
        next_step=(
            "fewer, larger calls: a bigger batch, fused or foreach operators, torch.compile, "
            "a captured graph on a GPU"
        ),
        saves_s=spent_s,
        wrong_if="doubling the batch doubles the time of a step",
    )


def _between(program: Program, gap_s: float, call_s: float) -> Finding:
    """RF302: the time between operators is the program's own, far more than starting them takes."""
    whole = program.whole
    step_s, idle_s = whole.step_s or 0.0, whole.gap_s or 0.0
    return Finding(
        code="RF302",
        item="",
        claim=(
            f"{idle_s / step_s:.0%} of a step no operator runs, and starting operators does not "
            "explain it: the program does something else there"
        ),
        evidence=(
            f"{show(idle_s, 's')} of {show(step_s, 's')} a step",
            f"{show(gap_s, 's')} before each of {whole.calls:.0f} calls; starting one takes "
            f"{show(call_s, 's')}",
            _work(program),
        ),
        next_step=(
            "profile the Python between the calls: data loading, building of modules, printing, "
            "waiting, or the freeing of large results"
        ),
        saves_s=idle_s,
        wrong_if="a Python profiler finds nothing between the operators",
    )


def _work(program: Program) -> str:
    whole = program.whole
    if whole.roof_s is None:
        return "what the work itself needs at its roof is not known"
    counted = "" if (whole.coverage or 0.0) >= 0.995 else ", as far as it is accounted for"
    return f"the work itself needs {show(whole.roof_s, 's')} at its roof{counted}"
