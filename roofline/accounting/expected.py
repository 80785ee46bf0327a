"""What an account would take on a device, beside the least it could take.

    expected = start + max(bytes / ceiling, flop / ceiling, elements / pace)

for each kernel; those that follow another in one call have a shorter start.  The bytes are those
known to be executed (whole sectors, second passes), at a ceiling between the measured mixes of
reads and writes.  A kernel's start is that of a small stream.  The pace is that of PyTorch's own
kernels where they are known to be bound by something else than memory (`roofline.ops.pace`).  Start
and paces are measured by `roofline measure`; what a device does not have of them is left out, and
said.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from roofline.accounting.account import Account, Line
from roofline.accounting.paced import at_pace_s, between, units
from roofline.call import Call
from roofline.device import (
    DRAM,
    FOLLOWING,
    LAUNCH,
    READ_SHARE,
    SMALL_STREAM,
    Ceiling,
    Resource,
    Roof,
)
from roofline.ops.pace import pace
from roofline.ops.pace.way import PLAIN, Pace
from roofline.placement import place
from roofline.provenance import Spread
from roofline.work import Ledger

Start = tuple[float, tuple[str, ...]]  # in s, and what is lacking for it
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
    how = own if call is None else pace(call, units(under.middle))
    middle = _once(ledger, executed, how, under.middle)
    if middle is None:
        return None
    ends = [_once(ledger, executed, how, roof) for roof in (under.fast, under.slow)]
    fast, slow = (middle if end is None else end for end in ends)
    return replace(middle, interval_s=(fast.seconds, slow.seconds))


def _once(ledger: Ledger, executed: Ledger | None, how: Pace, roof: Roof) -> Expected | None:
    """The call's own kernel, which has its ledger, then those that it starts after that."""
    placed = place(ledger, roof)
    if placed.roof_s is None:
        return None
    bounds = {b.demanded.name: b.least_s for b in placed.bounds if b.demanded != DRAM}
    parts = [
        _kernel(how, _operands(ledger, executed), bounds, _start(roof, SMALL_STREAM), roof),
        *(_kernel(one, (0, 0), {}, _start(roof, FOLLOWING), roof) for one in how.chain[1:]),
    ]
    whole = together(parts)
    return None if whole is None else replace(whole, least_s=placed.roof_s)


def _kernel(
    how: Pace, operands: tuple[int, int], bounds: dict[str, float], start: Start, roof: Roof
) -> Expected:
    start_s, lacking = start
    moved = operands[0] + how.read, operands[1] + how.written
    bounds = dict(bounds)
    if (memory_s := _memory_s(moved, roof)) is not None:
        bounds[DRAM.name] = memory_s
    if how.way:
        paced_s = at_pace_s(how, roof)
        if paced_s is None:
            lacking = (*lacking, NO_PACE.format(how.way))
        else:
            bounds[how.way] = paced_s
    by = max(bounds, key=bounds.__getitem__, default="nothing")
    seconds = start_s + bounds.get(by, 0.0)
    return Expected(
        seconds=seconds,
        interval_s=(seconds, seconds),
        least_s=0.0,
        start_s=start_s,
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


def _start(roof: Roof, way: str) -> Start:
    """What a kernel takes before its bytes; one that follows at most what the first one does."""
    there = {c.variant.way: 1 / c.rate for c in _all(roof, LAUNCH)}
    found = there.get(way, there.get(SMALL_STREAM))
    return (0.0, (NO_START,)) if found is None else (found, ())


def _operands(ledger: Ledger, executed: Ledger | None) -> tuple[int, int]:
    """Bytes read and written over DRAM: as executed where that is known."""
    known = executed is not None and any(e.resource == DRAM for e in executed.entries)
    source = executed if known and executed is not None else ledger
    return source.traffic(DRAM, "read"), source.traffic(DRAM, "write")


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
    return total * between(below[-1], above[0], share)


def _all(roof: Roof, resource: Resource) -> list[Ceiling]:
    return [c for c in roof.ceilings if c.resource == resource and not c.variant.sustained]
