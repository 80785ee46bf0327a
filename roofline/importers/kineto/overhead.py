"""The profiler's own work: time of a step that the program would not have spent."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from roofline.importers.kineto.times import Times
from roofline.runfile import Step

Interval = tuple[int, int]


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """The union of intervals, in order.

    >>> merged([(5, 9), (0, 3), (2, 4)])
    [(0, 4), (5, 9)]
    """
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def set_apart(
    steps: Sequence[Step], overhead: Iterable[Interval], device: Times, origin: int
) -> tuple[Step, ...]:
    """Steps with the profiler's work as bookkeeping, as far as the device was idle meanwhile."""
    spent = merged(overhead)
    if not spent:
        return tuple(steps)
    busy = merged(zip(device.start, device.end, strict=True))
    begins = [start for start, _ in busy]
    idle = [part for interval in spent for part in _without(interval, busy, begins)]
    return tuple(
        replace(
            step,
            bookkeeping_ns=sum(
                _overlap(part, step.start_ns + origin, step.duration_ns) for part in idle
            ),
        )
        for step in steps
    )


def _without(interval: Interval, busy: Sequence[Interval], begins: Sequence[int]) -> list[Interval]:
    start, end = interval
    parts = []
    for at in range(max(bisect_right(begins, start) - 1, 0), len(busy)):
        if busy[at][0] >= end:
            break
        if busy[at][0] > start:
            parts.append((start, busy[at][0]))
        start = max(start, busy[at][1])
    return [*parts, (start, end)] if start < end else parts


def _overlap(part: Interval, start: int, length: int) -> int:
    return max(0, min(part[1], start + length) - max(part[0], start))
