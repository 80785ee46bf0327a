"""Bytes that need not move: RF104 and RF105."""

from collections.abc import Iterator, Sequence

from roofline.device import DRAM, PCIE
from roofline.diagnosis.compute.narrow import unpacked
from roofline.diagnosis.doubts.counted import leavings
from roofline.diagnosis.rule import Finding
from roofline.diagnosis.worth import visible
from roofline.program import Item, Program
from roofline.units import number_of, show

EXCESS = 1.25  # achieved over algorithmic bytes from which re-reading is said
COPIED = 0.05  # share of device time in copies from which they are
SHOWN = 4
# Operators that move bytes and compute nothing.
CASTS = frozenset({"aten::_to_copy", "aten::to", "aten::copy_"})
COPIES = CASTS | {
    "aten::clone", "aten::contiguous", "aten::_reshape_copy", "aten::stack", "aten::cat",
    "aten::repeat", "aten::flip", "aten::roll",
}  # fmt: skip


def excess_traffic(program: Program) -> Iterator[Finding]:
    """RF104: a kernel moves its data over DRAM more often than once, as counters saw."""
    for item in program.by("call"):
        saves_s = reread_s(item, program)
        if saves_s is None or not visible(program, item):
            continue
        needed, seen = item.placement.work.algorithmic, item.placement.work.achieved
        if needed is None or seen is None:
            continue
        times = seen.demand()[DRAM] / needed.demand()[DRAM]
        now_s = (item.measured_s or 0.0) / item.steps
        saves_s = min(saves_s / item.steps, now_s)
        takes = f"the difference takes {show(saves_s, 's')} a step at the dram ceiling"
        yield Finding(
            code="RF104",
            item=item.name,
            claim=(
                f"{item.name} ({item.shapes}) moves {times:.1f} times the bytes over dram that "
                "its formula needs"
            ),
            evidence=(
                *(
                    f"{way}s {show(seen.traffic(DRAM, way) / item.calls, 'B')} a call, "
                    f"{show(needed.traffic(DRAM, way) / item.calls, 'B')} needed"
                    for way in ("read", "write")
                ),
                *(
                    (f"{show(others / item.calls, 'B')} of the writes may be another call's",)
                    if (others := _others(item, program))
                    else ()
                ),
                takes,
            ),
            timed=(takes,),
            next_step=(
                "keep what is read again on the chip: larger tiles, blocks that share operands "
                "scheduled together, whole sectors a request"
            ),
            saves_s=saves_s,
            now_s=now_s,
            then_s=(now_s - saves_s, now_s),
            wrong_if="a version that moves fewer bytes is no faster",
        )


def reread_s(item: Item, program: Program) -> float | None:
    """Time that bytes beyond the formula add at the DRAM ceiling; None: they are not in excess.

    None also where it hides behind another resource, which needs as long.  Writes in excess that
    other calls may have left in the L2 are not counted.
    """
    needed, seen = item.placement.work.algorithmic, item.placement.work.achieved
    bound = next((b for b in item.placement.bounds if b.demanded == DRAM), None)
    if needed is None or seen is None or bound is None:
        return None
    least, crossed = needed.demand().get(DRAM), seen.crossed(DRAM)
    if not least or crossed is None:
        return None
    moved = crossed - _others(item, program)
    if moved < EXCESS * least:
        return None
    others_s = max((b.least_s for b in item.placement.bounds if b is not bound), default=0.0)
    added_s = moved / bound.ceiling.rate - max(least / bound.ceiling.rate, others_s)
    return added_s if added_s > 0 else None


def _others(item: Item, program: Program) -> float:
    """B of the writes in excess that may not be its own."""
    needed, seen = item.placement.work.algorithmic, item.placement.work.achieved
    if needed is None or seen is None:
        return 0.0
    more = seen.traffic(DRAM, "write") - needed.traffic(DRAM, "write")
    return min(max(more, 0), leavings(item, program))


def copies(program: Program) -> Iterator[Finding]:
    """RF105: a visible share of the time goes into copies, of layout or of type."""
    busy_s, steps = program.whole.busy_s, program.conditions.steps
    apart = {item.signatures[0] for item in unpacked(program)}  # RF207 speaks of them
    found = [
        item
        for item in program.by("call")
        if item.name in COPIES
        and item.measured_s
        and not _linked(item)
        and item.signatures[0] not in apart
    ]
    spent_s = sum(item.measured_s or 0.0 for item in found) / steps
    if not busy_s or spent_s < COPIED * busy_s:
        return
    casts = [item for item in found if _is_cast(item, program)]
    others = [item for item in found if item not in casts]
    moved, everything = _bytes(found), _bytes(program.by("call"))
    share = f", {moved / everything:.0%} of all bytes" if everything else ""
    yield Finding(
        code="RF105",
        item="",
        items=tuple(dict.fromkeys(item.name for item in found)),
        claim=(
            f"{spent_s / busy_s:.0%} of the operators' time goes into copies that compute nothing: "
            f"{show(spent_s, 's')} a step{share}"
        ),
        evidence=(
            *_kind("into another type", casts, steps),
            *_kind("into another place or layout", others, steps),
            *(_copy(item) for item in _slowest(found)),
        ),
        next_step=(
            "keep one element type from operator to operator; let results be made in the layout "
            "that the next one reads, instead of calling contiguous(), cat or stack; or compile, "
            "which folds copies into their neighbours"
        ),
        saves_s=spent_s,
        now_s=spent_s,
        then_s=(0.0, spent_s),
        wrong_if="without them the operators that follow take as much longer",
    )


def _linked(item: Item) -> bool:
    """Whether it crosses the link to the host: that is another matter."""
    return item.ledger is not None and PCIE in item.ledger.demand()


def _is_cast(item: Item, program: Program) -> bool:
    """Whether what is written has another size than what is read, element by element."""
    traffic = item.ledger.traffic if item.ledger else None
    at = item.placed_at
    return (
        item.name in CASTS
        and traffic is not None
        and abs(traffic(at, "read") - traffic(at, "write")) > 0
    )


def _kind(what: str, items: Sequence[Item], steps: int) -> Iterator[str]:
    if items:
        spent_s, calls = sum(i.measured_s or 0.0 for i in items), sum(i.calls for i in items)
        yield f"{what}: {number_of(calls / steps, 'call')}, {show(spent_s / steps, 's')} a step"


def _copy(item: Item) -> str:
    steps = item.steps
    return (
        f"{item.name} ({item.shapes}): {number_of(item.calls / steps, 'call')}, "
        f"{show((item.measured_s or 0.0) / steps, 's')}"
    )


def _slowest(items: Sequence[Item]) -> list[Item]:
    return sorted(items, key=lambda i: i.measured_s or 0.0, reverse=True)[:SHOWN]


def _bytes(items: Sequence[Item]) -> int:
    ledgers = [item.ledger for item in items if item.ledger is not None]
    return sum(e.amount for ledger in ledgers for e in ledger.entries if e.resource.is_boundary)
