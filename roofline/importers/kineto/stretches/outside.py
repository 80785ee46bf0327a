"""Times of device activities outside what was recorded: before their launch, or long after it all.

The host says when a program was recorded: from the first to the last of its events, or as long as
the profiler says itself.  A device may still work off what was launched then, even for long; so it
is the odd one that is not believed, and never all of them.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.importers.kineto.stretches.doubt import Doubt
from roofline.importers.kineto.stretches.times import Times, arrow, ended, integers
from roofline.importers.limits import LONGEST_NS

if TYPE_CHECKING:
    import pyarrow as pa

_TIMES = 100  # assumed: so many windows late, or so many times as long as the rest, is damage
_CLOCKS = 10  # assumed: so many times the usual lead over a launch is not the clocks' difference
_EARLY_NS = 500_000  # assumed: the clocks of host and device differ by less
_RECORDED = 0.01  # of the recorded time, and 1 ms: what was later the profiler would have dropped
_LATE_NS = 1_000_000
_MOST_NS = (1 << 63) - 1  # that a column holds


@dataclass(frozen=True, slots=True)
class Window:
    """When the host was recorded [ns]."""

    first: int
    last: int
    recorded: bool = False  # the profiler itself says so; it drops what ran outside

    @property
    def limit(self) -> int:
        """What ends later is looked at."""
        length = self.last - self.first
        after = _RECORDED * length + _LATE_NS if self.recorded else _TIMES * max(length, 1)
        return self.last + min(int(after), LONGEST_NS)


def window(spans: "pa.Table", recorded: Iterable[tuple[float, float]]) -> Window | None:
    """Of the host's spans [ns] and the profiler's own records (start, duration) [us]."""
    import pyarrow.compute as pc

    ends = [
        (pc.min(start).as_py(), pc.max(pc.add(start, pc.fill_null(duration, 0))).as_py())
        for start, duration in (batch.columns for batch in _timed(spans))
    ]
    if not ends:
        return None
    first, last = min(first for first, _ in ends), max(last for _, last in ends)
    records = [
        (begun, round((begin + us) * 1000))
        for begin, us in recorded
        for begun in [round(begin * 1000)]
        if abs(begun - first) <= LONGEST_NS  # else its start was not recorded either
    ]
    if records:
        begun, done = min(b for b, _ in records), max(d for _, d in records)
        if begun - _LATE_NS <= first and last <= done + _LATE_NS:  # else cut from another
            return Window(min(first, begun), max(last, done), recorded=True)
    return Window(first, last)


def within(at: Times, launched: "pa.Array", of: Window | None) -> tuple[Times, Doubt]:
    """The times without those outside; `launched` is when each was launched [ns], null unknown.

    What is not believed has no duration, and begins with its launch where its own start cannot be.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    early = _early(at, launched)
    late, moved = _late(at, of) if of is not None else (set[int](), set[int]())
    if not early and not late:
        return at, Doubt()
    count = len(at.start)
    elsewhere, unknown = _marked(count, early | moved), _marked(count, early | late)
    begun = pc.fill_null(launched, pa.scalar(of.last if of else 0, pa.int64()))
    return ended(
        pc.if_else(elsewhere, begun, at.start),
        pc.if_else(unknown, pa.scalar(None, pa.int64()), at.duration),
    ), Doubt(early=len(early), late=len(late - early))


def _early(at: Times, launched: "pa.Array") -> set[int]:
    """Rows that begin before their launch, much more so than most do."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lead = pc.subtract(launched, at.start)
    if (pc.max(lead).as_py() or 0) <= _EARLY_NS:
        return set()
    usual = pc.quantile(pc.max_element_wise(lead, 0, skip_nulls=False), 0.5)[0].as_py()
    allowed = pa.scalar(min(max(_EARLY_NS, int(_CLOCKS * usual)), _MOST_NS), pa.int64())
    return set(pc.indices_nonzero(pc.greater(lead, allowed)).to_pylist())


def _late(at: Times, of: Window) -> tuple[set[int], set[int]]:
    """Rows that end long after the window, and those among them that begin so."""
    import pyarrow as pa
    import pyarrow.compute as pc

    beyond = pc.greater(at.end, pa.scalar(of.limit, pa.int64()))
    rows = pc.indices_nonzero(beyond)
    if not len(rows):
        return set(), set()
    if of.recorded:
        begun = pc.greater(at.start.take(rows), pa.scalar(of.limit, pa.int64()))
        return set(rows.to_pylist()), set(rows.filter(begun).to_pylist())
    others = at.duration.filter(pc.invert(beyond))
    usual = others if pc.count(others).as_py() else at.duration
    median = pc.quantile(usual, 0.5, interpolation="lower")[0].as_py() or 0
    reach = max(pc.max(at.end.filter(pc.invert(beyond))).as_py() or of.last, of.last)
    allowed = of.limit - of.last
    late: set[int] = set()
    moved: set[int] = set()
    rows = rows.cast(pa.int64()).take(pc.sort_indices(at.start.take(rows)))
    spans = (integers(column.take(rows)) for column in (at.start, at.end))
    for row, start, end in zip(integers(rows), *spans, strict=True):
        if start - reach > allowed:  # and nothing ran that it could have waited for
            late.add(row)
            moved.add(row)
        elif end - start > _TIMES * median:
            late.add(row)
        else:
            reach = max(reach, end)
    return late, moved


def _timed(spans: "pa.Table") -> "Iterator[pa.RecordBatch]":
    return (b for b in spans.select(["start", "duration"]).to_batches() if b.num_rows)


def _marked(count: int, rows: set[int]) -> "pa.Array":
    import pyarrow.compute as pc

    marks = array("b", bytes(count))
    for row in rows:
        marks[row] = 1
    return pc.equal(arrow(marks), 1)
