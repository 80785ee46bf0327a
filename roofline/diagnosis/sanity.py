"""RF0xx: can the model be believed?  These come first and silence advice built on what is not."""

from collections.abc import Iterator, Sequence

from roofline.device import DRAM
from roofline.diagnosis.rule import Finding
from roofline.placement import ABOVE
from roofline.program import Item, Program
from roofline.units import show, show_binary


def above_the_roof(program: Program) -> Iterator[Finding]:
    """RF001: measured faster than the bound.  The model is wrong, not the kernel clever.

    What fits a cache whose own ceiling nobody knows has one cause and is one finding.
    """
    above = [item for item in program.by("call") if _above(item, program)]
    cached = [item for item in above if _fits_cache(item, program)]
    if len(cached) > 1:
        yield _in_cache(cached, program)
    for item in above:
        if len(cached) == 1 or item not in cached:
            yield _above_alone(item, program)


def _above(item: Item, program: Program) -> bool:
    fraction = item.roof_fraction
    if fraction is None or item.binding is None or item.too_short:
        return False
    ceiling = item.binding.ceiling
    if ceiling.resource.is_pipe:  # better than the library's best is no contradiction
        fraction *= ceiling.rate / (program.roof.highest(ceiling.resource) or ceiling.rate)
    if _fewer_threads(item, program):
        return False
    return fraction > ABOVE and not _within_interval(item) and not _within_bounds(item)


def _fewer_threads(item: Item, program: Program) -> bool:
    """Whether the ceiling was only measured with fewer threads than the run used: then it may."""
    ceiling_threads = item.binding.ceiling.variant.threads if item.binding else None
    used = program.recorder.threads if program.recorder else None
    return bool(ceiling_threads and used and ceiling_threads < used)


def _in_cache(items: Sequence[Item], program: Program) -> Finding:
    cache = _last_cache(program)
    worst = max(items, key=lambda item: item.roof_fraction or 0.0)
    return Finding(
        code="RF001",
        item="",
        claim=(
            f"{len(items)} operators ran above the dram roof with data that fits the "
            f"{show_binary(cache)} L2: the dram roof does not apply to them"
        ),
        evidence=tuple(
            f"{item.name} ({item.shapes}): {item.roof_fraction:.2f} times as fast as dram allows"
            for item in (worst, *(i for i in items if i is not worst))[:4]
        ),
        next_step="measure this device: with a ceiling of its L2 they are placed there",
        wrong_if="a counter shows that their bytes did cross dram",
        items=tuple(dict.fromkeys(item.name for item in items)),
        doubt_s=sum(item.measured_s or 0.0 for item in items) / program.conditions.steps,
    )


def _above_alone(item: Item, program: Program) -> Finding:
    bound = item.placement.bounds[0]
    ceiling = bound.ceiling
    rate = show(bound.amount / (item.measured_s or 1), f"{bound.demanded.unit}/s")
    return Finding(
        code="RF001",
        item=item.name,
        claim=(
            f"{item.name} ({item.shapes}) ran {item.roof_fraction:.2f} times as fast as its "
            f"{bound.demanded.name} roof allows, so the count, the ceiling or the time is wrong"
        ),
        evidence=(
            f"{show(bound.amount / item.calls, bound.demanded.unit)} a call at {rate}",
            f"ceiling {show(ceiling.rate, f'{ceiling.resource.unit}/s')} "
            f"({ceiling.provenance.basis}{_variant(item)})",
            *_fits(item, program),
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


def _within_bounds(item: Item) -> bool:
    """Whether the ledger's own lower bound lies under the roof: the count is not exact there."""
    bound, ledger, measured_s = item.binding, item.ledger, item.measured_s
    if bound is None or ledger is None or not measured_s:
        return False
    low = sum(
        e.amount if e.low is None else e.low for e in ledger.entries if e.resource == bound.demanded
    )
    return low / bound.ceiling.rate <= measured_s * ABOVE


def _last_cache(program: Program) -> float:
    """Capacity of the L2 in bytes, 0 when nobody states it."""
    fact = program.device.fact("l2_capacity") if program.device else None
    return float(fact.value) if fact and isinstance(fact.value, float | int) else 0.0


def _fits_cache(item: Item, program: Program) -> bool:
    footprint = item.ledger.footprint if item.ledger else None
    return item.placed_at == DRAM and footprint is not None and footprint <= _last_cache(program)


def _fits(item: Item, program: Program) -> Iterator[str]:
    if item.ledger and item.ledger.footprint and _fits_cache(item, program):
        yield (
            f"its {show(item.ledger.footprint, 'B')} fit the {show_binary(_last_cache(program))} "
            "L2: the dram roof does not apply"
        )
