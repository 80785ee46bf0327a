"""The joins of a database: activity, launch and range, in DuckDB."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.importers.nsys.ranges import Timeline
from roofline.importers.nsys.read import Database
from roofline.runfile import Gap
from roofline.units import number_of

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# What makes two activities the same signature, and what makes their launch configurations the same.
KEY = ("what", "name", "bytes")
CONFIGURATION = ("grid", "block", "registers", "shared")
# A launch and what it started share a correlation id within a process.
_CALLS = """
CREATE TEMP VIEW launching AS
SELECT row_number() OVER () - 1 AS row, * FROM calls
"""
# Two records of one launch (of the runtime and of the driver) are rare: the first stands.
_FIRST = """
SELECT min(row) AS row, min_by(start, row) AS start, min_by(thread, row) AS thread,
       process, correlation FROM launching GROUP BY process, correlation
"""
_ALL = """
SELECT h.start, h.stop, h.stream, COALESCE(h.process, l.process) AS process,
       h.key, h.configuration,
       l.row AS launch, l.start AS launched, {path} AS path
FROM here h
LEFT JOIN ({launches}) l ON h.correlation = l.correlation AND {process}
{ranges}
"""
_RANGES = "ASOF LEFT JOIN timeline t ON l.thread = t.thread AND l.start >= t.time"


Distinct = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Everything that ran on one device, joined."""

    device: int | None
    activities: "pa.Table"  # in order of time: start, stop, stream, process, numbers of the rest
    launches: "pa.Table"  # in order of time
    keys: Sequence[Distinct]  # of KEY
    configurations: Sequence[Distinct]  # of CONFIGURATION
    gaps: tuple[Gap, ...]
    warnings: tuple[str, ...]


def join(database: Database, line: Timeline) -> Joined:
    """Join the activities of the busiest device."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("activities", database.activities)
        connection.register("calls", database.calls)
        connection.register("timeline", _columns(line))
        device, gaps = _busiest(connection)
        here, keys, configurations = _here(database.activities, device, bool(gaps))
        connection.register("here", here)
        connection.execute(_CALLS)
        process, warnings = _process(connection)
        activities = _joined(connection, process, bool(line.time))
        started, launches = _launches(activities["launch"], database.calls)
        at = activities.column_names.index("launch")
        return Joined(
            device=device,
            activities=activities.set_column(at, "launch", started),
            launches=launches,
            keys=keys,
            configurations=configurations,
            gaps=gaps,
            warnings=warnings,
        )


def _joined(connection: "duckdb.DuckDBPyConnection", process: str, ranged: bool) -> "pa.Table":
    """Every activity once, with its launch where one is recorded."""
    parts = {
        "process": process,
        "path": "COALESCE(t.path, 0)" if ranged else "0",
        "ranges": _RANGES if ranged else "",
    }
    found = connection.sql(_ALL.format(launches="FROM launching", **parts)).to_arrow_table()
    (activities,) = connection.execute("SELECT count(*) FROM here").fetchall()[0]
    if found.num_rows != activities:
        found = connection.sql(_ALL.format(launches=_FIRST, **parts)).to_arrow_table()
    return _in_order(found)


def _in_order(activities: "pa.Table") -> "pa.Table":
    """By time, as they mostly are already."""
    order = _order(activities["start"])
    return activities if order is None else activities.take(order)


def _order(start: "pa.ChunkedArray") -> "pa.Array | None":
    """The rows in order of time; None where they are."""
    import pyarrow.compute as pc

    later = pc.greater_equal(pc.pairwise_diff(start.combine_chunks()), 0)  # null of the first
    if later.null_count <= 1 and pc.all(later).as_py() in (True, None):
        return None
    return pc.sort_indices(start).cast("int64")


def _launches(rows: "pa.ChunkedArray", calls: "pa.Table") -> tuple["pa.ChunkedArray", "pa.Table"]:
    """For each activity the number of its launch, and the launches, in order of time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    order = _order(calls["start"])
    if order is not None:
        rows, calls = pc.inverse_permutation(order).take(rows), calls.take(order)
    known = rows.combine_chunks().drop_null()
    used = pc.is_valid(pc.inverse_permutation(known, max_index=calls.num_rows - 1))
    if pc.all(used).as_py():
        return rows, calls
    number = pc.subtract(pc.cumulative_sum(used.cast(pa.int64())), 1)
    return number.take(rows), calls.filter(used)


