"""RF204: products on the roof of their pipe, the compute twin of RF102."""

from collections.abc import Iterator, Sequence

from roofline.device import (
    TENSOR_BF16,
    TENSOR_FP8,
    TENSOR_FP16,
    TENSOR_TF32,
    VECTOR_FP32,
    Resource,
)
from roofline.diagnosis.compute.precision import accumulate_in_16, tf32_unused
from roofline.diagnosis.rule import Finding
from roofline.placement import ABOVE
from roofline.program import Item, Program
from roofline.program.chains import NEAR
from roofline.units import number_of, show
from roofline.work import Count

WORTH = 0.2  # assumed: share of a step that they must take together
# The pipe of the next narrower type that does the same products.
NARROWER = {
    VECTOR_FP32: TENSOR_TF32, TENSOR_TF32: TENSOR_BF16, TENSOR_BF16: TENSOR_FP8,
    TENSOR_FP16: TENSOR_FP8,
}  # fmt: skip


def on_pipe(program: Program) -> Iterator[Finding]:
    """RF204: what fills its pipe with the flop of its formula, one finding a pipe."""
    busy_s, steps = program.whole.busy_s, program.conditions.steps
    # Where another pipe of the device does the same products, that is the advice.
    other = {VECTOR_FP32: tf32_unused, TENSOR_FP16: accumulate_in_16}
    pipes: dict[Resource, list[Item]] = {}
    for item in program.by("call"):
        if item.binding is not None and _fills(item):
            pipes.setdefault(item.binding.demanded, []).append(item)
    for pipe, items in pipes.items():
        spent_s = sum(item.measured_s or 0.0 for item in items) / steps
        if pipe in other and any(other[pipe](program)):
            continue
        if busy_s and spent_s >= WORTH * busy_s:
            yield _full(program, pipe, items, spent_s)


def _fills(item: Item) -> bool:
    bound, fraction = item.binding, item.roof_fraction
    if bound is None or fraction is None or item.too_short:
        return False
    by_formula = item.placement.count is Count.ALGORITHMIC
    return by_formula and bound.demanded.is_pipe and NEAR <= fraction <= ABOVE


def _full(program: Program, pipe: Resource, items: Sequence[Item], spent_s: float) -> Finding:
    busy_s, steps = program.whole.busy_s or spent_s, program.conditions.steps
    bound = items[0].placement.bounds[0]
    least_s = sum(item.roof_s or 0.0 for item in items) / steps
    who = items[0].name if len(items) == 1 else number_of(len(items), "operator")
    return Finding(
        code="RF204",
        item="",
        items=tuple(dict.fromkeys(item.name for item in items)),
        claim=(
            f"{who} fill{'s' if len(items) == 1 else ''} {pipe.name}: {least_s / spent_s:.0%} of "
            f"its roof in {spent_s / busy_s:.0%} of the operators' time, with no flop more than "
            "the formula needs"
        ),
        evidence=(
            f"{show(spent_s, 's')} a step, {show(least_s, 's')} at the ceiling of "
            f"{show(bound.ceiling.rate, f'{pipe.unit}/s')} ({bound.ceiling.provenance.basis}, "
            f"{bound.ceiling.variant or 'plain'})",
            *(f"{i.name} ({i.shapes}): {i.roof_fraction:.0%}" for i in items[:3]),
            *_narrower(program, pipe, items),
        ),
        next_step=(
            "stop tuning them: only fewer flop (a smaller or sparser model, no recomputation) or a "
            "narrower type are left"
        ),
        saves_s=0.0,
        wrong_if="a version with the same flop in the same type runs clearly faster",
    )


def _narrower(program: Program, pipe: Resource, items: Sequence[Item]) -> Iterator[str]:
    """The same products on the pipe of the next narrower type, bytes as they are."""
    other = NARROWER.get(pipe)
    ceiling = program.roof.ceiling(other) if other else None
    if other is None or ceiling is None or ceiling.resource != other:
        return
    least_s = sum(
        max(
            (b.amount / (ceiling.rate if b.demanded == pipe else b.ceiling.rate))
            for b in item.placement.bounds
        )
        for item in items
    )
    yield f"on {other.name} they would need {show(least_s / items[0].steps, 's')} a step"
