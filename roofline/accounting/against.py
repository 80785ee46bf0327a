"""Our flop beside those of torch's FlopCounterMode, operator by operator, each difference in words.

Both see the same calls of the same run: torch's mode is entered inside ours, and what it counts
while a call runs is its count of that call.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch.utils._python_dispatch import _pop_mode_temporarily
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from roofline import ops
from roofline.accounting.account import Account
from roofline.call import Call, Tensor
from roofline.ops.attending.attention import CAUSAL, WINDOW
from roofline.runfile import Signature
from roofline.work import Ledger

OUTSIDE = "torch counts matrix products, convolutions and attention, and no other arithmetic"
NO_FORMULA = "torch has no formula for it and counts 0"
CPU_ATTENTION = "torch has no formula for attention on the CPU and counts 0"
SQUARE = "torch ignores the causal mask and counts every score"
FIVE = "torch counts the scores that the backward computes again; here those are executed flop"
LAYOUT = "torch reads this operator's B,S,H,D as B,H,S,D"
GROUPS = "torch does not divide the products of a weight's gradient by the groups"
PARTS = "torch counts what it takes this operator apart into"
AGAIN = "torch counts what checkpointing computes a second time; here that is executed flop"
UNSEEN = "torch's counter cannot look at nested tensors or at operators that take functions"
ZEROS = "torch counts the zeros of sparse operands as well"
COMPLEX = "torch counts a complex multiply-add as 2 flop; it is 8 real ones"
NOBODY = "nothing here accounts for it"
UNEXPLAINED = "not explained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One operator, all of its calls."""

    operator: str
    calls: int
    ours: int | None  # algorithmic flop; None where nothing accounts for it
    theirs: int
    why: tuple[str, ...]  # empty where the counts agree


class _Nowhere:
    """In the place of torch's module tracker, which fails under inference_mode: no module."""

    parents = frozenset({"Global"})

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def _counter() -> FlopCounterMode:
    counter = FlopCounterMode(display=False)
    counter.mod_tracker = _Nowhere()
    return counter


@dataclass(slots=True)
class Beside:
    """Torch's counter, and what it counted of each of our signatures."""

    counter: FlopCounterMode = field(default_factory=_counter)
    counted: dict[int, int] = field(default_factory=dict)  # flop of all calls, by signature

    def total(self) -> int:
        """What it has counted so far."""
        return int(self.counter.get_total_flops())

    @contextmanager
    def aside(self) -> Iterator[Any]:
        """Torch's mode out of the way: it fails on nested tensors and operators of functions."""
        with _pop_mode_temporarily() as mode:
            yield mode

    def add(self, signature: int, flop: int) -> None:
        """Attribute to a signature what was counted during one of its calls."""
        self.counted[signature] = self.counted.get(signature, 0) + flop


def differences(account: Account, theirs: dict[int, int]) -> tuple[Difference, ...]:
    """Operators on which the counts differ first, then the others; most flop first in each."""
    calls: dict[int, int] = {}
    again: set[int] = set()
    asked: dict[int, int] = {}
    for line in account.lines:
        calls[line.signature] = calls.get(line.signature, 0) + line.calls
        counted = 0 if line.recomputed else line.calls
        asked[line.signature] = asked.get(line.signature, 0) + counted
        again |= {line.signature} if line.recomputed else set()
    groups: dict[str, list[int]] = {}
    for at in calls:
        groups.setdefault(account.signatures[at].name, []).append(at)
    made = [
        _difference(account, name, ats, calls, asked, again, theirs) for name, ats in groups.items()
    ]
    shown = [d for d in made if d.ours or d.theirs or d.why]
    return tuple(sorted(shown, key=lambda d: (not d.why, -max(d.ours or 0, d.theirs))))


