"""A trace that is too long for memory -> stretches of time, to be converted one after the other.

Columns go to a file whenever they have grown to ROWS.  In the end the trace is divided at moments
at which no operator is open on any thread, so that whatever nests in an operator is in its stretch.
What ran on a device is in the stretch of its launch, whenever it ran.  Annotations and modules that
are open at such a moment stand once more in the next stretch, to say what holds there.

A trace that stays below ROWS is one stretch and touches no file; so is one whose threads are never
all idle, and one whose launches are of several processes, since their numbers repeat.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.importers.kineto.read.columns import (
    LAUNCH,
    NONE,
    OP,
    RANGE,
    Activities,
    Columns,
    Spans,
)
from roofline.importers.kineto.stretches.devices import Choose, Spent, busiest
from roofline.importers.kineto.stretches.outside import Window
from roofline.importers.kineto.stretches.survey import Survey, survey
from roofline.importers.kineto.stretches.times import Times, arrow, ended, times
from roofline.kept import Kept

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 1 << 19  # of a stretch, about: what is held of each is some hundred bytes
_SAMPLED = 64  # starts in a stretch that tell where its rows are
_TRIES = 64  # ends of operators at which a quiet moment is looked for
_SPANS, _LINKS, _RAN = "spans", "links", "activities"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Columns of a stretch of the trace, with the times of their rows."""

    columns: Columns
    spans: Times
    ran: Times
    window: Window | None = None  # in which the whole trace was recorded
    device: int | None = None  # the one that the run is of, where there are several


class Stretches:
    """Takes in the columns of a trace as they grow; then gives them back, stretch by stretch."""

    def __init__(self, columns: Columns, rows: int = ROWS, choose: Choose = busiest):
        self._columns = columns
        self._choose = choose
        self._rows = rows
        self._kept: Kept | None = None  # the rows moved away so far, in the order they came
        self._moved = 0  # spans among them
        self._moments: list[int] = []
        self._times: tuple[Times, Times] | None = None  # of all rows, where there is one stretch
        self.found = Survey()  # known once divided
        self.devices: Mapping[int, Spent] = {}  # the same; the run's own comes first

    @property
    def device(self) -> int | None:
        """The device that the run is of; None: nothing ran on one."""
        return next(iter(self.devices), None)

    @property
    def overlong(self) -> int:
        """How many of its durations cannot be, since later ones of the stream had ended."""
        return 0 if self.device is None else self.found.overlong.get(self.device, 0)

    @property
    def spans(self) -> int:
        """How many there are so far."""
        return self._moved + len(self._columns.spans)

    def move(self) -> None:
        """Move rows away, where there are many."""
        if len(self._columns.spans) + len(self._columns.activities) >= self._rows:
            self._move()

    def divide(self) -> int:
        """No more rows will come: how many stretches are there?"""
        if self._kept is None:
            columns = self._columns
            spans, ran = self._survey(_packed(columns.spans), _packed(columns.activities))
            columns.spans, of_spans = _fewer(columns.spans, spans)
            columns.activities, of_ran = _fewer(columns.activities, ran)
            self._times = of_spans, of_ran
            return 1
        self._move()
        spans, ran = self._survey(self._kept.take(_SPANS), self._kept.take(_RAN))
        self._kept = Kept(most=0)
        self._moments = _moments(self._columns, spans, ran, self._rows)
        _part_spans(spans, self._moments, self._kept)
        _part_activities(ran, self._moments, self._kept)
        return len(self._moments) + 1

    def __iter__(self) -> Iterator[Stretch]:
        """Every stretch, in order of time; each is given up as it is taken."""
        columns = self._columns
        if self._times is not None:
            (of_spans, of_ran), self._times = self._times, None
            yield Stretch(columns, of_spans, of_ran, self.found.window, self.device)
            return
        assert self._kept is not None  # the rows of a trace that is not one stretch
        for at in range(len(self._moments) + 1):
            part = copy(columns)  # names and calls are those of the whole trace
            part.spans, span_times = _unpacked(Spans(), self._kept.take((_SPANS, at)))
            part.activities, ran_times = _unpacked(Activities(), self._kept.take((_RAN, at)))
            yield Stretch(part, span_times, ran_times, self.found.window, self.device)

    def _survey(self, spans: "pa.Table", ran: "pa.Table") -> "tuple[pa.Table, pa.Table]":
        """What of them is believed."""
        spans, ran, self.found = survey(spans, ran, self._columns.recorded)
        devices = self.found.devices
        chosen = self._choose(list(devices))
        own = list(devices)[chosen : chosen + 1]  # none where nothing ran on one
        self.devices = {device: devices[device] for device in (*own, *devices)}
        return spans, ran

    def _move(self) -> None:
        if self._kept is None:
            self._kept = Kept(most=0)
        columns = self._columns
        self._moved += len(columns.spans)
        self._kept.add(_SPANS, _packed(columns.spans))
        self._kept.add(_RAN, _packed(columns.activities))
        columns.spans, columns.activities = Spans(), Activities()


