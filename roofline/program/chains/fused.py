"""How long one fused kernel takes at least: its bytes, its arithmetic and its start together."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from roofline.device import DISPATCH, LAUNCH, Roof
from roofline.placement import Bound
from roofline.work import Count

START = "start"  # the limit of a kernel that is started for longer than it works
# Operators that a compiler puts into one kernel: torch.compile's limit unless it is set otherwise.
TOGETHER = 64
FELT_S = 10e-6  # assumed: starting a kernel takes no longer, so beside more it is not felt


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """The least time of one kernel that does the work of a chain [s]."""

    least_s: float
    limit: str  # the resource that needs longest, or START
    started: bool  # whether what starting a kernel takes is known, and counted
    kernels: int  # that a compiler would make of it
    # Within the intervals of the ceilings, and up to as many kernels.  None is not known: what
    # remains is less than a start may take.
    then_s: tuple[float, float] | None


def fused(roof: Roof, bounds: Iterable[tuple[Bound, ...]], least: int) -> Fused | None:
    """Of calls with these `bounds`, whose ends are `least` B; None without a ceiling for those.

    The work of all calls on one pipe adds up, each at the ceiling of its own function; pipes,
    bytes and the start may overlap, so that the largest counts.
    """
    ends = roof.innermost(least)
    ceiling = roof.ceiling(ends, 0.5)
    if ceiling is None:
        return None
    calls = list(bounds)
    kernels = math.ceil(len(calls) / TOGETHER)
    crossing, start_s = Bound(ends, ceiling, least), _start_s(roof)
    needs = {ends.name: (crossing.least_s, *crossing.interval_s), **_arithmetic(calls)}
    starting_s = start_s or 0.0
    limit, (least_s, _, _) = max(needs.items(), key=lambda need: need[1][0])
    low_s = max(low for _, low, _ in needs.values())
    # Between two kernels what one leaves has to go out and come in again.
    high_s = max(
        *(high for _, _, high in needs.values()),
        kernels * crossing.interval_s[1],
        kernels * starting_s,
    )
    known = start_s is not None or least_s >= FELT_S
    return Fused(
        least_s=max(least_s, starting_s),
        limit=START if least_s < starting_s else limit,
        started=start_s is not None,
        kernels=kernels,
        then_s=(max(low_s, starting_s), high_s) if known else None,
    )


def _arithmetic(calls: Iterable[tuple[Bound, ...]]) -> dict[str, tuple[float, float, float]]:
    """Per pipe, the least time of all calls, and the same at both ends of the intervals.

    What a device maps to another pipe adds to that one's.
    """
    totals: dict[str, tuple[float, float, float]] = {}
    for bound in _on_pipes(calls):
        pipe = bound.ceiling.resource.name
        least_s, low_s, high_s = totals.get(pipe, (0.0, 0.0, 0.0))
        low, high = bound.interval_s
        totals[pipe] = (least_s + bound.least_s, low_s + low, high_s + high)
    return totals


def _on_pipes(calls: Iterable[tuple[Bound, ...]]) -> Iterator[Bound]:
    for bounds in calls:
        for bound in bounds:
            if bound.demanded.is_pipe and bound.count is Count.ALGORITHMIC:
                yield bound


def _start_s(roof: Roof) -> float | None:
    """The least time to start a kernel, by the fastest way; None is not known."""
    rate = roof.highest(DISPATCH if roof.kind == "cpu" else LAUNCH)
    return 1 / rate if rate else None
