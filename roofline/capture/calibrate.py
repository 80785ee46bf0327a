"""What the recorder itself costs: inside an event's duration, and around it."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter_ns

import torch

from roofline.capture.columns import Columns
from roofline.capture.mode import Book, Mode
from roofline.capture.modules import Modules

_ROUNDS, _CALLS = 9, 200
# At ten times the recorder's share a duration is at most a tenth too long; and no operator below
# 10 us could be timed to that by PyTorch's own profiler on the machines this was tried on.
_TIMES, _LEAST_S = 10, 10e-6


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one operator call, in nanoseconds; medians, on an addition of two numbers."""

    inside: float  # how much longer its recorded duration is than the bare call
    around: float  # spent beside its duration and the recorder's own bookkeeping

    @property
    def overhead_s(self) -> float:
        """The recorder's time inside one event's duration; never less than nothing."""
        return max(self.inside, 0.0) * 1e-9

    @property
    def shortest_s(self) -> float:
        """Durations below this say more about the recorder than about the operator."""
        return max(_TIMES * self.overhead_s, _LEAST_S)


def calibrate() -> Cost:
    """Time a trivial operator with and without the recorder, alternating."""
    columns = Columns()
    mode = Mode(columns, Book(), Modules(columns.modules))
    one = torch.ones(1)

    def add() -> None:
        torch.add(one, one)

    bare, recorded, wall, kept = [], [], [], []
    for _ in range(_ROUNDS):
        bare.append(_per_call(add))
        first, spent = len(columns), mode.bookkeeping
        with mode:
            wall.append(_per_call(add))
        kept.append((mode.bookkeeping - spent) / _CALLS)
        recorded.append(median(columns.duration[first:]))
    mode.close()
    inside = median(recorded) - median(bare)
    return Cost(inside, median(wall) - median(kept) - median(recorded))


def _per_call(work: Callable[[], None]) -> float:
    start = perf_counter_ns()
    for _ in range(_CALLS):
        work()
    return (perf_counter_ns() - start) / _CALLS
