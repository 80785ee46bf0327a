"""The model: demand over ceiling is time, and the largest time is the bound.

Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009, written in time rather than in
flop/s, so that work with no arithmetic (a copy), with two precisions, or with several memory
levels needs no special case.
"""

import math
from dataclasses import dataclass, replace

from roofline.device import DRAM, Ceiling, Resource, Roof
from roofline.errors import BadInput
from roofline.units import show, show_share
from roofline.work import Count, Ledger, Work

ABOVE = 1.05  # a point this far over its roof is a finding about the model


@dataclass(frozen=True, slots=True)
class Bound:
    """The least time one resource alone would need."""

    demanded: Resource  # what the work asked for
    ceiling: Ceiling  # what serves it: another pipe where the device maps one
    amount: int  # demanded.unit
    count: Count = Count.ALGORITHMIC  # who counted the amount

    def __str__(self) -> str:
        unit, basis = self.demanded.unit, self.ceiling.provenance.basis.value
        return (
            f"{self.demanded.name}: {show(self.amount, unit)} at "
            f"{show(self.ceiling.rate, f'{unit}/s')} ({basis})"
        )

    @property
    def least_s(self) -> float:
        """Amount over rate."""
        return self.amount / self.ceiling.rate

    @property
    def interval_s(self) -> tuple[float, float]:
        """The least time within the interval of the ceiling; a point where none is known."""
        spread = self.ceiling.provenance.spread
        low = (spread.low if spread else None) or self.ceiling.rate
        high = (spread.high if spread else None) or self.ceiling.rate
        return self.amount / high, self.amount / low


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Placement:
    """Where some work sits under a roof; in a prompt it is one line that says so."""

    work: Work
    bounds: tuple[Bound, ...]  # slowest first; empty for work that needs nothing or has no ceiling
    no_ceiling: tuple[Resource, ...]  # demanded, but nothing known about their rate
    placed_at: Resource  # the boundary its compulsory bytes cross
    # The boundary that they may have crossed instead, where the recording leaves open which.
    perhaps_at: Resource | None = None
    measured_s: float | None = None
    # Which of its counts was placed: the formula, or, without one, what counters saw.
    count: Count = Count.ALGORITHMIC

    def __repr__(self) -> str:
        if self.roof_s is None:
            return "no roof: nothing that it needs has both a count and a ceiling"
        roof = f"{show(self.roof_s, 's')} at the roof"
        bound = f", bound by {self.binding}" if self.binding else ""
        took = "" if self.measured_s is None else f"; measured {show(self.measured_s, 's')}"
        share = self.roof_fraction
        reached = "" if share is None else f", {show_share(share)} of the roof"
        lacking = [*self.unaccounted, *(f"no ceiling of {r.name}" for r in self.no_ceiling)]
        return f"{roof}{bound}{took}{reached}" + "".join(f"; {text}" for text in lacking)

    @property
    def counted(self) -> tuple[Ledger, ...]:
        """The ledgers that were placed: the formula alone, or flop and bytes of counters."""
        if self.count is Count.ALGORITHMIC:
            placed: tuple[Ledger | None, ...] = (self.work.algorithmic,)
        else:
            placed = (self.work.executed, self.work.achieved)
        return tuple(ledger for ledger in placed if ledger is not None)

    @property
    def complete(self) -> bool:
        """Whether what was placed accounts for the whole work, arithmetic and bytes."""
        return bool(self.counted) and not self.unaccounted

    @property
    def unaccounted(self) -> tuple[str, ...]:
        """What is missing from what was placed, each once; of counters, whole sides of them too."""
        missing = [text for ledger in self.counted for text in ledger.unaccounted]
        if self.count is not Count.ALGORITHMIC:
            missing += ["flop: not counted"] if self.work.executed is None else []
            missing += ["bytes: not counted"] if self.work.achieved is None else []
        return tuple(dict.fromkeys(missing))

    @property
    def demand(self) -> dict[Resource, int]:
        """Total need per resource of what was placed."""
        return {r: n for ledger in self.counted for r, n in ledger.demand().items()}

    @property
    def flop(self) -> int | None:
        """Floating-point operations of what was placed; None when nobody counted them.

        With parts unaccounted it is at least that many, and nothing counted is not zero.
        """
        arithmetic = self.work.executed if self.count is not Count.ALGORITHMIC else self.ledger
        if arithmetic is None or (arithmetic.unaccounted and not arithmetic.flop):
            return None
        return arithmetic.flop

    @property
    def ledger(self) -> Ledger | None:
        """The algorithmic ledger, as placed: bytes stand at `placed_at`."""
        return self.work.algorithmic

    @property
    def binding(self) -> Bound | None:
        """The resource that needs longest; None when nothing known is needed."""
        return self.bounds[0] if self.bounds else None

    @property
    def ambiguous_with(self) -> tuple[Resource, ...]:
        """Resources that may bind as well: near a ridge, within the intervals of the ceilings.

        And the boundary that its bytes may have crossed instead of the one that binds.
        """
        if not self.bounds:
            return ()
        least_s = self._interval_s(self.bounds[0])[0]
        near = [b.demanded for b in self.bounds[1:] if self._interval_s(b)[1] >= least_s]
        if self.perhaps_at is not None and self.bounds[0].demanded == self.placed_at:
            near.append(self.perhaps_at)
        return tuple(dict.fromkeys(near))

    def _interval_s(self, bound: Bound) -> tuple[float, float]:
        """Of one bound, with its amount between the limits that its ledger gives."""
        lines = [
            e
            for ledger in self.counted
            if ledger.count is bound.count
            for e in ledger.entries
            if e.resource == bound.demanded
        ]
        total = sum(e.amount for e in lines)
        low = sum(e.amount if e.low is None else e.low for e in lines)
        high = sum(e.amount if e.high is None else e.high for e in lines)
        least_s, most_s = bound.interval_s
        return (least_s * low / total, most_s * high / total) if total else (least_s, most_s)

    @property
    def known(self) -> bool:
        """Whether the whole demand is in `bounds`."""
        return self.complete and not self.no_ceiling

    @property
    def roof_s(self) -> float | None:
        """Least time when every resource overlaps perfectly; None when nothing could be bounded.

        With parts unaccounted or without ceiling it is still a valid, but too low, bound.
        """
        if self.bounds:
            return self.bounds[0].least_s
        return 0.0 if self.known else None

    @property
    def serial_s(self) -> float | None:
        """Least time when no resource overlaps another."""
        return sum(b.least_s for b in self.bounds) if self.roof_s is not None else None

    @property
    def roof_fraction(self) -> float | None:
        """Share of the roof reached, never clipped: above 1 the model is in doubt."""
        if self.measured_s is None or not self.roof_s:
            return None
        return self.roof_s / self.measured_s

    @property
    def lost_s(self) -> float | None:
        """Measured time beyond the roof time."""
        if self.measured_s is None or self.roof_s is None:
            return None
        return self.measured_s - self.roof_s

    @property
    def attainable_flop_per_s(self) -> float | None:
        """The rate this work would reach on its roof; None for work without flop."""
        return self.flop / self.roof_s if self.flop and self.roof_s else None

    @property
    def intensity(self) -> dict[Resource, float]:
        """Flop per byte at every boundary the work crosses."""
        if self.flop is None:
            return {}
        return {
            r: self.flop / amount for r, amount in self.demand.items() if r.is_boundary and amount
        }

    @property
    def ridge_point(self) -> dict[Resource, float]:
        """Per boundary, the intensity at which it and the busiest pipe bind together."""
        pipe = next((b for b in self.bounds if b.demanded.unit == "flop"), None)
        if pipe is None:
            return {}
        return {
            b.demanded: ridge_point(pipe.ceiling, b.ceiling)
            for b in self.bounds
            if b.demanded.is_boundary
        }


