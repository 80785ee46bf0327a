"""Times of device activities that cannot be: kept as unknown, and counted."""

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.importers.kineto.columns import Activities
from roofline.importers.kineto.times import Times, arrow, ended, integers

if TYPE_CHECKING:
    import pyarrow as pa

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
    import pyarrow as pa
    import pyarrow.compute as pc

    zero = pc.fill_null(pc.equal(at.duration, 0), False)
    long: list[int] = []
    for device, stream in _streams(of):
        on = pc.and_(pc.equal(arrow(of.device), device), pc.equal(arrow(of.stream), stream))
        long += _overlong(pc.indices_nonzero(pc.and_(on, pc.is_valid(at.duration))), at)
    marks = array("b", bytes(len(zero)))
    for row in long:
        marks[row] = 1
    wrong = pc.or_(zero, pc.equal(arrow(marks), 1))
    duration = pc.if_else(wrong, pa.scalar(None, pa.int64()), at.duration)
    return ended(at.start, duration), Doubt(pc.sum(zero).as_py() or 0, len(long))


def _streams(of: Activities) -> list[tuple[int, int]]:
    import pyarrow as pa

    table = pa.table({"device": arrow(of.device), "stream": arrow(of.stream)})
    distinct = table.group_by(["device", "stream"]).aggregate([])
    return list(zip(*(column.to_pylist() for column in distinct.columns), strict=True))


def _overlong(rows: "pa.Array", at: Times) -> list[int]:
    """Rows of one stream that end after a later one has ended, and are far too long."""
    import pyarrow as pa
    import pyarrow.compute as pc

    duration = at.duration.take(rows)
    limit = _TIMES * (pc.quantile(duration, 0.5)[0].as_py() or 0.0)
    if not len(rows) or pc.max(duration).as_py() <= limit:
        return []
    rows = rows.cast(pa.int64()).take(pc.sort_indices(at.start.take(rows)))
    found: list[int] = []
    earliest: int | None = None  # the earliest end among later activities
    ordered, ends = integers(rows), integers(at.end.take(rows))
    lasted = integers(at.duration.take(rows))
    for place in range(len(rows) - 1, -1, -1):
        if lasted[place] > limit and earliest is not None and earliest < ends[place]:
            found.append(ordered[place])
        else:
            earliest = ends[place] if earliest is None else min(earliest, ends[place])
    return found
