"""What the recorder itself costs: inside an event's duration, and around it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import median
from time import perf_counter_ns

import torch
from torch.nn import functional
from torch.utils._python_dispatch import _disable_current_modes

from roofline.capture.book import Book
from roofline.capture.columns import Columns
from roofline.capture.mode import Mode
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

    Once a process.  A mode of the program's, one that counts say, sees nothing of it.
    """
    with _disable_current_modes():
        return _calibrate()


def _calibrate() -> Cost:
    one, rows = torch.ones(1), torch.ones(4, 4)
    row = rows[0]

    def addition() -> None:
        torch.add(one, one)

    # One to five arguments, one to three results, and nothing that several threads would share:
    # they would wait for each other, and for whatever else runs.
    def mixture() -> None:
        functional.layer_norm(functional.linear(rows, rows, row)[0], (4,), row, row).sum()

    added = _compare(addition)
    inside = added.duration - added.bare
    return Cost(inside, _compare(mixture).around - inside)


@cache
def around_backward() -> float:
    """`Cost.around` of operators that the autograd engine calls, in nanoseconds.

    Only for a process that went backward already: the first time starts the engine's threads,
    after which some programs may not fork.
    """
    with _disable_current_modes(), torch.inference_mode(False), torch.enable_grad():
        leaf = torch.ones(4, requires_grad=True)
        total = ((leaf * leaf).exp() * leaf).sum()
        compared = _compare(lambda: torch.autograd.grad(total, leaf, retain_graph=True))
    return compared.around - calibrate().inside


@dataclass(frozen=True, slots=True)
class _Compared:
    """The same work with and without the recorder, in nanoseconds."""

    bare: float
    duration: float  # as recorded, of one operator
    around: float  # an operator's share of what is longer and not in the recorder's bookkeeping


def _compare(work: Callable[[], object]) -> _Compared:
    columns = Columns()
    mode = Mode(columns, Book(), Modules(columns.modules))
    without, within = _Samples(), _Samples()
    for _ in range(_ROUNDS):
        without.take(work, mode)
        with mode:
            within.take(work, mode)
    mode.close()
    calls = len(columns) / len(within.wall)
    bare = median(without.wall)
    extra = median(within.wall) - bare - median(within.kept)
    return _Compared(bare, median(columns.duration.tolist()), extra / calls)


class _Samples:
    """Wall time of single calls, and how much of each the recorder says it kept itself busy."""

    def __init__(self) -> None:
        self.wall: list[int] = []
        self.kept: list[int] = []

    def take(self, work: Callable[[], object], mode: Mode) -> None:
        for _ in range(_REPEATS):
            spent, start = mode.bookkeeping, perf_counter_ns()
            work()
            self.wall.append(perf_counter_ns() - start)
            self.kept.append(mode.bookkeeping - spent)
