"""Operands that may be one tensor: a trace records shapes and no memory.

``mul(x, x)`` and ``mul(x, y)`` look the same there.  The ledger keeps both operands, and the line
of the second is bounded: from nothing to all of it.  Where the call was faster than two operands
can be read, were the last cache full of them, but not faster than one, it was one: nothing else
fits under the roof.  A cache that may have held an operand explains the time as well.  Each call is
settled by its own time: calls of one signature need not be given the same.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from roofline import ops
from roofline.call import Call, Tensor
from roofline.device import DRAM, HIERARCHY, Resource, Roof
from roofline.placement import ABOVE, place
from roofline.work import Entry, Exactness, Ledger

MAY_BE_ONE = "operands of equal shape may be one tensor: the recording names no memory"
# What is said of a call whose time settled it, by how many of its equal operands are one.
ALL, TWO = 0, 2
IS_ONE = {
    ALL: "operands of equal shape are one tensor: in the time measured two could not be read",
    TWO: "two operands of equal shape are one tensor: in the time measured all could not be read",
}
_IN_SOME = re.compile(r"in (\d+) of (\d+) calls ")
# In-place updates of an optimizer: what they change and what they change it by are different by
# definition.  Of addcmul_ (a second moment) the two factors alone may be one.
_APART = {"aten::addcdiv_": 3, "aten::lerp_": 3, "aten::addcmul_": 1}  # so many operands, from 0


@dataclass(frozen=True, slots=True)
class Settled:
    """So many equal operands, `ALL` or the last `TWO`, are one in `calls` of `of` calls."""

    which: int
    calls: int
    of: int

    @property
    def said(self) -> str:
        """In words."""
        some = f"in {self.calls} of {self.of} calls " if self.calls < self.of else ""
        return some + IS_ONE[self.which]


def bounded(call: Call, ledger: Ledger) -> Ledger:
    """`ledger` of `call` with the reads that repeat an operand, if equal ones are one, bounded."""
    once = one(call)
    if once is None:
        return ledger
    least = Counter(e.why for e in once.entries)
    lines = tuple(e if least[e.why] else _optional(e, e.amount) for e in ledger.entries)
    conventions = tuple(dict.fromkeys((*ledger.conventions, MAY_BE_ONE)))
    return replace(ledger, entries=lines, conventions=conventions)


def one(call: Call, which: int = ALL) -> Ledger | None:
    """The ledger of `call` if equal operands, `ALL` or the last `TWO`, are one.

    None where that makes no difference.  Only of operators that pass once over their data: a
    product of a matrix with itself is rare.
    """
    if call.op not in ops.STREAMING:
        return None
    merged: dict[int, int] = {}  # argument -> number of its memory
    for number, places in enumerate(_equal(call)):
        merged |= dict.fromkeys(places[-which:], number)
    if not merged:
        return None
    args = tuple(
        replace(a, storage=merged[at]) if isinstance(a, Tensor) and at in merged else a
        for at, a in enumerate(call.args)
    )
    ledger = ops.account(replace(call, args=args))
    conventions = tuple(dict.fromkeys((*ledger.conventions, IS_ONE[which])))
    return replace(ledger, conventions=conventions)


def in_some(call: Call, both: Ledger, settled: Settled) -> Ledger:
    """The mean call: equal operands are one in those calls whose time says so.

    The others may be either, so what those read again is bounded.
    """
    once = one(call, settled.which)
    if once is None or settled.calls == settled.of:
        return once or both
    least = Counter(e.why for e in once.entries)
    open_ = 1 - settled.calls / settled.of
    lines = tuple(
        e if least[e.why] else _optional(e, round(open_ * (e.amount if e.high is None else e.high)))
        for e in both.entries
    )
    return replace(both, entries=lines, conventions=(*both.conventions, settled.said))


def are_one(
    call: Call, both: Ledger, roof: Roof, at: Resource, times_s: Mapping[float, int]
) -> Settled | None:
    """In how many calls the times say that equal operands are one; None is open for all.

    The fewest operands that explain it.  Open as well where the roof names no cache: its size is
    what might explain the times otherwise.  `times_s` are how many calls took which time.
    """
    cached = _last_cache(roof)
    bound = next((b for b in place(both, roof, at=at).bounds if b.demanded == DRAM), None)
    if cached is None or bound is None:
        return None
    most_s = (bound.amount - cached) / bound.ceiling.rate / ABOVE
    several = any(len(places) > 2 for places in _equal(call))
    for which in (TWO, ALL) if several else (ALL,):
        once = one(call, which)
        if once is None or once.footprint is None or once.footprint <= cached:
            continue
        least_s = (place(once, roof, at=at).roof_s or 0.0) / ABOVE
        fits = sum(n for time_s, n in times_s.items() if least_s <= time_s < most_s)
        if fits:
            return Settled(which, fits, sum(times_s.values()))
    return None


def settled_in(ledger: Ledger) -> Settled | None:
    """What `ledger` says was settled, for another counting of the same calls."""
    for text in ledger.conventions:
        for which, said in IS_ONE.items():
            if text == said:
                return Settled(which, 1, 1)
            if text.endswith(said) and (found := _IN_SOME.match(text)):
                return Settled(which, int(found[1]), int(found[2]))
    return None


def _equal(call: Call) -> Iterator[list[int]]:
    """The arguments of each kind of operand that comes several times and may be one."""
    places: dict[Tensor, list[int]] = {}
    for at, argument in enumerate(call.args):
        if not isinstance(argument, Tensor) or argument.storage is not None:
            continue
        if argument.shape and at >= _APART.get(call.op, 0):
            places.setdefault(argument, []).append(at)
    return (each for each in places.values() if len(each) > 1)


def _last_cache(roof: Roof) -> int | None:
    """Bytes that the largest cache holds; None is not known."""
    held = [c.capacity for c in roof.ceilings if c.resource in HIERARCHY[:-1] and c.capacity]
    held += [
        int(fact.value)
        for fact in roof.facts
        if fact.name in ("l2_capacity", "l3_capacity") and isinstance(fact.value, int | float)
    ]
    return max(held, default=None)


def _optional(entry: Entry, amount: int) -> Entry:
    """`entry` as the mean of calls, which may lack it or not."""
    high = entry.amount if entry.high is None else entry.high
    return replace(entry, amount=amount, exactness=Exactness.BOUNDED, low=0, high=high)