def _packed(of: Spans | Activities) -> "pa.Table":
    """Columns as a table, times as whole nanoseconds."""
    import pyarrow as pa

    at = times(of)
    plain = {name: arrow(values) for name, values in vars(of).items()}
    return pa.table(plain | {"start": at.start, "duration": at.duration})


def _unpacked(into: Any, rows: "pa.Table | None") -> tuple[Any, Times]:
    """The columns again, and the times that stood among them."""
    import pyarrow as pa

    if rows is None or not rows.num_rows:
        return into, times(into)
    for name, values in vars(into).items():
        if name not in ("start", "duration"):
            for chunk in rows[name].chunks:
                size, octets = values.itemsize, memoryview(chunk.buffers()[1] or b"")
                values.frombytes(octets[chunk.offset * size : (chunk.offset + len(chunk)) * size])
    start, duration = (pa.concat_arrays(rows[name].chunks) for name in ("start", "duration"))
    return into, ended(start, duration)


def _fewer(of: Any, rows: "pa.Table") -> tuple[Any, Times]:
    """Columns without the rows that a table of them no longer has, and the times in it."""
    if len(of) != rows.num_rows or not rows.num_rows:
        return _unpacked(type(of)(), rows)
    start, duration = (rows[name].chunk(0) for name in ("start", "duration"))  # nothing was divided
    return of, ended(start, duration)


