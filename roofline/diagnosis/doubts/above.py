"""RF001: measured faster than the bound.  The model is wrong, not the kernel clever.

What could be wrong is asked in the order of the usual suspects, by what binds: a cache for bytes,
another pipe or a lighter algorithm for flop, the clock for anything.
"""

from collections.abc import Iterator, Sequence

from roofline.device import DRAM, SFU, TENSOR_TF32, UPDATE, VECTOR_FP32, Ceiling, Reach
from roofline.diagnosis.compute.precision import PRODUCTS
from roofline.diagnosis.rule import Finding
from roofline.placement import ABOVE
from roofline.program import Item, Program
from roofline.units import show, show_binary, show_share

# A CPU's copy is rated by the 8 B of an element that the program names; storing to new lines also
# reads them (write-allocate), 12 B in all.  What is updated in place has no such lines; a device
# measured without that mix of its own rates it by the copy.
ALLOCATED = 12 / 8
CORRUPT = 20.0  # times its roof, which no cache or pipe explains
LOW = 1.2  # assumed: times the library's best, which clocks and shapes move by a tenth
IN_PLACE = 0.75  # of its bytes, that an update in place touches at most: each goes both ways
FORMULAS = frozenset({"gemm", "bmm", "linear", "conv2d"})  # products that `roofline op` states


def above_the_roof(program: Program) -> Iterator[Finding]:
    """RF001 for every item above its roof; all that fits an unmeasured cache is one finding."""
    above = in_doubt(program)
    cached = [item for item in above if _fits_cache(item, program)]
    if cached:
        yield _in_cache(cached, program)
    for item in above:
        if item not in cached:
            yield _above_alone(item, program)
    for item in program.by("call"):
        if _above_the_library(item, program):
            yield _library_is_low(item, program)


def in_doubt(program: Program) -> list[Item]:
    """Calls above their roof, further than the intervals of count and ceiling reach."""
    return [item for item in program.by("call") if _above(item, program)]


def _above(item: Item, program: Program) -> bool:
    fraction = item.roof_fraction
    if fraction is None or item.binding is None or item.too_short:
        return False
    ceiling = item.binding.ceiling
    if ceiling.resource.is_pipe:  # better than the library's best is no contradiction
        fraction *= ceiling.rate / _highest(ceiling, program)
    if _fewer_threads(item, program):
        return False
    if program.roof.kind == "cpu" and ceiling.variant.access != UPDATE and _in_place(item):
        fraction /= ALLOCATED
    return fraction > ABOVE and not _within_interval(item) and not _within_bounds(item)


def _above_the_library(item: Item, program: Program) -> bool:
    """Faster than the best product that was measured, within what the pipe can do."""
    bound, fraction = item.binding, item.roof_fraction
    if bound is None or fraction is None or item.too_short or fraction <= LOW:
        return False
    return bound.ceiling.variant.reach is Reach.LIBRARY and not (
        _above(item, program) or _within_interval(item) or _within_bounds(item)
    )


def _library_is_low(item: Item, program: Program) -> Finding:
    ceiling = item.placement.bounds[0].ceiling
    unit = f"{ceiling.resource.unit}/s"
    return Finding(
        code="RF001",
        item=item.name,
        claim=(
            f"{_called(item)} ran {item.roof_fraction:.2f} times as fast as the library's best "
            f"product that was measured: for {ceiling.resource.name} that ceiling is too low"
        ),
        evidence=(
            f"{_rate(item)} where {show(ceiling.rate, unit)} were measured, {ceiling.variant}",
            f"the pipe does {show(_highest(ceiling, program), unit)} in registers",
        ),
        next_step="measure this device again, rested: its best product depends on clock and shape",
        wrong_if="a new measurement finds no faster product",
    )


def _highest(ceiling: Ceiling, program: Program) -> float:
    """The highest rate of the same work, by the library or in registers."""
    return max(
        (
            c.rate
            for c in program.roof.ceilings
            if c.resource == ceiling.resource and c.variant.way == ceiling.variant.way
        ),
        default=ceiling.rate,  # of a mean of several ceilings
    )


def _in_place(item: Item) -> bool:
    """Whether its bytes go out to where they came from, with nothing new to write to."""
    bound, ledger = item.binding, item.ledger
    if bound is None or not bound.demanded.is_boundary or ledger is None or not ledger.footprint:
        return False
    return ledger.footprint * item.calls <= IN_PLACE * bound.amount


def _fewer_threads(item: Item, program: Program) -> bool:
    """Whether the ceiling was only measured with fewer threads than the run used: then it may."""
    ceiling_threads = item.binding.ceiling.variant.threads if item.binding else None
    used = program.recorder.threads if program.recorder else None
    return bool(ceiling_threads and used and ceiling_threads < used)


def _within_interval(item: Item) -> bool:
    """Whether the ceiling's own interval reaches as far as the measured rate."""
    bound, measured_s = item.binding, item.measured_s
    spread = bound.ceiling.provenance.spread if bound else None
    if bound is None or spread is None or spread.high is None or not measured_s:
        return False
    return bound.amount / measured_s <= spread.high * ABOVE


