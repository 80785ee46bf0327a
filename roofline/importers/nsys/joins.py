"""The joins of a database: activity, launch and range."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.importers.chosen import Gpu, of_several, way_to
from roofline.importers.kineto.join.names import launches_graph
from roofline.importers.nsys import graphs, times
from roofline.importers.nsys.ranges import Range, Timeline, divided
from roofline.importers.nsys.read import Database
from roofline.importers.rows import MANY, same
from roofline.runfile import Gap
from roofline.units import number_of

if TYPE_CHECKING:
    import pyarrow as pa

_SPARSE = 4  # ids of launches may have so many gaps between them, of each one, to be looked up
# The last moment of a thread at which another range began or ended, and what holds since.
_RANGES = """
SELECT l.row, t.path FROM launching l
ASOF JOIN timeline t ON l.thread = t.thread AND l.start >= t.time
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Everything that ran on one device, joined; in order of time, given up as it is taken."""

    device: int | None
    span: tuple[int, int]  # first start and last end of anything that the recording saw started
    steps: Sequence[Range]  # in which something was started; [] where ranges mark none
    # As in `Database`, and: launch, the row of its launch, null is not known; begun, when that was,
    # null is before the recording; path, what it stands in, a number of `Timeline.paths`; graph,
    # whether its launch is that of a captured graph.
    activities: list["pa.RecordBatch"]
    launches: list["pa.RecordBatch"]  # calls as in `Database`, those that started an activity
    contradicted: int  # activities whose durations later ones contradict
    # Numbers that activities have, and that launches have, as they first appear.
    keys: Sequence[int]  # of those that no graph replays
    replayed: Sequence[int]  # of those that one does
    processes: Sequence[int]
    names: Sequence[int]
    gaps: tuple[Gap, ...]
    warnings: tuple[str, ...]


def join(database: Database, line: Timeline, option: str | None, file: str) -> Joined:
    """Join the activities of one device of `file`: the user's `option`, else the busiest."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ran, doubts = times.activities(database.rows.pop("activities"), database.values["stream"])
    calls, more = times.calls(database.rows.pop("calls"))
    device, ran, gaps = _of_one(ran, database, option, file)
    launch, warnings = _launch(ran, calls)
    whole = graphs.whole(ran, database.values)
    if whole is not None:
        ran, launch, whole = graphs.unknown(ran, launch, whole)
    launch, launches = _used(launch, calls)
    early = times.early(ran, launch, launches)
    begun = _of_launch(launches["start"], launch, ran["start"])
    steps, empty = times.held(divided(line.steps), launches["start"], begun, launch)
    if not steps:
        begun = ran["start"]
    threads = [thread for (thread,) in database.called["thread"]]
    path = _path(launches, threads, line) if line.time else None
    process = _of_launch(launches["process"], launch, ran["process"])
    graph = _in_graph(launches, launch, database, whole)
    activities = {
        **{name: ran[name] for name in ("start", "duration", "key", "configuration", "stream")},
        "process": process,
        "path": same(0, pa.int32(), ran.num_rows) if path is None else _of_launch(path, launch, 0),
        "launch": launch,
        "begun": begun if early is None else pc.if_else(early, pa.scalar(None, pa.int64()), begun),
        "graph": same(False, pa.bool_(), ran.num_rows) if graph is None else graph,
    }
    kept = launches.select(["start", "duration", "process", "name"])
    return Joined(
        device=device,
        span=_span(ran if early is None else ran.filter(pc.invert(early)), launches),
        steps=steps,
        contradicted=pc.sum(ran["contradicted"]).as_py() or 0,
        activities=pa.table(activities).to_batches(max_chunksize=MANY),
        launches=kept.to_batches(max_chunksize=MANY),
        keys=_here(ran["key"] if graph is None else ran["key"].filter(pc.invert(graph))),
        replayed=[] if graph is None else _here(ran["key"].filter(graph)),
        processes=_here(process),
        names=_here(launches["name"]),
        gaps=(*gaps, *times.gaps(ran, launch, early, graph), *graphs.gaps(ran, whole)),
        warnings=(*doubts, *more, *warnings, *times.lost(launch, early), *empty),
    )


