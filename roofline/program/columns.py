"""Questions to the columns of a run's events, answered for all events at once."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, Any

from roofline.runfile import Run

if TYPE_CHECKING:
    import pyarrow as pa

    Interval = tuple[pa.Array, pa.Array]  # starts, ends

BATCH = 1 << 18  # events that are looked at together


def measured_steps(run: Run) -> list[int]:
    """Positions of the steps that are not warm-up."""
    return [i for i, step in enumerate(run.steps) if not step.warmup]


def in_steps(run: Run) -> "pa.ChunkedArray":
    """For each event, whether it belongs to a measured step."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.is_in(run.events["step"], value_set=pa.array(measured_steps(run), pa.int32()))


def batches(events: "pa.Table", names: Sequence[str]) -> "Iterator[tuple[int, pa.RecordBatch]]":
    """Some columns of `events` a part at a time, with the number of its first row.

    What is computed of a part stays small, however many events there are.
    """
    at = 0
    for batch in events.select(names).to_batches(max_chunksize=BATCH):
        yield at, batch
        at += batch.num_rows


def values(column: "pa.Array") -> list[Any]:
    """The values of a column; of one in words each word is made once."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column.to_pylist()  # type: ignore[no-any-return]
    words = column.dictionary.to_pylist()
    return [None if at is None else words[at] for at in column.indices.to_pylist()]


def is_kind(events: "pa.Table", kinds: Iterable[str]) -> "pa.ChunkedArray":
    """For each event, whether its kind is one of `kinds`."""
    import pyarrow as pa

    wanted = set(kinds)
    chunks = [
        pa.array([word in wanted for word in chunk.dictionary.to_pylist()], pa.bool_()).take(
            chunk.indices
        )
        for chunk in events["kind"].chunks
    ]
    return pa.chunked_array(chunks, pa.bool_())


def storages(run: Run) -> bool:
    """Whether any event says which memory it read or wrote."""
    columns = (run.events[name] for name in ("reads", "writes"))
    return any(len(chunk.flatten()) for column in columns for chunk in column.chunks)


def union_ns(events: "pa.Table", chosen: "pa.ChunkedArray") -> int:
    """Time that at least one of the `chosen` events covers: overlapping streams are not busy twice.

    >>> import pyarrow as pa
    >>> events = pa.table({"start_ns": [0, 5, 20], "duration_ns": [10, 7, 1]})
    >>> union_ns(events, pa.chunked_array([[True, True, True]]))
    13
    """
    import pyarrow.compute as pc

    begins = [pc.min(start).as_py() for start, _ in _intervals(events, chosen)]
    # What begins later than something in a later part waits for that one.
    later = [*accumulate(reversed(begins), min)][::-1][1:]
    covered, reached, waiting = 0, None, None
    for interval, until in zip_longest(_intervals(events, chosen), later):
        start, end = interval if waiting is None else map(_joined, waiting, interval)
        order = pc.sort_indices(start)
        start, end = start.take(order), end.take(order)
        ready = len(start) if until is None else pc.sum(pc.less(start, until)).as_py() or 0
        waiting = start[ready:], end[ready:]
        if ready:
            fresh, reached = _covered(start[:ready], end[:ready], reached)
            covered += fresh
    return covered


def _intervals(events: "pa.Table", chosen: "pa.ChunkedArray") -> "Iterator[Interval]":
    """Starts and ends of the chosen events whose time is known, a part at a time."""
    import pyarrow.compute as pc

    for at, batch in batches(events, ["start_ns", "duration_ns"]):
        known = pc.and_(chosen.slice(at, len(batch)), batch["duration_ns"].is_valid())
        some = batch.filter(known.combine_chunks())
        if len(some):
            yield some["start_ns"], pc.add(some["start_ns"], some["duration_ns"])


def total_ns(events: "pa.Table", chosen: "pa.ChunkedArray") -> int:
    """Known time of the `chosen` events, one after the other."""
    import pyarrow.compute as pc

    return sum(
        pc.sum(batch["duration_ns"].filter(chosen.slice(at, len(batch)).combine_chunks())).as_py()
        or 0
        for at, batch in batches(events, ["duration_ns"])
    )


def _joined(one: "pa.Array", other: "pa.Array") -> "pa.Array":
    import pyarrow as pa

    return pa.concat_arrays([one, other])


def _covered(
    start: "pa.Array", end: "pa.Array", reached: "pa.Scalar | None"
) -> "tuple[int, pa.Scalar]":
    """What ordered intervals cover beyond all before, which `reached` so far; and how far now."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # What lies before an interval's start, or before the furthest end so far, is covered already.
    first = start[0] if reached is None else pc.max_element_wise(start[0], reached)
    so_far = pc.max_element_wise(pc.cumulative_max(end), first)
    known = pa.concat_arrays([pa.array([first.as_py()], start.type), so_far[:-1]])
    fresh = pc.subtract(end, pc.max_element_wise(start, known))
    return pc.sum(pc.max_element_wise(fresh, pa.scalar(0, start.type))).as_py(), so_far[-1]
