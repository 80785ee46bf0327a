"""Durations that reach over whole later activities of their stream, in all of a trace at once.

A stream runs one kernel after the other.  One that still runs when a later one of its stream has
started and ended is impossible; branches of a graph look so too, but are not a hundred times as
long as the stream's median.  Batch by batch, since a trace may be longer than memory.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from roofline.importers.kineto.stretches.times import integers

if TYPE_CHECKING:
    import pyarrow as pa

_TIMES = 100  # assumed: a duration so many times the stream's median is looked at
_NEVER = (1 << 63) - 1


def without_overlong(ran: "pa.Table") -> tuple["pa.Table", Mapping[int, int]]:
    """Activities of which such durations are null, and how many those are by device."""
    import pyarrow as pa

    found: dict[int, int] = {}  # by device
    rows: dict[int, list[int]] = {}  # by batch
    batches = ran.to_batches()
    for device, stream, limit in _limits(ran):
        for batch, row in _overlong(batches, device, stream, limit):
            rows.setdefault(batch, []).append(row)
            found[device] = found.get(device, 0) + 1
    for batch, wrong in rows.items():
        batches[batch] = _unknown(batches[batch], wrong)
    return (pa.Table.from_batches(batches, schema=ran.schema) if rows else ran), found


def _limits(ran: "pa.Table") -> Iterator[tuple[int, int, int]]:
    """Device, stream and the duration [ns] from which on it is looked at, where any is longer."""
    import pyarrow.compute as pc

    times = ran.select(["device", "stream", "duration"])
    grouped = times.group_by(["device", "stream"]).aggregate(
        [("duration", "max"), ("duration", "list")]
    )
    for batch in grouped.to_batches():
        names = ("device", "stream", "duration_max", "duration_list")
        for device, stream, most, all_ in zip(*(batch[name] for name in names), strict=True):
            limit = int(_TIMES * (pc.quantile(all_.values, 0.5)[0].as_py() or 0.0))
            if (most.as_py() or 0) > limit:
                yield device.as_py(), stream.as_py(), limit


def _overlong(
    batches: "list[pa.RecordBatch]", device: int, stream: int, limit: int
) -> list[tuple[int, int]]:
    """Batch and row of those of one stream that end after a later one has ended, and are long."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Every batch is looked at twice rather than kept: memory must not grow with the trace.
    long = pa.concat_tables(
        _of_stream(batch, number, device, stream, limit, longer=True)
        for number, batch in enumerate(batches)
    )
    long = long.take(pc.sort_indices(long["start"]))
    earliest = array("q", [_NEVER]) * long.num_rows  # end of what came later and is not long
    for number, batch in enumerate(batches):
        _note(earliest, long, _of_stream(batch, number, device, stream, limit, longer=False))
    found, believed = [], _NEVER
    rows = zip(*(long[name].to_pylist() for name in ("end", "batch", "row")), strict=True)
    for after, (end, batch, row) in reversed(list(zip(earliest, rows, strict=True))):
        if min(after, believed) < end:
            found.append((batch, row))
        else:
            believed = min(believed, end)
    return found


def _of_stream(
    batch: "pa.RecordBatch", number: int, device: int, stream: int, limit: int, *, longer: bool
) -> "pa.Table":
    """Start, end and place of what ran on one stream, for longer than `limit` or for no longer."""
    import pyarrow as pa
    import pyarrow.compute as pc

    on = pc.and_(pc.equal(batch["device"], device), pc.equal(batch["stream"], stream))
    asked = (pc.greater if longer else pc.less_equal)(batch["duration"], limit)  # null of a null
    rows = pc.indices_nonzero(pc.and_(on, asked)).cast(pa.int64())
    start = batch["start"].take(rows)
    end = pc.add(start, batch["duration"].take(rows))
    of = pa.repeat(pa.scalar(number, pa.int64()), len(rows))
    return pa.table({"start": start, "end": end, "batch": of, "row": rows})


def _note(earliest: "array[int]", long: "pa.Table", others: "pa.Table") -> None:
    """Take in others of the stream: of each long one the earliest end of what started later."""
    import pyarrow.compute as pc

    if not others.num_rows:
        return
    others = others.take(pc.sort_indices(others["start"]))
    begun, ends = (others[name].combine_chunks() for name in ("start", "end"))
    least = integers(pc.cumulative_min(ends[::-1])[::-1])
    begun = integers(begun)
    # What began after all of these, or had ended before them, they tell nothing about.
    meet = pc.and_(pc.less(long["start"], begun[-1]), pc.greater(long["end"], begun[0]))
    rows = pc.indices_nonzero(meet)
    starts = long["start"].take(rows).to_pylist()
    for at, start in zip(rows.to_pylist(), starts, strict=True):
        earliest[at] = min(earliest[at], least[bisect_right(begun, start)])


def _unknown(batch: "pa.RecordBatch", rows: list[int]) -> "pa.RecordBatch":
    """The batch with the durations of these rows null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wrong = pc.is_in(
        pa.array(range(batch.num_rows), pa.int64()), value_set=pa.array(rows, pa.int64())
    )
    duration = pc.if_else(wrong, pa.scalar(None, pa.int64()), batch["duration"])
    at = batch.schema.get_field_index("duration")
    return batch.set_column(at, batch.schema.field(at), duration)
