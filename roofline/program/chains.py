"""Neighbouring operators that pass over the same data: what one fused kernel could save at most.

A chain is a run of consecutive calls that stream over their data (pointwise, reductions,
normalisations, copies), where every call reads something that an earlier one of the chain wrote.
Free calls (views) do not break it; everything else does, what is unaccounted included.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline import ops
from roofline.call import Tensor
from roofline.device import HIERARCHY, Ceiling, Resource
from roofline.program.columns import storages
from roofline.program.placed import Placed
from roofline.runfile import Run

if TYPE_CHECKING:
    import pyarrow as pa

NEAR = 0.8  # assumed: from this share of its roof on, a call is said to be on it


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Equal chains together: what one of them moves, and the least that its ends need."""

    names: tuple[str, ...]  # operators in order
    module: str
    phase: str
    count: int  # how often, in all measured steps
    moved: int  # B of one chain: its calls' algorithmic bytes
    least: int  # B of one chain: what enters from outside once, and what is used afterwards
    widest: int  # B of its largest tensor
    measured_s: float | None  # of all `count` together
    least_s: float | None  # of all `count` together: `least` at the ceiling of its own boundary
    then_s: tuple[float, float] | None  # the same within the ceiling's interval
    at_roof: int | None  # calls of one chain that run at NEAR of their roof; None is not known
    signatures: tuple[int, ...]

    @property
    def passes(self) -> float:
        """Passes over the largest tensor."""
        return self.moved / self.widest

    @property
    def least_passes(self) -> float:
        """Passes that remain when nothing in between leaves the chip."""
        return self.least / self.widest

    @property
    def saves_s(self) -> float | None:
        """At most, over all of them."""
        if self.measured_s is None or self.least_s is None:
            return None
        return self.measured_s - self.least_s


@dataclass(frozen=True, slots=True)
class Link:
    """One call of a chain."""

    row: int
    signature: int
    level: Resource  # the boundary that its data crossed
    step: int
    phase: str
    module: str
    time_ns: int | None
    reads: Sequence[int]  # storages, one a tensor of the call
    writes: Sequence[int]


def chains(run: Run, events: "pa.Table", placed: Placed) -> tuple[Chain, ...]:
    """Every chain of two calls or more, equal ones together, most bytes saved first.

    `events` are those of `timing.timed`.  Needs the storages of each call, which live recordings
    have; without them there is none.
    """
    if not storages(run):
        return ()
    last_read: dict[int, int] = {}
    found: dict[tuple[object, ...], list[Sequence[Link]]] = {}
    for group in _groups(_links(run, events, last_read), placed):
        key = (tuple(e.signature for e in group), group[0].module, group[0].phase)
        found.setdefault(key, []).append(group)
    made = [_chain(placed, groups, last_read) for groups in found.values()]
    return tuple(sorted(made, key=lambda c: (c.moved - c.least) * c.count, reverse=True))


def _links(run: Run, events: "pa.Table", last_read: dict[int, int]) -> Iterator[Link]:
    """Every event, noting on the way which row reads a storage last."""
    memory = run.events.select(["reads", "writes"]).take(events["row"])
    names = ("row", "signature", "level", "step", "phase", "module", "time_ns")
    columns = [events[name] for name in names] + [memory["reads"], memory["writes"]]
    for row, signature, level, step, phase, module, time_ns, reads, writes in zip(
        *(column.to_pylist() for column in columns), strict=True
    ):
        for storage in reads or ():
            last_read[storage] = row
        yield Link(
            row,
            signature,
            HIERARCHY[level],
            step,
            phase,
            module,
            time_ns,
            reads or (),
            writes or (),
        )