def place(
    work: Ledger | Work,
    roof: Roof,
    measured_s: float | None = None,
    *,
    at: Resource = DRAM,
) -> Placement:
    """Put `work` under `roof`.

    `at` is the boundary that its compulsory bytes cross: DRAM, or nearer where a warm cache is
    known to hold the data (`Roof.innermost`).  Work without any formula is placed by what counters
    saw of it, where they did.
    """
    if measured_s is not None and not (math.isfinite(measured_s) and measured_s > 0):
        raise BadInput(f"a measured time must be positive and finite; got {measured_s} s")
    work = Work(algorithmic=work) if isinstance(work, Ledger) else work
    ledger = work.algorithmic
    if (work.executed or work.achieved) and (ledger is None or _says_nothing(ledger)):
        return _by_counters(work, roof, measured_s)
    if ledger is None:
        return Placement(work=work, bounds=(), no_ceiling=(), placed_at=at, measured_s=measured_s)
    ledger = _moved(ledger, at)
    bounds, no_ceiling = _bounds(ledger, roof)
    if at == DRAM and work.achieved is not None:
        bounds = _as_crossed(bounds, work.achieved, roof)
    return Placement(
        work=replace(work, algorithmic=ledger),
        bounds=bounds,
        no_ceiling=no_ceiling,
        placed_at=at,
        measured_s=measured_s,
    )