def _in_graph(
    launches: "pa.Table",
    launch: "pa.ChunkedArray",
    database: Database,
    whole: "pa.ChunkedArray | None",
) -> "pa.ChunkedArray | None":
    """Which activities a captured graph replays; None where no launch is that of one.

    Those of `whole` are no part of a graph.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = (name for (name,) in database.called["name"])
    graphs = [launches_graph(database.named(name)) for name in names]
    if not any(graphs):
        return None
    by = pa.array(graphs, pa.bool_()).take(launches["name"].combine_chunks())
    replayed = pc.fill_null(by.take(launch), False)
    return replayed if whole is None else pc.and_not(replayed, whole)


def _of_launch(
    column: "pa.ChunkedArray", launch: "pa.ChunkedArray", otherwise: Any
) -> "pa.ChunkedArray":
    """For each activity what holds of its launch; `otherwise` where that says nothing."""
    import pyarrow.compute as pc

    return pc.coalesce(column.combine_chunks().take(launch), otherwise)


def _here(numbers: "pa.ChunkedArray") -> list[int]:
    import pyarrow.compute as pc

    return pc.unique(numbers).drop_null().to_pylist()  # type: ignore[no-any-return]


def _span(*tables: "pa.Table") -> tuple[int, int]:
    import pyarrow.compute as pc

    starts = [s for t in tables if (s := pc.min(t["start"]).as_py()) is not None]
    ends = (pc.max(pc.add(t["start"], t["duration"])).as_py() for t in tables)
    first = min(starts, default=0)
    return first, max((end for end in ends if end is not None), default=first)


def _of_one(
    rows: "pa.Table", database: Database, option: str | None, file: str
) -> tuple[int | None, "pa.Table", tuple[Gap, ...]]:
    """The device of the run; what ran on others is a gap."""
    import pyarrow.compute as pc

    devices = [device for (device,) in database.values["device"]]
    if len(devices) == 1:
        of_several(option, [_gpu(devices[0], database)], file)
        return devices[0], rows, ()
    sums = rows.group_by("device").aggregate([("duration", "sum"), ("device", "count")]).to_pylist()
    spent = {each["device"]: (each["duration_sum"] or 0, each["device_count"]) for each in sums}
    order = sorted(
        spent,
        key=lambda at: (-spent[at][0], devices[at] is None, devices[at] or 0),
    )
    gpus = [_gpu(devices[at], database) for at in order]
    chosen = of_several(option, gpus, file)
    first = order[chosen]
    gaps = tuple(
        Gap(
            name="no stated device" if devices[at] is None else f"device {devices[at]}",
            what=f"a run is of one device: what ran on this one is not in it{way_to(gpu, gpus)}",
            seconds=spent[at][0] / 1e9,
            count=spent[at][1],
        )
        for at, gpu in zip(order, gpus, strict=True)
        if at != first
    )
    return devices[first], rows.filter(pc.equal(rows["device"], first)), gaps


def _gpu(device: int | None, database: Database) -> Gpu:
    return Gpu(device, "" if device is None else database.gpus.get(device, ""))


def _launch(activities: "pa.Table", calls: "pa.Table") -> tuple["pa.ChunkedArray", list[str]]:
    """For each activity the first call with its correlation id within its process."""
    import pyarrow.compute as pc

    unsaid, unnamed = activities["process"].null_count, calls["process"].null_count
    processes = [set(pc.unique(t["process"]).drop_null().to_pylist()) for t in (activities, calls)]
    wanted, known = activities["correlation"], calls["correlation"]
    of_one = len(processes[0] | processes[1]) < 2
    if of_one or (unsaid and len(processes[1]) < 2 and not unnamed):
        return _first(known, wanted), []
    warnings = []
    if unsaid:
        warnings.append(
            f"of {number_of(unsaid, 'activity')} nothing says which of "
            f"{number_of(len(processes[1]), 'process')} started it: their launches and ranges are "
            "not known"
        )
    if unnamed:
        warnings.append(
            f"of {number_of(unnamed, 'call')} of the runtime nothing says which process made it: "
            "what they started has no launch and no range"
        )
    wanted, known = _apart(activities, calls)
    return _first(known, wanted), warnings


def _apart(*tables: "pa.Table") -> list["pa.ChunkedArray"]:
    """Numbers that are equal where correlation id and process are; null where either is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = [table["correlation"] for table in tables]
    of = [table["process"] for table in tables]
    processes = {process for each in of for process in pc.unique(each).to_pylist()}
    both = pa.concat_arrays([chunk.cast(pa.int64()) for each in ids for chunk in each.chunks])
    codes = both.dictionary_encode().indices.cast(pa.int64())  # small, whatever the ids are
    number = pc.multiply(codes, len(processes))
    first = number.slice(0, len(ids[0])), number.slice(len(ids[0]))
    return [pc.add(number, each) for number, each in zip(first, of, strict=True)]


