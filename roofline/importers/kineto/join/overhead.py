"""The profiler's own work: time of a step that the program would not have spent."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from roofline.importers.kineto.stretches.times import Times, integers
from roofline.runfile import Step

Interval = tuple[int, int]
_BEFORE, _AFTER = -(2**62), 2**62


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


def set_apart(steps: Sequence[Step], idle: Sequence[Interval], origin: int) -> tuple[Step, ...]:
    """Steps with the profiler's work as bookkeeping, as far as the device was `idle` meanwhile."""
    return tuple(
        replace(
            step,
            bookkeeping_ns=sum(
                _overlap(part, step.start_ns + origin, step.duration_ns) for part in idle
            ),
        )
        for step in steps
    )


def without(intervals: Sequence[Interval], device: Times) -> list[Interval]:
    """What is left of `intervals` without the time in which something ran on the device."""
    if not intervals:
        return []
    begins, ends = _idle(device)
    return [part for interval in intervals for part in _within(interval, begins, ends)]


def _idle(device: Times) -> tuple[Sequence[int], Sequence[int]]:
    """Where nothing runs on the device: begins and ends, from before all to after all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    order = pc.sort_indices(device.start)
    start, end = device.start.take(order), device.end.take(order)
    kind = pa.int64()
    reached = pa.concat_arrays([pa.array([_BEFORE], kind), pc.cumulative_max(end)])
    following = pa.concat_arrays([start, pa.array([_AFTER], kind)])
    gaps = pc.greater(following, reached)
    return integers(reached.filter(gaps)), integers(following.filter(gaps))


def _within(interval: Interval, begins: Sequence[int], ends: Sequence[int]) -> list[Interval]:
    """The parts of `interval` inside the gaps."""
    parts = []
    for at in range(bisect_right(ends, interval[0]), len(begins)):
        if begins[at] >= interval[1]:
            break
        parts.append((max(begins[at], interval[0]), min(ends[at], interval[1])))
    return parts


def _overlap(part: Interval, start: int, length: int) -> int:
    return max(0, min(part[1], start + length) - max(part[0], start))
