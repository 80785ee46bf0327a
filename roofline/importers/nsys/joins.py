"""The joins of a database: activity, launch and range."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.errors import BadInput
from roofline.importers.kineto.join.names import launches_graph
from roofline.importers.nsys import graphs, times
from roofline.importers.nsys.launched import launched, used
from roofline.importers.nsys.ranges import Range, Timeline, divided
from roofline.importers.nsys.read import Database
from roofline.importers.nsys.single import of_one
from roofline.importers.rows import MANY, same
from roofline.runfile import Gap

if TYPE_CHECKING:
    import pyarrow as pa

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
    if not ran.num_rows:
        raise BadInput(f"{file}: no device activity has a usable start")
    # Before one device is chosen: of what stands there twice, once on no device, one counts.
    ran = graphs.once(ran, database)
    launch, warnings = launched(ran, calls)
    one = of_one(ran, database, option, file)
    marked, others = divided(line.steps), None
    if one.here is not None:
        others = _begun(calls, ran, launch, pc.invert(one.here)) if marked else None
        ran, launch = ran.filter(one.here), launch.filter(one.here)
    whole = graphs.whole(ran, database.values)
    launch, launches = used(launch, calls)
    early = times.early(ran, launch, launches)
    begun = _of_launch(launches["start"], launch, ran["start"])
    steps, empty, elsewhere = times.held(marked, launches["start"], begun, launch, others)
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
        device=one.number,
        span=_span(ran if early is None else ran.filter(pc.invert(early)), launches),
        steps=steps,
        contradicted=pc.sum(ran["contradicted"]).as_py() or 0,
        activities=pa.table(activities).to_batches(max_chunksize=MANY),
        launches=kept.to_batches(max_chunksize=MANY),
        keys=_here(ran["key"] if graph is None else ran["key"].filter(pc.invert(graph))),
        replayed=[] if graph is None else _here(ran["key"].filter(graph)),
        processes=_here(process),
        names=_here(launches["name"]),
        gaps=(
            *one.gaps,
            *elsewhere,
            *times.gaps(ran, launch, early, graph),
            *graphs.gaps(ran, whole),
        ),
        warnings=(*doubts, *more, *one.doubts, *warnings, *times.lost(launch, early), *empty),
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


def _begun(
    calls: "pa.Table", ran: "pa.Table", launch: "pa.ChunkedArray", which: "pa.ChunkedArray"
) -> "pa.ChunkedArray":
    """When `which` activities were launched, else when they began, in order."""
    import pyarrow as pa

    begun = _of_launch(calls["start"], launch.filter(which), ran["start"].filter(which))
    return pa.chunked_array([begun.combine_chunks().sort()])


def _here(numbers: "pa.ChunkedArray") -> list[int]:
    import pyarrow.compute as pc

    return pc.unique(numbers).drop_null().to_pylist()  # type: ignore[no-any-return]


def _span(*tables: "pa.Table") -> tuple[int, int]:
    import pyarrow.compute as pc

    starts = [s for t in tables if (s := pc.min(t["start"]).as_py()) is not None]
    ends = (pc.max(pc.add(t["start"], t["duration"])).as_py() for t in tables)
    first = min(starts, default=0)
    return first, max((end for end in ends if end is not None), default=first)


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
