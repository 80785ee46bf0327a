"""What an account would take on a device, beside the least it could take.

    expected = start + max(bytes / ceiling, flop / ceiling, elements / pace)

for each kernel.  The bytes are those known to be executed (whole sectors, second passes), at a
ceiling between the measured mixes of reads and writes.  A kernel's start is that of a small stream.
The pace is that of PyTorch's own kernels where they are known to be bound by something else than
memory (`roofline.ops.pace`).  Start and paces are measured by `roofline measure`; what a device
does not have of them is left out, and said.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from roofline.accounting.account import Account, Line
from roofline.call import Call
from roofline.device import (
    DRAM,
    ELEMENTS,
    LAUNCH,
    READ_SHARE,
    SMALL_STREAM,
    Ceiling,
    Resource,
    Roof,
    rows_of,
)
from roofline.ops.pace import PLAIN, Pace, pace
from roofline.placement import place
from roofline.provenance import Spread
from roofline.work import Ledger

MIXES = ("read", "triad", "copy", "write")  # that write elsewhere than they read
NO_START = "the start of a kernel is not measured on this device"
NO_PACE = "the pace of {} is not measured on this device: taken as bound by memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The time of some kernels, one after the other, their data in memory before each."""

    seconds: float
    interval_s: tuple[float, float]  # within the 95 % intervals of the rates; not of the model
    least_s: float  # at the roof, without starts and paces
    start_s: float  # of `seconds`, what no byte explains
    by: str  # what most of the time is bound by: a resource, or a way of PyTorch's kernels
    lacking: tuple[str, ...] = ()  # what the device's measurement does not hold, in words


NOTHING = Expected(seconds=0.0, interval_s=(0.0, 0.0), least_s=0.0, start_s=0.0, by="nothing")


@dataclass(frozen=True, slots=True)
class Roofs:
    """A roof, and the same at the upper and the lower ends of its rates' intervals."""

    middle: Roof
    fast: Roof
    slow: Roof


def roofs(roof: Roof) -> Roofs:
    """Rates without an interval are the same in all three."""
    return Roofs(
        roof,
        _at(roof, lambda spread: spread.high),
        _at(roof, lambda spread: spread.low),
    )


def expected(account: Account, lines: Iterable[Line], roof: Roof) -> Expected | None:
    """Of the calls that the formula asks for; None where nothing of them is accounted for."""
    parts: list[Expected] = []
    under = roofs(roof)
    for line in lines:
        signature = account.signatures[line.signature]
        ledger = signature.ledger
        if line.recomputed or ledger is None:
            continue
        if not ledger.entries and not ledger.unaccounted:
            parts.append(NOTHING)  # a view, say
            continue
        once = of_call(signature.call, ledger, signature.executed, under)
        if once is not None:
            parts.append(_times(once, line.calls))
    return together(parts)


def of_call(
    call: Call | None,
    ledger: Ledger,
    executed: Ledger | None,
    under: Roofs,
    own: Pace = PLAIN,
) -> Expected | None:
    """Of one call; without one, of one kernel whose ledger is known and that passes as `own`."""
    how = own if call is None else pace(call)
    moved = _moved(ledger, executed, how)
    middle = _once(ledger, moved, how, under.middle)
    if middle is None:
        return None
    ends = [_once(ledger, moved, how, roof) for roof in (under.fast, under.slow)]
    fast, slow = (middle if end is None else end for end in ends)
    return replace(middle, interval_s=(fast.seconds, slow.seconds))


def _once(ledger: Ledger, moved: tuple[int, int], how: Pace, roof: Roof) -> Expected | None:
    placed = place(ledger, roof)
    if placed.roof_s is None:
        return None
    start_s, lacking = _start(roof)
    bounds = {b.demanded.name: b.least_s for b in placed.bounds if b.demanded != DRAM}
    if (memory_s := _memory_s(moved, roof)) is not None:
        bounds[DRAM.name] = memory_s
    if how.way:
        at_pace_s = _at_pace_s(how, roof)
        if at_pace_s is None:
            lacking = (*lacking, NO_PACE.format(how.way))
        else:
            bounds[how.way] = at_pace_s
    by = max(bounds, key=bounds.__getitem__, default="nothing")
    seconds = start_s * how.kernels + bounds.get(by, 0.0)
    return Expected(
        seconds=seconds,
        interval_s=(seconds, seconds),
        least_s=placed.roof_s,
        start_s=start_s * how.kernels,
        by=by,
        lacking=lacking,
    )


