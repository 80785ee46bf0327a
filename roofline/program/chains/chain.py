"""One chain of neighbouring operators: what it moves, and the least that its ends need."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from roofline.device import Resource
from roofline.program.chains.fused import fused
from roofline.program.placed import Placed

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
    least_s: float | None  # of all `count` together, each one kernel: see `chain_time`
    limit: str  # what takes one kernel that long: a resource or START; "" is not known
    started: bool  # whether starting it is in there
    kernels: int  # that a compiler makes of one chain
    then_s: tuple[float, float] | None  # of all together, least and most
    at_roof: int | None  # calls of one chain that run at NEAR of their roof; None is not known
    signatures: tuple[int, ...]
    by_size: bool  # data was followed by the size of tensors: the recording names no memory

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


def together(chains: Sequence[Chain], steps: int) -> Chain:
    """Chains that one change would fuse, as one that each of `steps` steps runs once."""

    def step(amounts: Iterable[int]) -> int:
        return sum(n * c.count for n, c in zip(amounts, chains, strict=True)) // steps

    def total(times_s: Iterable[float | None]) -> float | None:
        known = [s for s in times_s if s is not None]
        return sum(known) if len(known) == len(chains) else None

    ends = [c.then_s for c in chains if c.then_s is not None]
    at_roof = [c.at_roof for c in chains if c.at_roof is not None]
    return Chain(
        names=tuple(name for c in chains for name in c.names * (c.count // steps)),
        module="",
        phase=chains[0].phase,
        count=steps,
        moved=step(c.moved for c in chains),
        least=step(c.least for c in chains),
        widest=step(c.widest for c in chains),
        measured_s=total(c.measured_s for c in chains),
        least_s=total(c.least_s for c in chains),
        limit=max(chains, key=lambda c: c.least_s or 0.0).limit,
        started=all(c.started for c in chains),
        kernels=step(c.kernels for c in chains),
        then_s=(sum(low for low, _ in ends), sum(high for _, high in ends))
        if len(ends) == len(chains)
        else None,
        at_roof=step(at_roof) if len(at_roof) == len(chains) else None,
        signatures=tuple(s for c in chains for s in c.signatures),
        by_size=any(c.by_size for c in chains),
    )


@dataclass(frozen=True, slots=True)
class Link:
    """One call of a chain."""

    row: int
    signature: int
    level: Resource  # the boundary that its data crossed
    reads: Sequence[tuple[int, int]]  # (storage, B), one a tensor of the call
    writes: Sequence[tuple[int, int]]


@dataclass(slots=True)
class Alike:
    """Equal groups of calls: the first of them, and what all of them took together."""

    links: Sequence[Link]
    module: str
    phase: str
    count: int = 0
    time_ns: list[int | None] = field(default_factory=list)  # one a link

    def add(self, times_ns: Sequence[int | None], count: int = 1) -> None:
        """`count` more groups that took `times_ns` together, link by link."""
        before = self.time_ns or [0] * len(times_ns)
        self.time_ns = [
            None if a is None or b is None else a + b for a, b in zip(before, times_ns, strict=True)
        ]
        self.count += count


def build(placed: Placed, alike: Alike, last_read: Mapping[int, int] | None) -> Chain:
    """The chain that `alike` makes; `last_read` is None where later readers are not known."""
    links = alike.links
    ledgers = [
        ledger for e in links if (ledger := placed.at(e.signature, e.level).ledger) is not None
    ]
    known_ns = [ns for ns in alike.time_ns if ns is not None]
    names = tuple(placed.signatures[e.signature].name for e in links)
    widest = max(nbytes for e in links for _, nbytes in (*e.reads, *e.writes))
    least = _least(links, last_read)
    if last_read is None and alike.phase == "optimizer":
        least = max(least, _state(names) * widest)
    bounds = (placed.at(e.signature, e.level).bounds for e in links)
    one = fused(placed.roof, bounds, least)
    ends_s = None if one is None else one.then_s
    return Chain(
        names=names,
        module=alike.module,
        phase=alike.phase,
        count=alike.count,
        moved=sum(e.amount for ledger in ledgers for e in ledger.entries if e.resource.is_boundary),
        least=least,
        widest=widest,
        measured_s=sum(known_ns) / 1e9 if len(known_ns) == len(links) else None,
        least_s=None if one is None else one.least_s * alike.count,
        limit="" if one is None else one.limit,
        started=one is not None and one.started,
        kernels=1 if one is None else one.kernels,
        then_s=None if ends_s is None else (ends_s[0] * alike.count, ends_s[1] * alike.count),
        at_roof=_at_roof(placed, alike),
        signatures=tuple(e.signature for e in links),
        by_size=last_read is None,
    )


def _state(names: Sequence[str]) -> int:
    """Tensors of a parameter's size that an update reads and writes, by what optimizers are.

    Sizes cannot tell a parameter, its gradient and its moments apart.  What divides by the root of
    a mean of squares has three of them, and writes two; with a mean of gradients, four and three.
    """
    plain = {name.removeprefix("aten::").removeprefix("_foreach_") for name in names}
    if not {"addcmul_", "addcdiv_"} <= plain:
        return 0
    return 7 if "lerp_" in plain else 5


def _least(links: Sequence[Link], last_read: Mapping[int, int] | None) -> int:
    """Bytes that enter the chain from outside, once each, and bytes that are used afterwards.

    A result that nobody reads later counts as used: it may be the program's.
    """
    entering: dict[int, int] = {}
    made: dict[int, int] = {}
    read_inside: set[int] = set()
    for link in links:
        for storage, nbytes in link.reads:
            if storage in made:
                read_inside.add(storage)
            else:
                entering[storage] = max(entering.get(storage, 0), nbytes)
        for storage, nbytes in link.writes:
            made[storage] = max(made.get(storage, 0), nbytes)
            read_inside.discard(storage)  # written again, it is another result
    later = last_read or {}
    leaving = (
        nbytes
        for storage, nbytes in made.items()
        if storage in entering
        or later.get(storage, -1) > links[-1].row
        or storage not in read_inside
    )
    return sum(entering.values()) + sum(leaving)


def _at_roof(placed: Placed, alike: Alike) -> int | None:
    """Calls of one chain whose signature's mean time in it is within NEAR of its roof.

    The mean is what the lines of the program show.  A chain that ran once has one time a call, and
    most of those lie below their mean.
    """
    calls: Counter[tuple[int, Resource]] = Counter()
    took_ns: Counter[tuple[int, Resource]] = Counter()
    for link, ns in zip(alike.links, alike.time_ns, strict=True):
        if ns is not None:
            calls[link.signature, link.level] += 1
            took_ns[link.signature, link.level] += ns
    known = [
        (n, took_ns[key], roof_s) for key, n in calls.items() if (roof_s := placed.at(*key).roof_s)
    ]
    near = (n for n, ns, roof_s in known if roof_s * n * alike.count >= NEAR * ns / 1e9)
    return sum(near) if known else None
