"""Times of device activities that cannot be: kept as unknown, and counted."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.importers.kineto.read.columns import Activities
from roofline.importers.kineto.stretches.times import Times, arrow, ended, integers

if TYPE_CHECKING:
    import pyarrow as pa

_TIMES = 100  # assumed: a duration so many times the stream's median is looked at


@dataclass(frozen=True, slots=True)
class Doubt:
    """How many activities have no believable duration, by what is wrong with it."""

    zero: int = 0  # shorter than the trace can tell
    overlong: int = 0  # reaches over whole later activities of the same stream
    early: int = 0  # begins before its launch
    late: int = 0  # ends long after everything that was recorded

    def __add__(self, other: "Doubt") -> "Doubt":
        return Doubt(
            self.zero + other.zero,
            self.overlong + other.overlong,
            self.early + other.early,
            self.late + other.late,
        )


Streams = Mapping[tuple[int, int], int]  # device and stream -> a time


def doubted(of: Activities, at: Times, following: Streams) -> tuple[Times, Doubt]:
    """The times without those that cannot be.

    `following` is the earliest end, by stream, of what comes later in the trace.

    A stream runs one kernel after the other.  One that still runs when a later one of its stream
    has started and ended is impossible; branches of a graph look so too, but are not a hundred
    times as long as the rest.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    zero = pc.fill_null(pc.equal(at.duration, 0), False)
    long: list[int] = []
    for device, stream in _streams(of):
        on = pc.and_(pc.equal(arrow(of.device), device), pc.equal(arrow(of.stream), stream))
        rows = pc.indices_nonzero(pc.and_(on, pc.is_valid(at.duration)))
        long += _overlong(rows, at, following.get((device, stream)))
    marks = array("b", bytes(len(zero)))
    for row in long:
        marks[row] = 1
    wrong = pc.or_(zero, pc.equal(arrow(marks), 1))
    duration = pc.if_else(wrong, pa.scalar(None, pa.int64()), at.duration)
    return ended(at.start, duration), Doubt(pc.sum(zero).as_py() or 0, len(long))


def earliest_ends(rows: "pa.Table") -> Streams:
    """Of activities as a table of columns, by stream."""
    import pyarrow.compute as pc

    known = rows.select(["device", "stream", "start", "duration"]).filter(
        pc.is_valid(rows["duration"])
    )
    ends = known.append_column("end", pc.add(known["start"], known["duration"]))
    least = ends.group_by(["device", "stream"]).aggregate([("end", "min")])
    columns = (least[name].to_pylist() for name in ("device", "stream", "end_min"))
    return {(device, stream): end for device, stream, end in zip(*columns, strict=True)}


def _streams(of: Activities) -> list[tuple[int, int]]:
    import pyarrow as pa

    table = pa.table({"device": arrow(of.device), "stream": arrow(of.stream)})
    distinct = table.group_by(["device", "stream"]).aggregate([])
    return list(zip(*(column.to_pylist() for column in distinct.columns), strict=True))


def _overlong(rows: "pa.Array", at: Times, earliest: int | None) -> list[int]:
    """Rows of one stream that end after a later one has ended, and are far too long.

    `earliest` is the earliest end among later activities.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    duration = at.duration.take(rows)
    limit = _TIMES * (pc.quantile(duration, 0.5)[0].as_py() or 0.0)
    if not len(rows) or pc.max(duration).as_py() <= limit:
        return []
    rows = rows.cast(pa.int64()).take(pc.sort_indices(at.start.take(rows)))
    found: list[int] = []
    ordered, ends = integers(rows), integers(at.end.take(rows))
    lasted = integers(at.duration.take(rows))
    for place in range(len(rows) - 1, -1, -1):
        if lasted[place] > limit and earliest is not None and earliest < ends[place]:
            found.append(ordered[place])
        else:
            earliest = ends[place] if earliest is None else min(earliest, ends[place])
    return found