def _moments(columns: Columns, spans: "pa.Table", ran: "pa.Table", rows: int) -> list[int]:
    """Where to divide: about equally many rows apart, no operator open."""
    import pyarrow.compute as pc

    if len(_processes(columns, spans)) > 1:
        return []
    every = max(rows // _SAMPLED, 1)
    sampled = sorted(
        start
        for table in (spans, ran)
        for batch in table.select(["start"]).to_batches()
        for start in batch["start"][::every].to_pylist()
    )
    parts = (spans.num_rows + ran.num_rows) // rows + 1
    wanted = {sampled[at * len(sampled) // parts] for at in range(1, parts)} if sampled else set()
    open_ = [
        (pc.min(start).as_py(), pc.max(end).as_py(), start, end)
        for batch in spans.to_batches()
        for start, end in [_open(batch, OP)]
        if len(start)
    ]
    found = (_quiet(open_, moment) for moment in sorted(wanted))
    return sorted({moment for moment in found if moment is not None and moment <= sampled[-1]})


def _processes(columns: Columns, spans: "pa.Table") -> set[int]:
    """The processes that have launched something."""
    found: set[int] = set()
    for batch in spans.select(["kind", "thread", "link"]).to_batches():
        threads = batch["thread"].filter(_launches(batch)).unique().to_pylist()
        found |= {columns.process_of[thread] for thread in threads}
    return found


def _open(batch: "pa.RecordBatch", kind: int) -> tuple["pa.Array", "pa.Array"]:
    """Start and end of the spans of a kind that last."""
    import pyarrow.compute as pc

    lasting = batch.filter(pc.and_(pc.equal(batch["kind"], kind), pc.greater(batch["duration"], 0)))
    return lasting["start"], pc.add(lasting["start"], lasting["duration"])


def _quiet(spans: Sequence[tuple[int, int, "pa.Array", "pa.Array"]], moment: int) -> int | None:
    """The first moment from `moment` on at which none of `spans` is open."""
    import pyarrow.compute as pc

    for _ in range(_TRIES):
        latest = moment
        for first, last, start, end in spans:
            if first < moment < last:
                around = pc.and_(pc.less(start, moment), pc.greater(end, moment))
                latest = max(latest, pc.max(end.filter(around)).as_py() or latest)
        if latest == moment:
            return moment
        moment = latest
    return None


def _part_spans(spans: "pa.Table", moments: Sequence[int], kept: Kept) -> None:
    """Each row to the stretch it starts in; ranges to those that they reach into as well."""
    import pyarrow.compute as pc

    for batch in spans.to_batches():
        for at, rows in _by_start(batch, moments):
            kept.add((_SPANS, at), _table(rows))
            launched = rows.filter(_launches(rows))
            if launched.num_rows:
                kept.add((_LINKS, at), _table(launched.select(["link"])))
        ranges = batch.filter(pc.equal(batch["kind"], RANGE))
        ends = pc.add(ranges["start"], pc.fill_null(ranges["duration"], 0))
        last = pc.max(ends).as_py()
        for at, moment in enumerate(moments, 1):
            if last is not None and moment < last:
                over = pc.and_(pc.less(ranges["start"], moment), pc.greater(ends, moment))
                if pc.any(over).as_py():
                    kept.add((_SPANS, at), _table(ranges.filter(over)))


def _part_activities(ran: "pa.Table", moments: Sequence[int], kept: Kept) -> None:
    """Each row to the stretch of its launch; one without to that in which it ran."""
    import pyarrow as pa
    import pyarrow.compute as pc

    links = {at: kept.take((_LINKS, at)) for at in range(len(moments) + 1)}
    launches = {at: rows["link"] for at, rows in links.items() if rows is not None}
    reach = {at: pc.min_max(numbers).as_py() for at, numbers in launches.items()}
    for batch in ran.to_batches():
        left, ends = batch, pc.min_max(batch["correlation"]).as_py()
        for at, numbers in launches.items():
            if reach[at]["min"] <= ends["max"] and ends["min"] <= reach[at]["max"]:
                started = pa.concat_arrays(numbers.chunks)
                here = pc.is_in(left["correlation"], value_set=started)
                if pc.any(here).as_py():
                    kept.add((_RAN, at), _table(left.filter(here)))
                    left = left.filter(pc.invert(here))
        for at, rows in _by_start(left, moments):
            kept.add((_RAN, at), _table(rows))


def _by_start(
    batch: "pa.RecordBatch", moments: Sequence[int]
) -> "Iterator[tuple[int, pa.RecordBatch]]":
    """The rows of each stretch, by when they start."""
    import pyarrow.compute as pc

    if not batch.num_rows:
        return
    start = batch["start"]
    ends = pc.min_max(start).as_py()
    first, last = bisect_right(moments, ends["min"]), bisect_right(moments, ends["max"])
    for at in range(first, last + 1):
        after = pc.greater_equal(start, moments[at - 1]) if at > first else None
        before = pc.less(start, moments[at]) if at < last else None
        both = [mask for mask in (after, before) if mask is not None]
        rows = batch.filter(both[0] if len(both) == 1 else pc.and_(*both)) if both else batch
        if rows.num_rows:
            yield at, rows


def _launches(batch: "pa.RecordBatch") -> "pa.Array":
    import pyarrow.compute as pc

    return pc.and_(pc.equal(batch["kind"], LAUNCH), pc.not_equal(batch["link"], NONE))


def _table(batch: "pa.RecordBatch") -> "pa.Table":
    import pyarrow as pa

    return pa.Table.from_batches([batch])
