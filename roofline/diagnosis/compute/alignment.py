"""RF208: matrix products whose sizes no wide load fits."""

from collections.abc import Iterator

from roofline.call import Tensor
from roofline.diagnosis.prediction import to_roof_s
from roofline.diagnosis.rule import Finding
from roofline.diagnosis.worth import visible
from roofline.ops.dtype import size
from roofline.ops.products.matmul_executed import whole_tiles
from roofline.program import Item, Program
from roofline.program.chains import NEAR
from roofline.units import show

WIDE = 16  # B of one load of a thread, and what tensor cores' fast paths ask rows to be aligned to
GOOD = 64  # elements: a multiple that fills tiles as well


def unaligned(program: Program) -> Iterator[Finding]:
    """RF208: a product below its roof with rows that do not begin at a multiple of 16 B."""
    for item in program.by("call"):
        odd, unit = odd_sizes(item, program)
        if odd and visible(program, item):
            yield _odd(item, odd, unit, item.roof_fraction or 0.0)


def odd_sizes(item: Item, program: Program) -> tuple[dict[str, int], int]:
    """Sizes of a product below its roof that are no multiple of so many elements."""
    call, fraction = program.calls.get(item.signatures[0]), item.roof_fraction
    if call is None or fraction is None or item.too_short or fraction >= NEAR:
        return {}, 1
    sizes = whole_tiles(call)
    if sizes is None:
        return {}, 1
    dtype = next(t.dtype for t in call.args if isinstance(t, Tensor) and len(t.shape) > 1)
    unit = int(WIDE / size(dtype))
    _, n, k = sizes[0]
    odd = {name: value for name, value in (("N", n), ("K", k)) if value % unit}
    return (odd if odd and min(odd.values()) > unit else {}), unit


def _odd(item: Item, odd: dict[str, int], unit: int, fraction: float) -> Finding:
    now_s = (item.measured_s or 0.0) / item.steps
    better = {name: -(-value // GOOD) * GOOD for name, value in odd.items()}
    more = 1.0
    for name, value in odd.items():
        more *= better[name] / value
    roof_s = (item.roof_s or 0.0) / item.steps
    then_s = to_roof_s([item], now_s)
    named = " and ".join(f"{name} = {value}" for name, value in odd.items())
    return Finding(
        code="RF208",
        item=item.name,
        claim=(
            f"{item.name} ({item.shapes}) reaches {fraction:.0%} of its roof with {named}, no "
            f"multiple of {unit}: its rows do not begin at multiples of {WIDE} B"
        ),
        evidence=tuple(
            f"{name} = {better[name]} is the next multiple of {GOOD}: "
            f"{better[name] / value - 1:.1%} more flop, {show(roof_s * better[name] / value, 's')} "
            "a step at the roof"
            for name, value in odd.items()
        ),
        next_step=(
            "pad the weights once, where they are made (a vocabulary of 50304 instead of 50257), "
            f"to a multiple of {GOOD}"
        ),
        saves_s=max(now_s - roof_s * more, 0.0),
        now_s=now_s,
        then_s=None if then_s is None else (min(then_s[0] * more, now_s), now_s),
        wrong_if="the padded product is no faster",
    )
