"""Times of a database beside its launches: in order, believed, from before, in a step."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from roofline.importers import believed
from roofline.importers.nsys.gathered import Value
from roofline.importers.nsys.others import seconds
from roofline.importers.nsys.ranges import Range
from roofline.importers.rows import same
from roofline.runfile import Gap
from roofline.units import number_of

if TYPE_CHECKING:
    import pyarrow as pa


def activities(rows: "pa.Table", streams: Sequence[Value]) -> tuple["pa.Table", list[str]]:
    """By time, without those that have no usable start; durations that cannot be are null.

    Whether one was taken for that stands in the column "contradicted".
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    rows, apart = _usable(rows)
    start, duration = (rows[name].combine_chunks() for name in ("start", "duration"))
    if (None,) in streams:  # of no stream: it may overlap with anything
        none = pc.equal(rows["stream"].combine_chunks(), streams.index((None,)))
        duration = pc.if_else(none, pa.scalar(None, pa.int64()), duration)
    long = believed.overlong(start, duration, _on(rows))
    wrong = same(False, pa.bool_(), rows.num_rows)
    if long:
        wrong = pc.is_in(pa.array(range(rows.num_rows), pa.int64()), pa.array(long, pa.int64()))
        known = pc.if_else(wrong, pa.scalar(None, pa.int64()), rows["duration"])
        rows = rows.set_column(rows.column_names.index("duration"), "duration", known)
    return rows.append_column("contradicted", wrong), believed.said(apart, 0)


def calls(rows: "pa.Table") -> tuple["pa.Table", list[str]]:
    """By time, without those that have no usable start."""
    count = rows.num_rows
    rows, apart = _usable(rows)
    # Where none has one the table lacks the column, which is said of the table.
    return rows, believed.said(apart if apart < count else 0, 0, "runtime call")


def _on(rows: "pa.Table") -> "pa.Array":
    """Numbers of streams, apart by device."""
    import pyarrow.compute as pc

    device, stream = rows["device"].combine_chunks(), rows["stream"].combine_chunks()
    devices = pc.max(device).as_py() or 0
    return pc.add(pc.multiply(stream, devices + 1), device) if devices else stream


def _usable(rows: "pa.Table") -> tuple["pa.Table", int]:
    import pyarrow.compute as pc

    wrong = believed.unusable(rows["start"])
    apart = 0 if wrong is None else pc.sum(wrong).as_py()
    if apart:
        rows = rows.filter(pc.invert(wrong))
    if _ordered(rows["start"]):
        return rows, apart
    return rows.take(pc.sort_indices(rows, [("start", "ascending")])), apart


def _ordered(column: "pa.ChunkedArray") -> bool:
    """Whether no value is less than the one before it."""
    import pyarrow.compute as pc

    before = None
    for part in (chunk for chunk in column.chunks if len(chunk)):
        if before is not None and part[0].as_py() < before:
            return False
        if pc.all(pc.less_equal(part[:-1], part[1:])).as_py() is False:
            return False
        before = part[-1].as_py()
    return True


def early(
    ran: "pa.Table", launch: "pa.ChunkedArray", launches: "pa.Table"
) -> "pa.ChunkedArray | None":
    """What ran before anything was launched in the recording; None where nothing did.

    A later activity may be of a graph, or of a launch whose row was lost.
    """
    import pyarrow.compute as pc

    first = launches["start"][0] if launches.num_rows else None
    if first is None or not launch.null_count:
        return None
    before = pc.and_(pc.is_null(launch), pc.less(ran["start"], first))
    return before if pc.any(before).as_py() else None


def held(
    steps: Sequence[Range],
    launched: "pa.ChunkedArray",
    begun: "pa.ChunkedArray",
    launch: "pa.ChunkedArray",
    others: "pa.ChunkedArray | None",
) -> tuple[Sequence[Range], list[str], list[Gap]]:
    """The steps in which something was started, what to doubt of the rest, and what it is.

    A step that started work on another device, at one of the moments of `others`, is no doubt.
    """
    import pyarrow.compute as pc

    alone = begun.filter(pc.is_null(launch)) if steps and launch.null_count else begun[:0]
    moments = [_moments(launched), _moments(alone)] if steps else []
    used = [step for step in steps if any(_any_in(each, step) for each in moments)]
    there = [] if others is None else [_moments(others)]
    elsewhere = sum(
        not any(_any_in(each, step) for each in moments)
        and any(_any_in(each, step) for each in there)
        for step in steps
    )
    empty = len(steps) - len(used) - elsewhere
    said = [f"{number_of(empty, 'marked step')} in which nothing was started: left out"]
    what = f"{number_of(elsewhere, 'marked step')} started nothing on this device: left out"
    gap = Gap(name="steps of other devices", what=what, count=elsewhere)
    return used, said * (empty > 0), [gap] * (elsewhere > 0)


def _moments(column: "pa.ChunkedArray") -> memoryview:
    """Of a column without nulls and in order, to be read one by one without making a list."""
    whole = column.combine_chunks()
    view = memoryview(whole.buffers()[1] or b"").cast("q")
    return view[whole.offset : whole.offset + len(whole)]


def _any_in(moments: memoryview, step: Range) -> bool:
    _, start, end, _ = step
    at = bisect_left(moments, start)
    return at < len(moments) and moments[at] < end


def gaps(
    ran: "pa.Table",
    launch: "pa.ChunkedArray",
    early: "pa.ChunkedArray | None",
    graph: "pa.ChunkedArray | None",
) -> Iterator[Gap]:
    """What ran from before the recording, and what captured graphs replayed."""
    import pyarrow.compute as pc

    if early is not None:
        count, spent = _sum(ran, early)
        yield Gap(
            name="activities without a launch",
            what=(
                f"{number_of(count, 'device activity')} ran before anything was launched in the "
                "recording, so nobody knows what caused them; they belong to no step"
            ),
            seconds=spent,
            count=count,
        )
    if graph is not None and pc.any(graph).as_py():
        count, spent = _sum(ran, graph)
        whole = seconds(pc.sum(ran["duration"]).as_py())
        share = f", {spent / whole:.0%} of device time" if spent and whole else ""
        launches = len(launch.filter(graph).unique())
        yield Gap(
            name="graph launches",
            what=(
                f"{number_of(launches, 'graph launch')} replayed "
                f"{number_of(count, 'device activity')}{share}; "
                "which calls these belong to is not in the recording"
            ),
            seconds=spent,
            count=count,
        )


def _sum(ran: "pa.Table", which: "pa.ChunkedArray") -> tuple[int, float | None]:
    import pyarrow.compute as pc

    of = ran["duration"].filter(which)
    return len(of), seconds(pc.sum(of).as_py())


def lost(launch: "pa.ChunkedArray", early: "pa.ChunkedArray | None") -> list[str]:
    """Launches that are not in a recording that has others."""
    import pyarrow.compute as pc

    missing = launch.null_count - (0 if early is None else pc.sum(early).as_py())
    if not missing or missing == len(launch):
        return []
    return [
        f"no launch recorded of {number_of(missing, 'device activity')}: they count where they ran"
    ]
