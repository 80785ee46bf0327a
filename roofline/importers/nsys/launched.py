"""The launch of each activity: the call with its correlation id, within its process."""

from typing import TYPE_CHECKING

from roofline.units import number_of

if TYPE_CHECKING:
    import pyarrow as pa

_SPARSE = 4  # ids of launches may have so many gaps between them, of each one, to be looked up


def launched(activities: "pa.Table", calls: "pa.Table") -> tuple["pa.ChunkedArray", list[str]]:
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
    wanted, known = apart(activities, calls)
    return _first(known, wanted), warnings


def apart(*tables: "pa.Table") -> list["pa.ChunkedArray"]:
    """Numbers that are equal where correlation id and process are; null where either is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = [table["correlation"] for table in tables]
    of = [table["process"] for table in tables]
    processes = 1 + max((pc.max(each).as_py() or 0 for each in of), default=0)
    both = pa.concat_arrays([chunk.cast(pa.int64()) for each in ids for chunk in each.chunks])
    codes = both.dictionary_encode().indices.cast(pa.int64())  # small, whatever the ids are
    number = pc.multiply(codes, processes)
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


def used(launch: "pa.ChunkedArray", calls: "pa.Table") -> tuple["pa.ChunkedArray", "pa.Table"]:
    """For each activity the row of its launch among the launches, and those of the calls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = launch.combine_chunks().drop_null()
    started = pc.is_valid(pc.inverse_permutation(rows, max_index=calls.num_rows - 1))
    if pc.all(started).as_py() in (True, None):
        return launch, calls
    number = pc.subtract(pc.cumulative_sum(started.cast(pa.int32())), pa.scalar(1, pa.int32()))
    return number.take(launch), calls.filter(started)
