"""Operands that may be one tensor: a trace records shapes and no memory.

``mul(x, x)`` and ``mul(x, y)`` look the same there.  The ledger keeps both operands, and the line
of the second is bounded: from nothing to all of it.  Where the call was faster than two operands
can be read, but not faster than one, it was one: nothing else fits under the roof.
"""

from collections import Counter
from dataclasses import replace

from roofline import ops
from roofline.call import Call, Tensor
from roofline.device import Resource, Roof
from roofline.placement import ABOVE, place
from roofline.work import Entry, Exactness, Ledger

MAY_BE_ONE = "operands of equal shape may be one tensor: the recording names no memory"
IS_ONE = "operands of equal shape are one tensor: in the time measured two could not be read"


def bounded(call: Call, ledger: Ledger) -> Ledger:
    """`ledger` of `call` with the reads that repeat an operand, if equal ones are one, bounded."""
    once = one(call)
    if once is None:
        return ledger
    least = Counter(e.why for e in once.entries)
    lines = tuple(e if least[e.why] else _optional(e) for e in ledger.entries)
    conventions = tuple(dict.fromkeys((*ledger.conventions, MAY_BE_ONE)))
    return replace(ledger, entries=lines, conventions=conventions)


def one(call: Call) -> Ledger | None:
    """The ledger of `call` if equal operands are one; None where that makes no difference.

    Only of operators that pass once over their data: a product of a matrix with itself is rare.
    """
    counts = Counter(t for t in call.args if isinstance(t, Tensor) and t.storage is None)
    equal = [t for t, count in counts.items() if count > 1 and t.shape]
    if call.op not in ops.STREAMING or not equal:
        return None
    numbers = {tensor: at for at, tensor in enumerate(equal)}
    args = tuple(
        replace(a, storage=numbers[a]) if isinstance(a, Tensor) and a in numbers else a
        for a in call.args
    )
    ledger = ops.account(replace(call, args=args))
    conventions = tuple(dict.fromkeys((*ledger.conventions, IS_ONE)))
    return replace(ledger, conventions=conventions)


def is_one(call: Call, both: Ledger, roof: Roof, at: Resource, mean_s: float) -> bool:
    """Whether the mean time of a call leaves room for one of its equal operands only."""
    once = one(call)
    if once is None:
        return False
    both_s, once_s = (place(each, roof, at=at).roof_s or 0.0 for each in (both, once))
    return once_s <= ABOVE * mean_s < both_s


def _optional(entry: Entry) -> Entry:
    return replace(entry, exactness=Exactness.BOUNDED, low=0, high=entry.amount)
