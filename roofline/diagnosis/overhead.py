"""RF3xx: time that does not follow the work."""

from collections.abc import Iterator

from roofline.diagnosis.rule import Finding
from roofline.program import Program
from roofline.units import show

BOUND = 0.3  # assumed: from this share of a step on, overhead is what binds it


def overhead_bound(program: Program) -> Iterator[Finding]:
    """RF301: starting the operators takes longer than their work."""
    whole = program.whole
    if whole.step_s is None or whole.gap_s is None or not whole.calls:
        return
    dispatch_s = whole.overhead_s or 0.0
    roof_s = whole.roof_s or 0.0
    spent_s = whole.gap_s + dispatch_s
    if spent_s < BOUND * whole.step_s or spent_s < roof_s:
        return
    per_call = show(whole.step_s / whole.calls, "s")
    floor = show(dispatch_s / whole.calls, "s") if whole.overhead_s else "an unknown time"
    yield Finding(
        code="RF301",
        item="",
        claim=(
            f"bound by overhead: {spent_s / whole.step_s:.0%} of a step goes into starting "
            f"{whole.calls:.0f} operators, not into their work"
        ),
        evidence=(
            f"{show(whole.gap_s, 's')} of {show(whole.step_s, 's')} a step no operator ran",
            f"{per_call} a call; dispatching one takes {floor} on this machine",
            _work(program),
        ),
        next_step=(
            "fewer, larger calls: a bigger batch, fused or foreach operators, torch.compile, "
            "a captured graph on a GPU"
        ),
        saves_s=spent_s,
        wrong_if="doubling the batch doubles the time of a step",
    )


def _work(program: Program) -> str:
    whole = program.whole
    if whole.roof_s is None:
        return "what the work itself needs at its roof is not known"
    counted = "" if (whole.coverage or 0.0) >= 0.995 else ", as far as it is accounted for"
    return f"the work itself needs {show(whole.roof_s, 's')} at its roof{counted}"
