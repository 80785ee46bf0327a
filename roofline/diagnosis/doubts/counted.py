"""Do counters and formula, and counters at two boundaries, agree?  RF004 and RF005."""

from collections.abc import Iterator

from roofline.device import DRAM, L2
from roofline.diagnosis.rule import Finding
from roofline.measurement import CacheState
from roofline.program import Item, Program
from roofline.units import show
from roofline.work import Ledger

BELOW = 0.995  # of the formula's bytes, from which fewer are said
INVERTED = 1.1  # times as many bytes outside as inside
NOTED = 1_000_000  # B: code and constants that a kernel fetches beside its data are less
SHOWN = 4


def below_compulsory(program: Program) -> Iterator[Finding]:
    """RF004: fewer bytes crossed DRAM than the work needs; each is placed by what crossed."""
    found = [(item, *pair) for item in program.by("call") if (pair := _both(item)) is not None]
    fewer = [row for row in found if _total(row[2]) < BELOW * _total(row[1])]
    sampled = program.recorder is not None and bool(program.recorder.counters)
    for why, rows in _by_reason(fewer, program).items():
        if sampled and why != _TOO_MANY:  # what the caches of a running program are there for
            continue
        rows.sort(key=lambda row: row[0].measured_s or 0.0, reverse=True)
        items = [item for item, _, _ in rows]
        yield Finding(
            code="RF004",
            item="",
            items=() if why != _TOO_MANY else tuple(dict.fromkeys(item.name for item in items)),
            claim=f"{_names(items)} moved fewer bytes over dram than the formula needs: {why}",
            evidence=tuple(_fewer(*row) for row in rows[:SHOWN]),
            next_step=(
                "check the formula: sparse or repeated operands, or an operator that stops early"
                if why == _TOO_MANY
                else "nothing: bandwidth and roof are those of the bytes that crossed"
            ),
            wrong_if="counters of a larger problem fall short by the same share",
            doubt_s=_spent_s(items, program) if why == _TOO_MANY else None,
        )


_DIRTY = "the missing writes were still dirty in the L2 when the kernel ended"
_HELD = "part of its data was in the L2 already"
_TOO_MANY = "more is missing than the L2 holds, so the formula counts too much"


def leavings(item: Item, program: Program) -> float:
    """B that `item` may have written out of what other calls had left in the L2.

    As much as the L2 holds, each call; none where it was emptied before each.
    """
    recorder = program.recorder
    flushed = recorder is not None and recorder.cache is CacheState.FLUSHED
    return 0.0 if flushed else _l2(program) * item.calls


def _l2(program: Program) -> float:
    fact = program.device.fact("l2_capacity") if program.device else None
    return float(fact.value) if fact and isinstance(fact.value, int | float) else 0.0


def _both(item: Item) -> tuple[Ledger, Ledger] | None:
    """The formula's bytes and those that counters saw, where both are known at DRAM."""
    work = item.placement.work
    needed, seen = work.algorithmic, work.achieved
    if needed is None or seen is None or item.placed_at != DRAM:
        return None
    known = DRAM in needed.demand() and seen.crossed(DRAM) is not None
    return (needed, seen) if known else None


def _by_reason(
    found: list[tuple[Item, Ledger, Ledger]], program: Program
) -> dict[str, list[tuple[Item, Ledger, Ledger]]]:
    l2 = _l2(program)
    reasons: dict[str, list[tuple[Item, Ledger, Ledger]]] = {}
    for item, needed, seen in found:
        missing = (_total(needed) - _total(seen)) / item.calls
        reads_there = seen.traffic(DRAM, "read") >= BELOW * needed.traffic(DRAM, "read") > 0
        why = _TOO_MANY if missing > l2 else _DIRTY if reads_there else _HELD
        reasons.setdefault(why, []).append((item, needed, seen))
    return reasons


def _fewer(item: Item, needed: Ledger, seen: Ledger) -> str:
    crossed, calls = _total(seen), item.calls
    rate = ""
    if item.measured_s and item.roof_fraction:
        rate = f": {show(crossed / item.measured_s, 'B/s')}, {item.roof_fraction:.1%} of its roof"
    return (
        f"{item.name}: {show(crossed / calls, 'B')} a call of {show(_total(needed) / calls, 'B')}, "
        f"writes {show(seen.traffic(DRAM, 'write') / calls, 'B')} of "
        f"{show(needed.traffic(DRAM, 'write') / calls, 'B')}{rate}"
    )


def inverted_levels(program: Program) -> Iterator[Finding]:
    """RF005: more bytes crossed DRAM than the L2 was asked for."""
    found = []
    for item in program.by("call"):
        seen = item.placement.work.achieved
        demand = seen.demand() if seen else {}
        outer, inner = demand.get(DRAM), demand.get(L2)
        if outer is None or inner is None or (outer - inner) / item.calls < NOTED:
            continue
        others = min(leavings(item, program), seen.traffic(DRAM, "write") if seen else 0)
        if outer - others > INVERTED * inner:
            found.append((item, outer, inner))
    if not found:
        return
    yield Finding(
        code="RF005",
        item="",
        items=tuple(dict.fromkeys(item.name for item, _, _ in found)),
        claim=(
            f"{_names([row[0] for row in found])} moved more bytes over dram than the l2 was "
            "asked for: one of the two counts is not what it seems"
        ),
        evidence=tuple(
            f"{item.name}: {show(outer / item.calls, 'B')} over dram, "
            f"{show(inner / item.calls, 'B')} asked of the l2"
            for item, outer, inner in found[:SHOWN]
        ),
        next_step=(
            "look who else moves bytes: fetches of more than one sector for scattered reads, "
            "copy engines, another process on the device, or a page of another launch"
        ),
        wrong_if="both counters repeat alone on the device",
        doubt_s=_spent_s([item for item, _, _ in found], program),
    )


def _spent_s(items: list[Item], program: Program) -> float:
    return sum(item.measured_s or 0.0 for item in items) / program.conditions.steps


def _total(ledger: Ledger) -> int:
    return ledger.demand()[DRAM]


def _names(items: list[Item]) -> str:
    return items[0].name + (f" and {len(items) - 1} more" if len(items) > 1 else "")