def _columns(line: Timeline) -> "pa.Table":
    import pyarrow as pa

    whole = pa.int64()
    return pa.table({
        "thread": pa.array(line.thread, whole), "time": pa.array(line.time, whole),
        "path": pa.array(line.path, pa.int32()),
    })  # fmt: skip


def _busiest(connection: "duckdb.DuckDBPyConnection") -> tuple[int | None, tuple[Gap, ...]]:
    """The device that most of the time was spent on; what ran on others is a gap."""
    rows = connection.execute(
        "SELECT device, count(*), sum(greatest(stop - start, 0)) AS ns FROM activities "
        "GROUP BY device ORDER BY ns DESC NULLS LAST, device"
    ).fetchall()
    gaps = tuple(
        Gap(
            name=f"device {device}",
            what="a run is of one device: what ran on this one is not in it",
            seconds=int(ns or 0) / 1e9,
            count=count,
        )
        for device, count, ns in rows[1:]
    )
    return (rows[0][0] if rows else None), gaps


def _process(connection: "duckdb.DuckDBPyConnection") -> tuple[str, tuple[str, ...]]:
    """When an activity and a launch are of one process, as a condition, and what is not known."""
    (unsaid,) = connection.execute("SELECT count(*) FROM here WHERE process IS NULL").fetchall()[0]
    if not unsaid:
        return "h.process = l.process", ()
    (processes,) = connection.execute("SELECT count(DISTINCT process) FROM calls").fetchall()[0]
    if processes <= 1:
        return "TRUE", ()
    return "h.process = l.process", (
        f"of {number_of(unsaid, 'activity')} nothing says which of {processes} processes started "
        "it: their launches and ranges are not known",
    )


def _here(
    activities: "pa.Table", device: int | None, several: bool
) -> tuple["pa.Table", list[Distinct], list[Distinct]]:
    """The activities of one device with the numbers of their keys and configurations."""
    import pyarrow.compute as pc

    if several:
        own = activities["device"]
        activities = activities.filter(own.is_null() if device is None else pc.equal(own, device))
    key, keys = _numbered(activities, KEY)
    configuration, configurations = _numbered(activities, CONFIGURATION)
    names = ("start", "stop", "stream", "process", "correlation")
    here = activities.select(names).append_column("key", key)
    return here.append_column("configuration", configuration), keys, configurations


def _numbered(rows: "pa.Table", columns: Sequence[str]) -> tuple["pa.Array", list[Distinct]]:
    """For each row the number of its combination of values, and the combinations by number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: list[Distinct] = [()]
    number = pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows)
    for name in columns:
        least = pc.min_max(rows[name])
        if rows[name].null_count in (0, rows.num_rows) and pc.equal(*least.values()).as_py() in (
            True,
            None,
        ):
            found = [(*each, least["min"].as_py()) for each in found]  # the same in all rows
            continue
        # One column after the other, so that no number is larger than rows times values.
        each = rows[name].combine_chunks().dictionary_encode(null_encoding="encode")
        values = each.dictionary.to_pylist()
        both = pc.add(pc.multiply(number, max(len(values), 1)), each.indices.cast(pa.int64()))
        together = both.dictionary_encode()
        pairs = (divmod(code, max(len(values), 1)) for code in together.dictionary.to_pylist())
        found = [(*found[before], values[at]) for before, at in pairs]
        number = together.indices.cast(pa.int64())
    return number.cast(pa.int32()), found
