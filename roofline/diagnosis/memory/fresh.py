"""RF103: results in memory that the system has just handed out, and had to clear."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from roofline.diagnosis.prediction import down_to
from roofline.diagnosis.rule import Finding
from roofline.diagnosis.worth import visible
from roofline.program import Item, Program
from roofline.units import number_of, show

PAGE = 4096  # B, the unit in which the kernel hands out fresh memory
FRESH = 0.5  # assumed: from this share of an output's pages faulted, its memory was fresh
ALL = 1.05  # pages beyond the outputs' own (partly filled ones are counted whole) are of workspace


def fresh_memory(program: Program) -> Iterator[Finding]:
    """RF103: outputs land in memory the kernel has to hand out and clear first."""
    fresh = [item for item in program.by("operator") if _fresh(item, program)]
    if not fresh:
        return
    steps = program.conditions.steps
    fault = _fault(program)
    cost_s = None if fault is None else _cost_s(fresh, fault.s) / steps
    most_s = None if fault is None else _cost_s(fresh, fault.high_s) / steps
    now_s = sum(item.measured_s or 0.0 for item in fresh) / steps
    faults = sum(item.page_faults or 0 for item in fresh)
    price = "" if fault is None or cost_s is None else _price(faults / steps, fault, cost_s)
    yield Finding(
        code="RF103",
        item="",
        claim=(
            f"{number_of(len(fresh), 'operator')} write{'s' if len(fresh) == 1 else ''} into "
            f"memory just handed out: the system clears {show(faults * PAGE / steps, 'B')} a step"
            " for them"
        ),
        evidence=(
            *(_faulting(item) for item in fresh[:5]),
            f"{number_of(round(faults / steps), 'page fault')} of {PAGE} B a step{price}",
        ),
        timed=(price,),
        next_step=(
            "reuse memory: write in place or to out=, keep buffers between steps, or preload "
            "an allocator that keeps freed memory (jemalloc, tcmalloc)"
        ),
        saves_s=cost_s,
        now_s=now_s,
        then_s=None if most_s is None else down_to(now_s - most_s, now_s),
        wrong_if="the same calls with out= a buffer already in use take as long",
    )


@dataclass(frozen=True, slots=True)
class _Fault:
    """What one page fault costs on the device [s], and the interval of that."""

    s: float
    low_s: float
    high_s: float

    def __str__(self) -> str:
        if self.low_s == self.high_s:
            return show(self.s, "s")
        return f"{show(self.s, 's')} ({show(self.low_s, 's')} to {show(self.high_s, 's')})"


def _fault(program: Program) -> _Fault | None:
    """As measured; None is not known."""
    cost = program.device.fact("page_fault") if program.device else None
    if cost is None or not isinstance(cost.value, float):
        return None
    spread = cost.provenance.spread
    low = (spread.low if spread else None) or cost.value
    high = (spread.high if spread else None) or cost.value
    return _Fault(cost.value, low, high)


def _price(faults: float, fault: _Fault, cost_s: float) -> str:
    """What faults come to, and how much of that is counted: threads fault beside each other."""
    told = f", {show(faults * fault.s, 's')} at this machine's cost of a fault, {fault}"
    if show(faults * fault.s, "s") == show(cost_s, "s"):
        return told
    return f"{told}, one after the other: counted is what the operators lose, {show(cost_s, 's')}"


def _cost_s(items: Sequence[Item], fault_s: float) -> float:
    """Of all faults of `items`, and no more than is lost: one was timed at another moment."""
    return sum(
        min((item.page_faults or 0) * fault_s, max(item.lost_s or 0.0, 0.0)) for item in items
    )


def faults_s(item: Item, program: Program) -> float | None:
    """What the page faults of an item cost, at the measured cost of one; None is not known."""
    fault = _fault(program)
    return None if fault is None or item.page_faults is None else item.page_faults * fault.s


def _fresh(item: Item, program: Program) -> bool:
    written = _written(item)
    faulted = (item.page_faults or 0) * PAGE
    return bool(written) and faulted >= FRESH * written and visible(program, item)


def _written(item: Item) -> int:
    entries = item.ledger.entries if item.ledger else ()
    return sum(e.amount for e in entries if e.access == "write")


def _faulting(item: Item) -> str:
    share = (item.page_faults or 0) * PAGE / _written(item)
    of_them = (
        f"{share:.0%} of the bytes it writes"
        if share <= ALL
        else f"{share:.1f} times the bytes it writes: workspace inside it is fresh as well"
    )
    return (
        f"{item.name}: {number_of(round((item.page_faults or 0) / item.calls), 'fault')} a call, "
        f"{of_them}"
    )
