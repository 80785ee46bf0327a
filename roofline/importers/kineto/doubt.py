"""Times of device activities that cannot be: kept as unknown, and counted."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from roofline.importers.kineto.columns import NONE, Activities
from roofline.importers.kineto.times import Times

_TIMES = 100  # assumed: a duration so many times the stream's median is looked at


@dataclass(frozen=True, slots=True)
class Doubt:
    """How many activities have no believable duration, by what is wrong with it."""

    zero: int  # shorter than the trace can tell
    overlong: int  # reaches over whole later activities of the same stream


def doubted(of: Activities, at: Times) -> tuple[Times, Doubt]:
    """The times without those that cannot be.

    A stream runs one kernel after the other.  One that still runs when a later one of its stream
    has started and ended is impossible; branches of a graph look so too, but are not a hundred
    times as long as the rest.
    """
    duration = array("q", at.duration)
    zero = 0
    streams: dict[tuple[int, int], list[int]] = {}
    for row, ns in enumerate(duration):
        if ns == 0:
            duration[row] = NONE
            zero += 1
        elif ns != NONE:
            streams.setdefault((of.device[row], of.stream[row]), []).append(row)
    overlong = [row for rows in streams.values() for row in _overlong(rows, at)]
    for row in overlong:
        duration[row] = NONE
    end = array("q", [s + max(d, 0) for s, d in zip(at.start, duration, strict=True)])
    return Times(at.start, duration, end), Doubt(zero, len(overlong))


def _overlong(rows: list[int], at: Times) -> Sequence[int]:
    limit = _TIMES * median(at.duration[row] for row in rows)
    if not any(at.duration[row] > limit for row in rows):
        return ()
    rows.sort(key=at.start.__getitem__)
    found, earliest = [], None  # the earliest end among later activities
    for row in reversed(rows):
        if at.duration[row] > limit and earliest is not None and earliest < at.end[row]:
            found.append(row)
        else:
            earliest = at.end[row] if earliest is None else min(earliest, at.end[row])
    return found
