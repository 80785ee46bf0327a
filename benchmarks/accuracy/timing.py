"""Times of a case on the card: device events around each call, operands from memory, warm clocks."""

import gc
from dataclasses import dataclass
from math import ceil
from typing import Any

import torch
from cases import Case

SAMPLES, WARM_S = 30, 8e-3
HOLD_CYCLES = 12_000_000  # the device waits about 6 ms while the host queues the samples
CACHES = 4  # sets of operands take turns, and are this many times the L2


@dataclass(frozen=True, slots=True)
class Rotation:
    """Sets of operands that take turns, so that a call finds none of its own in the L2."""

    sets: list[tuple[Any, ...]]
    held: list[Any]  # results, kept until their turn comes again, so that these take turns too


def rotation(case: Case, moved: int, l2: int) -> Rotation:
    """As many sets as it takes; `moved` are the bytes of one call."""
    sets = max(3, ceil(CACHES * l2 / moved) + 1)
    return Rotation([case.operands("cuda") for _ in range(sets)], [None] * sets)


def call(case: Case, around: Rotation, turn: int) -> None:
    """Run the case once on the set whose turn it is."""
    at = turn % len(around.sets)
    around.held[at] = case.run(*around.sets[at])


def times_s(case: Case, around: Rotation) -> list[float]:
    """Seconds of each of SAMPLES calls, all of them queued before the first begins."""
    for turn in range(2 * len(around.sets)):  # compile, fill the allocator
        call(case, around, turn)
    once_s = max(_queued(case, around, 1, 1)[0], 1e-6)
    return _queued(case, around, SAMPLES, min(400, ceil(WARM_S / once_s)))


def _queued(case: Case, around: Rotation, count: int, warm: int) -> list[float]:
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    torch.cuda.synchronize()
    for turn in range(warm):
        call(case, around, turn)
    torch.cuda._sleep(HOLD_CYCLES)
    for turn, (start, end) in enumerate(events, warm):
        start.record()
        call(case, around, turn)
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) / 1e3 for start, end in events]


def forget() -> None:
    """Give the memory of the last case back."""
    gc.collect()
    torch.cuda.empty_cache()