def _within_bounds(item: Item) -> bool:
    """Whether the lower bound of what was placed lies under the roof: the count is not exact."""
    bound, measured_s = item.binding, item.measured_s
    if bound is None or not measured_s:
        return False
    entries = [
        entry
        for ledger in item.placement.counted
        for entry in ledger.entries
        if entry.resource == bound.demanded
    ]
    if all(entry.low is None for entry in entries):
        return False
    low = sum(entry.amount if entry.low is None else entry.low for entry in entries)
    return low / bound.ceiling.rate <= measured_s * ABOVE


def _in_cache(items: Sequence[Item], program: Program) -> Finding:
    cache = show_binary(_last_cache(program))
    worst = max(items, key=lambda item: item.roof_fraction or 0.0)
    who = f"{len(items)} operators" if len(items) > 1 else _called(worst)
    return Finding(
        code="RF001",
        item="" if len(items) > 1 else worst.name,
        claim=(
            f"{who} ran faster than dram allows with data that fits the {cache} L2: "
            "the dram roof does not apply"
        ),
        evidence=tuple(
            f"{_called(item)}: {_reached(item)}, "
            f"{show(item.ledger.footprint or 0 if item.ledger else 0, 'B')} of memory"
            for item in (worst, *(i for i in items if i is not worst))[:4]
        ),
        next_step="measure this device: with a ceiling of its L2 it is placed there",
        wrong_if="a counter shows that the bytes did cross dram",
        items=tuple(dict.fromkeys(item.name for item in items)) if len(items) > 1 else (),
        doubt_s=sum(item.measured_s or 0.0 for item in items) / program.conditions.steps,
    )


def _above_alone(item: Item, program: Program) -> Finding:
    bound = item.placement.bounds[0]
    ceiling = bound.ceiling
    variant = f", {ceiling.variant}" if str(ceiling.variant) else ""
    return Finding(
        code="RF001",
        item=item.name,
        claim=(
            f"{_called(item)} ran {item.roof_fraction:.2f} times as fast as its "
            f"{bound.demanded.name} roof allows, so the count, the ceiling or the time is wrong"
        ),
        evidence=(
            f"{show(bound.amount / item.calls, bound.demanded.unit)} a call at {_rate(item)}",
            f"ceiling {show(ceiling.rate, f'{ceiling.resource.unit}/s')} "
            f"({ceiling.provenance.basis}{variant})",
            *_other_pipe(item, program),
        ),
        next_step="; ".join(_questions(item)),
        wrong_if="a counter confirms the count and a new measurement confirms the ceiling",
        doubt_s=(item.measured_s or 0.0) / item.steps,
    )


def _questions(item: Item) -> Iterator[str]:
    bound = item.placement.bounds[0]
    if (item.roof_fraction or 0.0) > CORRUPT:
        yield "is its duration whole (a clock that wrapped, an event that was cut)"
    if bound.demanded.is_boundary:
        yield "did its data stay in a nearer cache"
        yield "does the operator do less than its formula says"
    function, measured = _functions(item)
    if function and function != measured:
        named = f", of {measured}," if measured else ""
        yield (
            f"is its ceiling{named} that of {function} (`roofline measure` takes each function "
            "by itself)"
        )
    if _is_product(item) and bound.demanded == VECTOR_FP32:
        yield "was it computed in tf32 (then its pipe is another)"
    if "attention" in item.name or "sdpa" in item.name:
        yield "is it causal (then half of the scores are never computed)"
    if bound.demanded.name.startswith("tensor-"):
        yield "sparse, a narrower type, or a narrower accumulator than stated"
    yield "was the device still working when the clock stopped"


def _functions(item: Item) -> tuple[str | None, str | None]:
    """The special function that the item computes, and the one that its ceiling is of."""
    bound = item.placement.bounds[0]
    if bound.demanded != SFU or item.ledger is None:
        return None, None
    return item.ledger.function(SFU), bound.ceiling.variant.way


def _other_pipe(item: Item, program: Program) -> Iterator[str]:
    """What the same flop would be under tf32, where that is the likely answer."""
    bound, tf32 = item.placement.bounds[0], program.roof.ceiling(TENSOR_TF32)
    if not (_is_product(item) and bound.demanded == VECTOR_FP32 and item.measured_s and tf32):
        return
    if tf32.resource == TENSOR_TF32:
        share = show_share(bound.amount / item.measured_s / tf32.rate)
        yield f"{share} of the tf32 ceiling, {show(tf32.rate, 'flop/s')}"


def _is_product(item: Item) -> bool:
    return item.name in PRODUCTS or item.name in FORMULAS


def _called(item: Item) -> str:
    return f"{item.name} ({item.shapes})" if item.shapes else item.name


def _rate(item: Item) -> str:
    bound = item.placement.bounds[0]
    return show(bound.amount / (item.measured_s or 1), f"{bound.demanded.unit}/s")


def _reached(item: Item) -> str:
    ceiling = item.placement.bounds[0].ceiling
    return f"{_rate(item)} where dram gives {show(ceiling.rate, 'B/s')}"


def _last_cache(program: Program) -> float:
    """Capacity of the L2 in bytes, 0 when nobody states it."""
    fact = program.device.fact("l2_capacity") if program.device else None
    return float(fact.value) if fact and isinstance(fact.value, float | int) else 0.0


def _fits_cache(item: Item, program: Program) -> bool:
    """Bytes bind, at DRAM, and all of them fit a cache that nobody measured."""
    footprint = item.ledger.footprint if item.ledger else None
    binds = item.binding is not None and item.binding.demanded == DRAM
    return binds and footprint is not None and footprint <= _last_cache(program)
