"""RF106: data picked by an index, which memory moves in whole sectors or lines."""

import re
from collections.abc import Iterator

from roofline.diagnosis.prediction import to_roof_s
from roofline.diagnosis.rule import Finding
from roofline.diagnosis.worth import visible
from roofline.program import Item, Program
from roofline.program.chains.chain import NEAR
from roofline.units import show
from roofline.work import Ledger

PICKED = 0.2  # share of an operator's bytes
UNIT = {"gpu": 32, "cpu": 64}  # B that memory moves at least: a sector, a cache line
_HITS = re.compile(r"(\d+) hits of (\d+) B$")  # as ops.lines.Rows words them


def irregular(program: Program) -> Iterator[Finding]:
    """RF106: rows picked by an index, at an effective bandwidth below the roof."""
    for item in program.by("call"):
        fraction, bound = item.roof_fraction, item.binding
        if bound is None or fraction is None or item.too_short or fraction >= NEAR:
            continue
        if not (bound.demanded.is_boundary and picks(item) and visible(program, item)):
            continue
        row = _row(item.ledger)
        unit = UNIT[program.roof.kind]
        crumbs = row is not None and row < unit
        now_s = (item.measured_s or 0.0) / item.steps
        roof_s = (item.roof_s or 0.0) / item.steps
        yield Finding(
            code="RF106",
            item=item.name,
            claim=(
                f"{item.name} ({item.shapes}) picks its data by an index and reaches "
                f"{show(bound.amount / (item.measured_s or 1.0), 'B/s')} of useful bytes, "
                f"{fraction:.0%} of its {bound.demanded.name} roof"
            ),
            evidence=(
                f"{row} B a hit" if row is not None else "hits of several sizes",
                *(_crumbs(row, unit, bound.ceiling.rate) if crumbs and row else ()),
            ),
            next_step=(
                "make hits wider or neighbours: sort or group the indices, keep what is picked "
                "together side by side (rows of a multiple of "
                f"{unit} B), or fuse the picking into what reads its result"
            ),
            saves_s=now_s - roof_s,
            now_s=now_s,
            then_s=to_roof_s([item], now_s),
            wrong_if="with sorted indices it is no faster",
        )


def picks(item: Item) -> bool:
    """Whether a fifth of an item's bytes or more are rows or elements picked by an index.

    A 4 B element comes with 8 B of index and is written again: a quarter.
    """
    entries = item.ledger.entries if item.ledger else ()
    moved = sum(e.amount for e in entries if e.resource.is_boundary)
    picked = sum(e.amount for e in entries if _HITS.search(e.why))
    return bool(moved) and picked >= PICKED * moved


def _row(ledger: Ledger | None) -> int | None:
    sizes = {
        int(match[2])
        for e in (ledger.entries if ledger else ())
        if (match := _HITS.search(e.why)) is not None
    }
    return sizes.pop() if len(sizes) == 1 else None


def _crumbs(row: int, unit: int, rate: float) -> Iterator[str]:
    yield (
        f"memory moves {unit} B at least: if no two hits share them, {row} of {unit} B are of use, "
        f"and {show(rate * row / unit, 'B/s')} is the most for that part"
    )
