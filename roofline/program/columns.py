"""Questions to the columns of a run's events, answered for all events at once."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from roofline.runfile import Run

if TYPE_CHECKING:
    import pyarrow as pa


def measured_steps(run: Run) -> list[int]:
    """Positions of the steps that are not warm-up."""
    return [i for i, step in enumerate(run.steps) if not step.warmup]


def in_steps(run: Run) -> "pa.ChunkedArray":
    """For each event, whether it belongs to a measured step."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.is_in(run.events["step"], value_set=pa.array(measured_steps(run), pa.int32()))


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


def union_ns(starts: "pa.Array | Sequence[int]", ends: "pa.Array | Sequence[int]") -> int:
    """Length of the union of intervals: overlapping streams are not busy twice.

    >>> union_ns([0, 5, 20], [10, 12, 21])
    13
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    table = pa.table([starts, ends], names=["start", "end"]).sort_by("start").combine_chunks()
    if not table.num_rows:
        return 0
    start, end = (table[name].combine_chunks() for name in ("start", "end"))
    # What lies before an interval's start, or before the furthest end so far, is covered already.
    reached = pa.concat_arrays([start[:1], pc.cumulative_max(end)[:-1]])
    fresh = pc.subtract(end, pc.max_element_wise(start, reached))
    return int(pc.sum(pc.max_element_wise(fresh, pa.scalar(0, pa.int64()))).as_py())
