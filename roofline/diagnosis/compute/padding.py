"""RF202: matrix units run whole tiles, of which the shapes use little."""

from collections.abc import Iterator
from math import prod

from roofline.diagnosis.prediction import down_to
from roofline.diagnosis.rule import Finding
from roofline.ops.attending.attention_executed import AGAIN, THRICE, TWICE
from roofline.ops.products.matmul_executed import whole_tiles
from roofline.program import Item, Program
from roofline.units import number_of, show

PADDED = 2.0  # assumed: executed over useful flop from which padding is worth a line
# Tensor flop that an attention kernel runs over its formula's without any padding.
AGAIN_AND_AGAIN = {THRICE: 3.0, AGAIN: 5 / 4, TWICE: 7 / 4}
WORTH = 0.05  # share of a step that must go into them before it is said


def padding(program: Program) -> Iterator[Finding]:
    """RF202: matrix units run whole tiles, of which the shapes use little."""
    busy_s = program.whole.busy_s
    wasteful = [(ratio, item) for item in program.by("call") if (ratio := _padded(item)) >= PADDED]
    spent_s = sum(item.measured_s or 0.0 for _, item in wasteful) / program.conditions.steps
    if not wasteful or not busy_s or spent_s < WORTH * busy_s:
        return
    wasteful.sort(key=lambda pair: pair[1].measured_s or 0.0, reverse=True)
    bound = [item for _, item in wasteful if item.binding and item.binding.demanded.is_pipe]
    saves_s = sum(max(item.lost_s or 0.0, 0.0) for item in bound) / program.conditions.steps
    spent = f"{show(spent_s, 's')} a step; {len(bound)} of them bound by a pipe"
    yield Finding(
        code="RF202",
        item="",
        claim=(
            f"{number_of(len(wasteful), 'matrix product')} run{'s' if len(wasteful) == 1 else ''} "
            f"up to {max(ratio for ratio, _ in wasteful):.0f} times the flop their shapes need: "
            "the tiles are mostly padding"
        ),
        evidence=(
            *(
                f"{item.name} ({item.shapes}): {ratio:.1f} times{_filled(item, program)}"
                for ratio, item in wasteful[:4]
            ),
            spent,
        ),
        timed=(spent,),
        next_step=(
            "fill the tiles: batch rows up to the tile's height (they cost nothing until then), "
            "or pad sizes to multiples of 8 or 16 yourself"
        ),
        items=tuple(dict.fromkeys(item.name for _, item in wasteful)),
        saves_s=saves_s,
        now_s=spent_s,
        then_s=down_to(spent_s - saves_s, spent_s),
        wrong_if="a product with full tiles takes longer",
    )


def _filled(item: Item, program: Program) -> str:
    """The nearest sizes that fill the tiles, and what they cost."""
    call = program.calls.get(item.signatures[0])
    sizes = None if call is None else whole_tiles(call)
    if sizes is None:
        return ""
    (m, n, k), (rows, cols, inner) = sizes
    return f"; {m} x {n} x {k} runs as {rows} x {cols} x {inner}, which costs nothing more"


def _padded(item: Item) -> float:
    """Executed over algorithmic flop on the tensor pipes; 1 where either is unknown.

    What an attention kernel runs again, or in three parts, fills no tile.
    """
    work = item.placement.work
    if work.executed is None or work.algorithmic is None:
        return 1.0
    needed = {r: n for r, n in work.algorithmic.demand().items() if r.name.startswith("tensor-")}
    ran = work.executed.demand()
    ratios = [ran[r] / n for r, n in needed.items() if n and r in ran]
    again = prod(AGAIN_AND_AGAIN.get(words, 1.0) for words in work.executed.conventions)
    return max(ratios, default=1.0) / again
