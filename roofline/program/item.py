"""One line of the answer: equal calls, or a group of them, placed and timed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from roofline.device import HIERARCHY, Resource, Roof
from roofline.placement import Bound, Placement, place
from roofline.program.group import crossed, summed
from roofline.provenance import Spread, spread
from roofline.work import Count, Ledger, times, together

COMPUTE = "compute"  # the axis of all pipes: they work at the same time
N = TypeVar("N", int, float)
# What a placement rests on, firmest first: a formula and a measured time; counters and the time of
# the launches they were taken in; ceilings alone, without a time.  They are never blended.
Degree = Literal["formula", "counters", "bound"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """All calls of one signature in one phase and module whose data was at one boundary.

    `once` is the placement of one of them.
    """

    signature: int  # position in Run.signatures
    name: str
    shapes: str
    phase: str
    module: str
    kind: str
    once: Placement
    calls: int
    starts: int  # of calls on a CPU; on a device of what they started there, one by one
    times_ns: Sequence[float]  # those that are known, in order
    step_ns: Mapping[int, float]  # the same summed by step
    page_faults: int | None

    @property
    def recomputed(self) -> bool:
        """Whether it was done a second time for a backward pass: the model asks for it once."""
        return self.phase == "recomputed"

    @property
    def time_ns(self) -> float | None:
        """Of all calls whose time is known; None when none is."""
        return sum(self.step_ns.values()) if self.step_ns else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Work and time of one line, as totals over all measured steps: divide by `steps` to print.

    `placement` is that of the calls together.  For equal calls it is exact; for a group its roof
    time is the loose one, the most that any resource needs for all parts, and `roof_s` here, the
    sum over the parts, is the tight one: operators of an eager program run one after the other.
    """

    name: str
    shapes: str  # of one call, in words; "" for different calls together
    module: str  # "" is outside every module; "several" is several
    phase: str
    kind: str
    steps: int
    calls: int
    placement: Placement
    roof_s: float | None
    serial_s: float | None
    measured_s: float | None  # of the calls whose time is known
    timed_roof_s: float | None  # of the same calls: what their time is compared with
    without_roof_s: float  # of `measured_s`, that of calls whose roof is not known
    axes_s: Mapping[str, float]  # least time on COMPUTE and on each boundary, part by part
    spread: Spread | None  # of one call (equal calls) or of one step (a group), seconds
    starts: int  # of its parts
    overhead_s: float | None  # of all starts, dispatch or launch, at its own ceiling
    page_faults: int | None
    too_short: bool  # a call lasts no longer than the recorder can tell
    signatures: tuple[int, ...]  # positions in Run.signatures
    crossed: frozenset[Resource]  # boundaries that every call with any work crossed

    @property
    def intensity(self) -> dict[Resource, float]:
        """Flop per byte at the boundaries that all calls crossed: elsewhere part of the flop met
        none of the bytes.
        """
        return {r: v for r, v in self.placement.intensity.items() if r in self.crossed}

    @property
    def ridge_point(self) -> dict[Resource, float]:
        """Per such boundary, the intensity at which it and the busiest pipe bind together."""
        return {r: v for r, v in self.placement.ridge_point.items() if r in self.crossed}

    @property
    def attainable_flop_per_s(self) -> float | None:
        """The rate in the least time of the parts one after the other; None without flop."""
        flop = self.placement.flop
        return flop / self.roof_s if flop and self.roof_s else None

    @property
    def ledger(self) -> Ledger | None:
        """What was counted, bytes standing where they were placed."""
        return self.placement.ledger

    @property
    def binding(self) -> Bound | None:
        """The resource that needs longest."""
        return self.placement.binding

    @property
    def placed_at(self) -> Resource:
        """The outermost boundary that its compulsory bytes cross."""
        return self.placement.placed_at

    @property
    def degree(self) -> Degree | None:
        """What its place rests on; None where nothing places it."""
        if not self.placement.counted or self.roof_s is None:
            return None
        if self.measured_s is None:
            return "bound"
        return "formula" if self.placement.count is Count.ALGORITHMIC else "counters"

    @property
    def complete(self) -> bool:
        """Whether every part is accounted for."""
        return self.placement.complete

    @property
    def roof_fraction(self) -> float | None:
        """Roof time over measured time of the calls that have both, never clipped."""
        spent_s = self._roofed_s
        return self.timed_roof_s / spent_s if spent_s and self.timed_roof_s else None

    @property
    def lost_s(self) -> float | None:
        """Measured time beyond the roof time, of the calls that have both.

        Calls that need nothing lose all their time, beside others whose roof is not known too.
        """
        if self.timed_roof_s is None:
            return self._roofed_s or None
        return None if self._roofed_s is None else self._roofed_s - self.timed_roof_s

    @property
    def to_win_s(self) -> float:
        """Time lost; all of it where no roof is known, so that the unknown is not hidden below."""
        if self.lost_s is None:
            return self.measured_s or 0.0
        return self.lost_s + self.without_roof_s

    @property
    def _roofed_s(self) -> float | None:
        """Measured time of the calls that have a roof."""
        return None if self.measured_s is None else self.measured_s - self.without_roof_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What holds for every line of one program."""

    roof: Roof
    steps: int
    call_overhead_s: float | None  # least time to dispatch or launch one call
    shortest_s: float | None  # below this a duration says more about the recorder


def line(name: str, parts: Sequence[Part], conditions: Conditions) -> Item:
    """One item from its parts: amounts and times add, and so do roof times, part by part."""
    calls = sum(part.calls for part in parts)
    time_ns = total(part.time_ns for part in parts)
    measured_s = None if time_ns is None else time_ns / 1e9
    overhead_s = conditions.call_overhead_s
    shortest_s = conditions.shortest_s
    signatures = tuple(dict.fromkeys(part.signature for part in parts))
    return Item(
        name=name,
        shapes=parts[0].shapes if len(signatures) == 1 else "",
        module=_same(part.module for part in parts),
        phase=_same(part.phase for part in parts),
        kind=_same(part.kind for part in parts),
        steps=conditions.steps,
        calls=calls,
        placement=_placed(parts, conditions.roof, measured_s),
        roof_s=_bounded([_times(p.once.roof_s, p.calls) for p in parts]),
        serial_s=_bounded([_times(p.once.serial_s, p.calls) for p in parts]),
        measured_s=measured_s,
        timed_roof_s=_bounded([_times(p.once.roof_s, len(p.times_ns)) for p in parts]),
        without_roof_s=sum(p.time_ns or 0 for p in parts if p.once.roof_s is None) / 1e9,
        axes_s=_axes_s(parts),
        spread=_spread(parts, len(signatures) == 1),
        starts=sum(part.starts for part in parts),
        overhead_s=None if overhead_s is None else overhead_s * sum(p.starts for p in parts),
        page_faults=total(part.page_faults for part in parts),
        too_short=bool(shortest_s and measured_s and measured_s / calls < shortest_s),
        signatures=signatures,
        crossed=crossed(part.once.demand for part in parts),
    )


def total(values: Iterable[N | None]) -> N | None:
    """The sum of what is known, None when nothing is: coverage tells how much that was.

    >>> total([1, None, 2]), total([None])
    (3, None)
    """
    known = [v for v in values if v is not None]
    return sum(known[1:], known[0]) if known else None


def _placed(parts: Sequence[Part], roof: Roof, measured_s: float | None) -> Placement:
    if len({(part.signature, part.once.placed_at) for part in parts}) == 1:
        once, calls = parts[0].once, sum(part.calls for part in parts)
        return replace(
            once,
            work=times(once.work, calls),
            bounds=tuple(replace(b, amount=b.amount * calls) for b in once.bounds),
            measured_s=measured_s or None,
        )
    work = together(times(part.once.work, part.calls) for part in parts)
    outermost = max((part.once.placed_at for part in parts), key=HIERARCHY.index)
    lacking = dict.fromkeys(r for part in parts for r in part.once.no_ceiling)
    return replace(
        place(work, roof, measured_s or None),
        bounds=summed((part.once.bounds, part.calls) for part in parts),
        no_ceiling=tuple(lacking),
        placed_at=outermost,
    )


def _spread(parts: Sequence[Part], equal: bool) -> Spread | None:
    """Of one call where calls are equal, else of one step where there are several."""
    if equal:
        samples = [ns / 1e9 for part in parts for ns in part.times_ns]
    else:
        by: dict[int, float] = {}
        for part in parts:
            for step, ns in part.step_ns.items():
                by[step] = by.get(step, 0.0) + ns / 1e9
        samples = list(by.values())
    return spread(samples, best="min") if len(samples) > 1 else None


def _axes_s(parts: Sequence[Part]) -> dict[str, float]:
    """Per axis the least times of the parts added, so that every grouping comes to the same."""
    found: dict[str, float] = {}
    for part in parts:
        longest: dict[str, float] = {}
        for bound in part.once.bounds:
            axis = COMPUTE if bound.demanded.is_pipe else bound.demanded.name
            longest[axis] = max(longest.get(axis, 0.0), bound.least_s)
        for axis, least_s in longest.items():
            found[axis] = found.get(axis, 0.0) + least_s * part.calls
    return found


def _bounded(values: Sequence[float | None]) -> float | None:
    """The sum of what is known; None when what is known needs nothing and the rest is unknown."""
    known = total(values)
    return known if known or None not in values else None


def _times(seconds: float | None, calls: int) -> float | None:
    return None if seconds is None else seconds * calls


def _same(values: Iterable[str]) -> str:
    different = set(values)
    return different.pop() if len(different) == 1 else "several"
