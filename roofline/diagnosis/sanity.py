"""RF0xx: can the model be believed?  These come first and silence advice built on what is not."""

from collections.abc import Iterator

from roofline.diagnosis.rule import Finding
from roofline.placement import ABOVE
from roofline.program import Item, Program
from roofline.units import show, show_binary


def above_the_roof(program: Program) -> Iterator[Finding]:
    """RF001: measured faster than the bound.  The model is wrong, not the kernel clever."""
    for item in program.by("call"):
        fraction, bound = item.roof_fraction, item.binding
        if fraction is None or bound is None or item.too_short or fraction <= ABOVE:
            continue
        ceiling = bound.ceiling
        if _within_interval(item):
            continue
        rate = show(bound.amount / (item.measured_s or 1), f"{bound.demanded.unit}/s")
        yield Finding(
            code="RF001",
            item=item.name,
            claim=(
                f"{item.name} ({item.shapes}) ran {fraction:.2f} times as fast as its "
                f"{bound.demanded.name} roof allows, so the count, the ceiling or the time is wrong"
            ),
            evidence=(
                f"{show(bound.amount / item.calls, bound.demanded.unit)} a call at {rate}",
                f"ceiling {show(ceiling.rate, f'{ceiling.resource.unit}/s')} "
                f"({ceiling.provenance.basis}{_variant(item)})",
                *_capacity(program, item),
            ),
            next_step=(
                "look whether its data stayed in a nearer cache; then whether the operator does "
                "less than its formula says"
            ),
            wrong_if="a counter confirms the bytes and a new measurement confirms the ceiling",
            doubt_s=(item.measured_s or 0.0) / item.steps,
        )


def incomplete_ledger(program: Program) -> Iterator[Finding]:
    """RF002: some calls have no accounting, so the roof time is too low."""
    unaccounted = [item for item in program.by("operator") if not item.complete]
    if not unaccounted:
        return
    timed = [item.measured_s for item in unaccounted if item.measured_s is not None]
    doubt_s = sum(timed) / program.conditions.steps if timed else None
    share = program.whole.coverage
    known = "an unknown share of time" if share is None else f"{1 - share:.1%} of operator time"
    yield Finding(
        code="RF002",
        item="",
        claim=(
            f"{len(unaccounted)} operators have no accounting ({known}), "
            "so the program's roof time is too low by an unknown amount"
        ),
        evidence=tuple(_unaccounted(item) for item in unaccounted[:8])
        + ((f"and {len(unaccounted) - 8} more",) if len(unaccounted) > 8 else ()),
        next_step="add an accounting rule for each (CONTRIBUTING, 'Add an operator')",
        wrong_if="those operators move no bytes and do no arithmetic",
        doubt_s=doubt_s,
    )


def _unaccounted(item: Item) -> str:
    took = "not timed" if item.measured_s is None else show(item.measured_s / item.steps, "s")
    reason = next((text for text in item.placement.unaccounted if text != item.name), "no rule")
    return f"{item.name}: {took} a step, {item.calls / item.steps:g} calls; {reason}"


def _within_interval(item: Item) -> bool:
    """Whether the ceiling's own interval reaches as far as the measured rate."""
    bound, measured_s = item.binding, item.measured_s
    spread = bound.ceiling.provenance.spread if bound else None
    if bound is None or spread is None or spread.high is None or not measured_s:
        return False
    return bound.amount / measured_s <= spread.high * ABOVE


def _variant(item: Item) -> str:
    text = str(item.binding.ceiling.variant) if item.binding else ""
    return f", {text}" if text else ""


def _capacity(program: Program, item: Item) -> Iterator[str]:
    footprint = item.ledger.footprint if item.ledger else None
    last = program.device.fact("l2_capacity") if program.device else None
    if footprint is None or last is None or not isinstance(last.value, float | int):
        return
    if item.placed_at.name == "dram" and footprint <= last.value:
        yield (
            f"its {show(footprint, 'B')} fit the {show_binary(last.value)} L2: "
            "the DRAM roof does not apply"
        )
