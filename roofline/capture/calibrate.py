"""What the recorder itself costs: inside an event's duration, and around it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import median
from time import perf_counter_ns

import torch
from torch.nn import functional

from roofline.capture.columns import Columns
from roofline.capture.mode import Book, Mode
from roofline.capture.modules import Modules

_ROUNDS, _REPEATS = 9, 50
# At ten times the recorder's share a duration is at most a tenth too long; and no operator below
# 10 us could be timed to that by PyTorch's own profiler on the machines this was tried on.
_TIMES, _LEAST_S = 10, 10e-6


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one operator call, in nanoseconds."""

    inside: float  # how much longer a recorded duration is than the bare call
    around: float  # beside the duration and the bookkeeping: the way into Python and back

    @property
    def overhead_s(self) -> float:
        """The recorder's time inside one event's duration; never less than nothing."""
        return max(self.inside, 0.0) * 1e-9

    @property
    def shortest_s(self) -> float:
        """Durations below this say more about the recorder than about the operator."""
        return max(_TIMES * self.overhead_s, _LEAST_S)


@cache
def calibrate() -> Cost:
    """Time trivial operators with and without the recorder, in turns; medians of single calls.

    Once a process.
    """
    columns = Columns()
    mode = Mode(columns, Book(), Modules(columns.modules))
    one, rows = torch.ones(1), torch.ones(4, 4)
    row = rows[0]

    def addition() -> None:
        torch.add(one, one)

    # One to five arguments, one to three results, and nothing that several threads would share:
    # they would wait for each other, and for whatever else runs.
    def mixture() -> None:
        functional.layer_norm(functional.linear(rows, rows, row)[0], (4,), row, row).sum()

    without, within = _Samples(), _Samples()
    first = len(columns)
    for _ in range(_ROUNDS):
        without.take(addition, mode)
        with mode:
            within.take(addition, mode)
    inside = median(columns.duration[first:]) - median(without.wall)

    without, within = _Samples(), _Samples()
    first = len(columns)
    for _ in range(_ROUNDS):
        without.take(mixture, mode)
        with mode:
            within.take(mixture, mode)
    mode.close()
    calls = (len(columns) - first) / len(within.wall)
    extra = median(within.wall) - median(without.wall) - median(within.kept)
    return Cost(inside, extra / calls - inside)


class _Samples:
    """Wall time of single calls, and how much of each the recorder says it kept itself busy."""

    def __init__(self) -> None:
        self.wall: list[int] = []
        self.kept: list[int] = []

    def take(self, work: Callable[[], None], mode: Mode) -> None:
        for _ in range(_REPEATS):
            spent, start = mode.bookkeeping, perf_counter_ns()
            work()
            self.wall.append(perf_counter_ns() - start)
            self.kept.append(mode.bookkeeping - spent)