def _first(known: "pa.ChunkedArray", wanted: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """For each of `wanted` the first place in `known` that holds the same [int32]; else null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    least, most = (each.as_py() for each in pc.min_max(known).values())
    if least is not None and most - least < _SPARSE * len(known):
        at = [pc.subtract(chunk, least).cast(pa.int32()) for chunk in known.chunks]
        place = pc.inverse_permutation(pa.concat_arrays(at), max_index=most - least)
        if len(place) - place.null_count == len(known) - known.null_count:  # none twice
            return pa.chunked_array(
                [_looked_up(place, c, least) for c in wanted.chunks], pa.int32()
            )
    known, wanted = known.cast(pa.int64()), wanted.cast(pa.int64())
    return pc.index_in(wanted, value_set=known.combine_chunks(), skip_nulls=True)


def _looked_up(place: "pa.Array", ids: "pa.Array", least: int) -> "pa.Array":
    """What stands in `place` for each id, the first being that of `least`; null beyond its ends."""
    import pyarrow as pa
    import pyarrow.compute as pc

    at = pc.subtract(ids.cast(pa.int64()), least)
    inside = pc.and_(pc.greater_equal(at, 0), pc.less(at, len(place)))
    return place.take(pc.if_else(inside, at, pa.scalar(None, pa.int64())))


def _used(launch: "pa.ChunkedArray", calls: "pa.Table") -> tuple["pa.ChunkedArray", "pa.Table"]:
    """For each activity the row of its launch among the launches, and those of the calls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = launch.combine_chunks().drop_null()
    used = pc.is_valid(pc.inverse_permutation(rows, max_index=calls.num_rows - 1))
    if pc.all(used).as_py() in (True, None):
        return launch, calls
    number = pc.subtract(pc.cumulative_sum(used.cast(pa.int32())), pa.scalar(1, pa.int32()))
    return number.take(launch), calls.filter(used)


def _path(launches: "pa.Table", threads: Sequence[int | None], line: Timeline) -> "pa.ChunkedArray":
    """What each launch stands in."""
    import duckdb
    import pyarrow as pa
    import pyarrow.compute as pc

    number = {thread: at for at, thread in enumerate(threads)}
    with duckdb.connect() as connection:
        connection.register("launching", pa.table({
            "row": pa.array(range(launches.num_rows), pa.int32()),
            "thread": launches["thread"], "start": launches["start"],
        }))  # fmt: skip
        connection.register("timeline", pa.table({
            "thread": pa.array([number.get(thread) for thread in line.thread], pa.int32()),
            "time": pa.array(line.time, pa.int64()), "path": pa.array(line.path, pa.int32()),
        }))  # fmt: skip
        found = connection.sql(_RANGES).to_arrow_table()
    at = pc.inverse_permutation(found["row"].combine_chunks(), max_index=launches.num_rows - 1)
    return pc.fill_null(found["path"].take(at), 0)
