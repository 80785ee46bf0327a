"""How much of the device a step uses: MFU of its arithmetic, MBU of its memory.

MFU, model flop utilisation: useful flop over what the pipe could have done in the time of a step;
HFU, hardware flop utilisation: the same of all flop that ran, recomputation and padding included
(Chowdhery et al., "PaLM: Scaling Language Modeling with Pathways", 2022, appendix B).  MBU, memory
bandwidth utilisation: the same of bytes.  All over the whole step, waiting included.
"""

from dataclasses import dataclass, replace

from roofline.device import DRAM, Ceiling, Resource
from roofline.program.flop import flop
from roofline.program.item import Part
from roofline.program.reading import Program
from roofline.units import show
from roofline.work import Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One resource over one step."""

    ceiling: Ceiling
    resource: Resource
    amount: float  # of one step
    time_s: float  # of a step; where only kernels were timed, of their union
    counts: tuple[Count, ...]  # who counted
    complete: bool  # False: part of the program is not accounted for, so it is at least this

    @property
    def share(self) -> float:
        """Amount over what the ceiling allows in the time."""
        return self.amount / (self.ceiling.rate * self.time_s)

    @property
    def formula(self) -> str:
        """The same in words, with every number."""
        unit, variant = self.resource.unit, str(self.ceiling.variant)
        kind = {Count.ALGORITHMIC: "useful", Count.EXECUTED: "executed", Count.ACHIEVED: "achieved"}
        what = " and ".join(kind[count] for count in self.counts)
        basis = f"{self.ceiling.provenance.basis}{f', {variant}' if variant else ''}"
        return (
            f"{'' if self.complete else 'at least '}{show(self.amount, unit)} {what} on "
            f"{self.resource.name} / ({show(self.time_s, 's')} x "
            f"{show(self.ceiling.rate, f'{unit}/s')} {basis})"
        )


def mfu(program: Program) -> Use | None:
    """Of the pipe that the step's arithmetic needs longest; None without times or a ceiling.

    By formulas alone: what a counter saw run is not what was useful.  None where there is none.
    """
    busiest = _busiest(program)
    return None if busiest is None else _use(program, busiest.resource, useful=True)


def hfu(program: Program) -> Use | None:
    """Of the same pipe, all that is known to have run on it."""
    busiest = _busiest(program)
    if busiest is None:
        return None
    amount = flop(program).executed[busiest.resource]
    return replace(busiest, amount=amount, counts=(Count.EXECUTED,))


def _busiest(program: Program) -> Use | None:
    uses = [use for r in _demanded(program) if r.is_pipe and (use := _use(program, r)) is not None]
    return max(uses, key=lambda use: use.share, default=None)


def mbu(program: Program) -> Use | None:
    """Of device memory; None without times or a ceiling, or where no byte crosses it."""
    return _use(program, DRAM) if DRAM in _demanded(program) else None


def _demanded(program: Program) -> list[Resource]:
    return list(dict.fromkeys(r for part in program.parts for r in part.once.demand))


def _use(program: Program, resource: Resource, *, useful: bool = False) -> Use | None:
    """`useful` leaves out what is known by a counter alone; the amount is then incomplete."""
    whole = program.whole
    time_s = whole.busy_s if whole.step_s is None else whole.step_s
    amount, reads, counts, complete = 0, 0.0, set[Count](), True
    for part in program.parts:
        if part.recomputed and resource.is_pipe:
            continue
        for ledger in part.once.counted:
            if (demand := ledger.demand().get(resource)) is None:
                continue
            if useful and ledger.count is not Count.ALGORITHMIC:
                complete = False
            else:
                amount += demand * part.calls
                reads += (ledger.read_share(resource) or 0.0) * demand * part.calls
                counts.add(ledger.count)
    ceiling = program.roof.ceiling(resource, reads / amount if amount else None)
    if not time_s or not amount or ceiling is None:
        return None
    return Use(
        ceiling=ceiling,
        resource=resource,
        amount=amount / program.conditions.steps,
        time_s=time_s,
        counts=tuple(count for count in Count if count in counts),
        complete=complete and all(_complete(part, resource) for part in program.parts),
    )


def _complete(part: Part, resource: Resource) -> bool:
    """Whether all that a part needs of the resource was counted; counters have two sides."""
    once = part.once
    if once.count is Count.ALGORITHMIC:
        return once.complete
    side = once.work.executed if resource.is_pipe else once.work.achieved
    return side is not None and not side.unaccounted