def _groups(events: Iterable[Link], placed: Placed) -> Iterator[Sequence[Link]]:
    group: list[Link] = []
    written: set[int] = set()
    for event in events:
        if placed.free(event.signature):
            continue
        streams = bool(event.writes) and placed.signatures[event.signature].name in ops.STREAMING
        joins = bool(group) and event.step == group[0].step and bool(written & {*event.reads})
        if not (streams and joins):
            if len(group) > 1:
                yield group
            group, written = [], set()
        if streams:
            group = [*group, event]
            written |= {*event.writes}
    if len(group) > 1:
        yield group


def _chain(placed: Placed, groups: Sequence[Sequence[Link]], last_read: dict[int, int]) -> Chain:
    first = groups[0]
    ledgers = [
        ledger for e in first if (ledger := placed.at(e.signature, e.level).ledger) is not None
    ]
    entries = [
        entry for ledger in ledgers for entry in ledger.entries if entry.resource.unit == "B"
    ]
    tensors = [t for e in first for _, t in (*_reads(placed, e), *_writes(placed, e))]
    times_ns = [event.time_ns for group in groups for event in group if event.time_ns is not None]
    measured_s = sum(times_ns) / 1e9 if times_ns else None
    least = _least(placed, first, last_read)
    boundary = placed.roof.innermost(least)
    ceiling = placed.roof.ceiling(boundary, 0.5)
    return Chain(
        names=tuple(placed.signatures[e.signature].name for e in first),
        module=first[0].module,
        phase=first[0].phase,
        count=len(groups),
        moved=sum(entry.amount for entry in entries),
        least=least,
        widest=max(tensor.nbytes for tensor in tensors),
        measured_s=measured_s,
        least_s=None if ceiling is None else least * len(groups) / ceiling.rate,
        then_s=None if ceiling is None else _interval(least * len(groups), ceiling),
        at_roof=_at_roof(placed, groups),
        signatures=tuple(e.signature for e in first),
    )


def _interval(amount: int, ceiling: Ceiling) -> tuple[float, float]:
    """Least and most time for `amount` bytes within the interval of the ceiling."""
    spread = ceiling.provenance.spread
    low = spread.low if spread and spread.low else ceiling.rate
    high = spread.high if spread and spread.high else ceiling.rate
    return amount / high, amount / low


def _least(placed: Placed, group: Sequence[Link], last_read: dict[int, int]) -> int:
    """Bytes that enter the chain from outside, once each, and bytes that are used afterwards.

    A result that nobody reads later counts as used: it may be the program's.
    """
    entering: dict[int, int] = {}
    made: dict[int, int] = {}
    read_inside: set[int] = set()
    for event in group:
        for storage, tensor in _reads(placed, event):
            if storage in made:
                read_inside.add(storage)
            else:
                entering[storage] = max(entering.get(storage, 0), tensor.nbytes)
        for storage, tensor in _writes(placed, event):
            made[storage] = max(made.get(storage, 0), tensor.nbytes)
    end = group[-1].row
    leaving = (
        nbytes
        for storage, nbytes in made.items()
        if storage in entering or last_read.get(storage, -1) > end or storage not in read_inside
    )
    return sum(entering.values()) + sum(leaving)


def _at_roof(placed: Placed, groups: Sequence[Sequence[Link]]) -> int | None:
    """Calls of one chain whose mean time is within NEAR of their roof."""
    near = []
    for calls in zip(*groups, strict=True):
        roof_s = placed.at(calls[0].signature, calls[0].level).roof_s
        times_ns = [call.time_ns for call in calls if call.time_ns is not None]
        if roof_s and times_ns:
            near.append(roof_s >= NEAR * sum(times_ns) / len(times_ns) / 1e9)
    return sum(near) if near else None


def _reads(placed: Placed, event: Link) -> Iterable[tuple[int, Tensor]]:
    call = placed.signatures[event.signature].call
    return zip(event.reads, call.tensors, strict=True) if call and event.reads else ()


def _writes(placed: Placed, event: Link) -> Iterable[tuple[int, Tensor]]:
    call = placed.signatures[event.signature].call
    return zip(event.writes, call.outputs, strict=True) if call and event.writes else ()
