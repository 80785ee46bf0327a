"""RF2xx: room below every roof."""

from collections.abc import Iterator

from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.units import show

FAR = 0.5  # assumed: below half of its roof an operator is far from it
WORTH = 0.05  # share of a step that must be lost before it is said


def far_below(program: Program) -> Iterator[Finding]:
    """RF201: one operator takes far longer than any resource explains."""
    busy_s = program.whole.busy_s
    for item in program.by("call"):
        bound, fraction, lost_s = item.binding, item.roof_fraction, item.lost_s
        if bound is None or fraction is None or lost_s is None or item.too_short or not busy_s:
            continue
        if fraction >= FAR or lost_s / item.steps < WORTH * busy_s or _overhead_explains(item):
            continue
        unit = f"{bound.demanded.unit}/s"
        reached = show(bound.amount / (item.measured_s or 1), unit)
        second = item.placement.bounds[1:2]
        yield Finding(
            code="RF201",
            item=item.name,
            claim=(
                f"{item.name} ({item.shapes}) reaches {fraction:.0%} of its nearest roof, "
                f"{bound.demanded.name}: no resource we count explains its time"
            ),
            evidence=(
                f"{reached} against {show(bound.ceiling.rate, unit)} "
                f"({bound.ceiling.provenance.basis}, {bound.ceiling.variant})",
                *(
                    f"{b.demanded.name} would need {b.least_s / (item.measured_s or 1):.0%} "
                    "of its time"
                    for b in second
                ),
                f"{show(lost_s / item.steps, 's')} a step in {item.calls / item.steps:g} calls",
            ),
            next_step=_next_step(item),
            saves_s=lost_s / item.steps,
            wrong_if="a better implementation of the same operator is no faster",
        )


def _overhead_explains(item: Item) -> bool:
    return item.overhead_s is not None and item.overhead_s >= FAR * (item.lost_s or 0.0)


def _next_step(item: Item) -> str:
    binding = item.binding
    if binding is not None and binding.demanded.is_pipe:
        return (
            "try larger or better aligned sizes, contiguous operands, another data type, "
            "or a library built for this machine"
        )
    return (
        "look at its strides and its threads: non-contiguous operands, one thread where several "
        "could work, or a slow fallback path"
    )