def _at(roof: Roof, end: Callable[[Spread], float | None]) -> Roof:
    def moved(one: Ceiling) -> Ceiling:
        spread = one.provenance.spread
        rate = None if spread is None else end(spread)
        return one if rate is None else replace(one, rate=rate)

    return replace(roof, ceilings=tuple(moved(one) for one in roof.ceilings))


def together(parts: Sequence[Expected]) -> Expected | None:
    """One after the other."""
    if not parts:
        return None
    return Expected(
        seconds=sum(p.seconds for p in parts),
        interval_s=(sum(p.interval_s[0] for p in parts), sum(p.interval_s[1] for p in parts)),
        least_s=sum(p.least_s for p in parts),
        start_s=sum(p.start_s for p in parts),
        by=max(parts, key=lambda p: p.seconds).by,
        lacking=tuple(dict.fromkeys(text for p in parts for text in p.lacking)),
    )


def _times(once: Expected, calls: int) -> Expected:
    return replace(
        once,
        seconds=once.seconds * calls,
        interval_s=(once.interval_s[0] * calls, once.interval_s[1] * calls),
        least_s=once.least_s * calls,
        start_s=once.start_s * calls,
    )


def _start(roof: Roof) -> tuple[float, tuple[str, ...]]:
    found = next((c for c in _all(roof, LAUNCH) if c.variant.way == SMALL_STREAM), None)
    return (0.0, (NO_START,)) if found is None else (1 / found.rate, ())


def _moved(ledger: Ledger, executed: Ledger | None, how: Pace) -> tuple[int, int]:
    """Bytes read and written over DRAM: as executed where that is known, and passed again."""
    known = executed is not None and any(e.resource == DRAM for e in executed.entries)
    source = executed if known and executed is not None else ledger
    return (
        source.traffic(DRAM, "read") + how.read,
        source.traffic(DRAM, "write") + how.written,
    )


def _memory_s(moved: tuple[int, int], roof: Roof) -> float | None:
    """Time of these bytes, between the two measured mixes that are nearest on either side.

    Turning a memory from reads to writes costs time, so it is the time of a byte that is taken as
    linear in the share of reads, not its rate.
    """
    total = sum(moved)
    if not total:
        return None
    share = moved[0] / total
    mixes = sorted(
        (READ_SHARE[c.variant.access], 1 / c.rate)
        for c in _all(roof, DRAM)
        if c.variant.access in MIXES and c.variant.way is None
    )
    below = [m for m in mixes if m[0] <= share]
    above = [m for m in mixes if m[0] >= share]
    if not below or not above:
        ceiling = roof.ceiling(DRAM, share)
        return None if ceiling is None else total / ceiling.rate
    return total * _between(below[-1], above[0], share)


def _at_pace_s(how: Pace, roof: Roof) -> float | None:
    """Time of the elements at the pace of their way, between the lengths of rows it was taken at.

    The time of a row is a part of its own and a part for each element: linear between two lengths.
    Shorter rows than any cost as much as the shortest; longer ones go at the pace of the longest.
    """
    there = {c.variant.way: c.rate for c in _all(roof, ELEMENTS) if c.variant.way}
    if how.row is None:
        rate = next((there[name] for name in how.names if name in there), None)
        return None if rate is None else how.elements / rate
    rows = next(filter(None, (_rows(there, name) for name in how.names)), None)
    if rows is None:
        return None
    below = [r for r in rows if r[0] <= how.row]
    above = [r for r in rows if r[0] >= how.row]
    if not below:
        row_s = rows[0][1]
    elif not above:
        row_s = rows[-1][1] * how.row / rows[-1][0]
    else:
        row_s = _between(below[-1], above[0], float(how.row))
    return row_s * how.elements / how.row


def _rows(there: Mapping[str, float], name: str) -> list[tuple[float, float]]:
    """Lengths at which this way was measured, each with the seconds of one row."""
    stem = rows_of(name, 0).removesuffix("0")
    found = [(int(way.removeprefix(stem)), rate) for way, rate in there.items()
             if way.startswith(stem)]  # fmt: skip
    return sorted((float(length), length / rate) for length, rate in found)


def _between(one: tuple[float, float], other: tuple[float, float], at: float) -> float:
    if one[0] == other[0]:
        return one[1]
    return one[1] + (other[1] - one[1]) * (at - one[0]) / (other[0] - one[0])


def _all(roof: Roof, resource: Resource) -> list[Ceiling]:
    return [c for c in roof.ceilings if c.resource == resource and not c.variant.sustained]