def _difference(
    account: Account,
    name: str,
    ats: Sequence[int],
    calls: dict[int, int],
    asked: dict[int, int],
    again: set[int],
    theirs: dict[int, int],
) -> Difference:
    ours: int | None = 0
    why: dict[str, None] = {}
    for at in ats:
        signature = account.signatures[at]
        ledger = signature.ledger
        if ledger is None or ledger.unaccounted:
            ours = None
        elif ours is not None:
            ours += ledger.flop * asked[at]
        one = theirs.get(at, 0) / calls[at]
        why |= dict.fromkeys(explain(signature, round(one)))
        if at in again and one:
            why |= {AGAIN: None}
    total = sum(theirs.get(at, 0) for at in ats)
    return Difference(
        operator=name, calls=sum(calls[at] for at in ats), ours=ours, theirs=total, why=tuple(why)
    )


def explain(signature: Signature, theirs: int) -> tuple[str, ...]:
    """Why torch counts `theirs` for one call, where we count something else."""
    ledger, call = signature.ledger, signature.call
    if ledger is None or ledger.unaccounted:
        return (NOBODY,)
    if ledger.flop == theirs:
        return ()
    if call is None or call.op.startswith("higher_order::"):
        return (UNEXPLAINED,) if theirs else (UNSEEN,)
    if not theirs:
        return (_nothing(call),)
    return tuple(_more(call, ledger, theirs)) or (UNEXPLAINED,)


def _more(call: Call, ledger: Ledger, theirs: int) -> Iterator[str]:
    """What torch counts and we do not, or the other way round."""
    if any(tensor.layout != "strided" for tensor in call.tensors):
        yield from (ZEROS,) if theirs > ledger.flop else ()
    elif any(tensor.dtype.startswith("complex") for tensor in call.tensors):
        yield from (COMPLEX,) if ledger.flop == 4 * theirs else ()
    elif "attention" in call.op:
        yield from _attention(call, ledger, theirs)
    else:
        yield from _products(call, ledger, theirs)


def _nothing(call: Call) -> str:
    if "for_cpu" in call.op:
        return CPU_ATTENTION
    return NO_FORMULA if call.op in ops.PRODUCTS else OUTSIDE


def _attention(call: Call, ledger: Ledger, theirs: int) -> Iterator[str]:
    """Torch's own formula with our call's shapes, then what in it is not ours."""
    backward = "backward" in call.op
    q, k, v = (call.arg(at + backward) for at in range(3))
    if not (isinstance(q, Tensor) and isinstance(k, Tensor) and isinstance(v, Tensor)):
        return
    batch, heads, queries, size = q.shape[-4:] if len(q.shape) == 4 else (1, *q.shape[-3:])
    keys, out = k.shape[-2], v.shape[-1]
    of_q, of_v = (3, 2) if backward else (1, 1)
    if theirs != 2 * batch * heads * queries * keys * (of_q * size + of_v * out):
        return
    if {CAUSAL, WINDOW} & set(ledger.conventions):
        yield SQUARE
    if backward:
        yield FIVE
    if "_flash_attention_" in call.op and "scaled" not in call.op:
        yield LAYOUT


def _products(call: Call, ledger: Ledger, theirs: int) -> Iterator[str]:
    """Ledgers say their products first; what torch leaves out comes after."""
    lines = [e for e in ledger.entries if e.resource.unit == "flop"]
    groups = call.arg(9) if call.op == "aten::convolution_backward" else 1
    more = groups - 1 if isinstance(groups, int) else 0
    more *= sum(e.amount for e in lines if e.why.startswith("dW"))
    sums = [more + sum(e.amount for e in lines[: at + 1]) for at in range(len(lines))]
    if theirs in sums:
        if more:
            yield GROUPS
        for entry in lines[sums.index(theirs) + 1 :]:
            yield f"torch leaves out: {entry.why}"
    elif not _registered(call.op):
        yield PARTS


def _registered(op: str) -> bool:
    """Whether torch has a formula for the operator itself."""
    return any(f"aten::{getattr(f, '__name__', '')}" == op for f in flop_registry)