def _says_nothing(ledger: Ledger) -> bool:
    return not ledger.entries and bool(ledger.unaccounted)


def _by_counters(work: Work, roof: Roof, measured_s: float | None) -> Placement:
    """Place executed flop and achieved bytes: each boundary's own traffic under its own ceiling."""
    parts = [_bounds(x, roof) for x in (work.executed, work.achieved) if x is not None]
    bounds = [bound for some, _ in parts for bound in some]
    return Placement(
        work=work,
        bounds=tuple(sorted(bounds, key=lambda bound: bound.least_s, reverse=True)),
        no_ceiling=tuple(resource for _, some in parts for resource in some),
        placed_at=DRAM,
        measured_s=measured_s,
        count=Count.ACHIEVED if work.executed is None else Count.EXECUTED,
    )


def _bounds(ledger: Ledger, roof: Roof) -> tuple[tuple[Bound, ...], tuple[Resource, ...]]:
    bounds, no_ceiling = [], []
    for resource, amount in ledger.demand().items():
        ceiling = None
        if amount:
            in_place = ledger.in_place(resource)
            share, function = ledger.read_share(resource), ledger.function(resource)
            ceiling = roof.ceiling(resource, share, in_place=in_place, function=function)
        if ceiling is not None:
            bounds.append(Bound(resource, ceiling, amount, ledger.count))
        elif amount:
            no_ceiling.append(resource)
    bounds.sort(key=lambda bound: bound.least_s, reverse=True)
    return tuple(bounds), tuple(no_ceiling)


def _as_crossed(bounds: tuple[Bound, ...], seen: Ledger, roof: Roof) -> tuple[Bound, ...]:
    """With DRAM bound by the bytes that crossed it, where counters saw fewer than the formula.

    Writes that stay dirty in a cache when a kernel ends, or operands found there, took none of its
    time at DRAM.
    """
    crossed, ceiling = seen.crossed(DRAM), roof.ceiling(DRAM, seen.read_share(DRAM))
    if crossed is None or ceiling is None:
        return bounds
    placed = [
        Bound(DRAM, ceiling, crossed, seen.count)
        if bound.demanded == DRAM and crossed < bound.amount
        else bound
        for bound in bounds
    ]
    return tuple(sorted(placed, key=lambda bound: bound.least_s, reverse=True))


def _moved(ledger: Ledger, boundary: Resource) -> Ledger:
    """The same bytes, crossing `boundary` instead of DRAM: outer levels are not reached."""
    if boundary == DRAM or ledger.count is not Count.ALGORITHMIC:
        return ledger
    entries = tuple(
        replace(e, resource=boundary) if e.resource == DRAM else e for e in ledger.entries
    )
    return replace(ledger, entries=entries)


def ridge_point(compute: Ceiling, memory: Ceiling) -> float:
    """Arithmetic intensity [flop/B] at which both ceilings bind together."""
    _same_kind(compute, memory)
    return compute.rate / memory.rate


def attainable(intensity: float, at: Resource, compute: Ceiling, memory: Ceiling) -> float:
    """Highest rate [flop/s] at an intensity [flop/B] counted at the boundary `at`.

    The bandwidth must be that boundary's own; another's is refused.
    """
    _same_kind(compute, memory)
    if at != memory.resource:
        raise BadInput(
            f"an intensity at {at.name} cannot meet the bandwidth of {memory.resource.name}"
        )
    return min(compute.rate, intensity * memory.rate)


def _same_kind(compute: Ceiling, memory: Ceiling) -> None:
    if not compute.resource.is_pipe or not memory.resource.is_boundary:
        raise BadInput(
            f"a ridge needs a pipe and a boundary; got {compute.resource.name} "
            f"and {memory.resource.name}"
        )
