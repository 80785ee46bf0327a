"""Columns of microseconds -> integer nanoseconds, and the order of spans in time.

Integers, because sums of floats depend on their order.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.importers.kineto.columns import NONE, Activities, Spans

if TYPE_CHECKING:
    import pyarrow as pa

_ARROW = {"b": "int8", "i": "int32", "q": "int64", "d": "float64"}


@dataclass(frozen=True, slots=True)
class Times:
    """Of spans or activities [ns]; the end of one of unknown duration is its start."""

    start: Sequence[int]
    duration: Sequence[int]  # NONE is not known
    end: Sequence[int]


def times(of: Spans | Activities) -> Times:
    """Their times as whole nanoseconds since the first event."""
    import pyarrow.compute as pc

    start, duration = _nanoseconds(of.start), _nanoseconds(of.duration)
    return Times(
        start=_integers(start),
        duration=_integers(pc.fill_null(duration, NONE)),
        end=_integers(pc.add(start, pc.fill_null(duration, 0))),
    )


def in_order(spans: Spans, at: Times) -> Sequence[int]:
    """Rows by thread, then time; of spans that start together the longest first: it is around.

    Among equal ones annotations come before operators and those before launches; operators are
    numbered as they begin.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    start = pa.Array.from_buffers(pa.int64(), len(spans), [None, pa.py_buffer(at.start)])
    end = pa.Array.from_buffers(pa.int64(), len(spans), [None, pa.py_buffer(at.end)])
    columns = {
        "thread": arrow(spans.thread), "start": start, "end": pc.negate(end),
        "kind": pc.negate(arrow(spans.kind)), "number": arrow(spans.external),
    }  # fmt: skip
    keys = [(name, "ascending") for name in columns]
    rows = pc.sort_indices(pa.table(columns), sort_keys=keys)
    return memoryview(rows.buffers()[1]).cast("Q")[: len(rows)]


def arrow(column: "array[int] | array[float]") -> "pa.Array":
    """A column as Arrow sees it, without a copy; the column must not grow after this."""
    import pyarrow as pa

    kind = getattr(pa, _ARROW[column.typecode])()
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(column)])


def _nanoseconds(column: "array[float]") -> "pa.Array":
    """Microseconds as whole nanoseconds; NaN becomes null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    us = arrow(column)
    known = pc.if_else(pc.is_nan(us), pa.scalar(None, pa.float64()), us)
    return pc.cast(pc.round(pc.multiply(known, 1000.0)), pa.int64())


def _integers(column: "pa.Array") -> memoryview:
    """To be read one by one without making a list; `column` has no nulls."""
    buffer = column.buffers()[1]
    if buffer is None:
        return memoryview(b"").cast("q")
    return memoryview(buffer).cast("q")[column.offset : column.offset + len(column)]
