"""Columns of microseconds -> integer nanoseconds, and the order of spans in time.

Integers, because sums of floats depend on their order.
"""

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.importers.kineto.read.columns import NONE, Activities, Spans

if TYPE_CHECKING:
    import pyarrow as pa

_ARROW = {"b": "int8", "i": "int32", "q": "int64", "d": "float64"}


@dataclass(frozen=True, slots=True)
class Times:
    """Of spans or activities [ns]; the end of one of unknown duration is its start."""

    start: "pa.Array"
    duration: "pa.Array"  # null is not known
    end: "pa.Array"


def times(of: Spans | Activities) -> Times:
    """Their times as whole nanoseconds since the first event; the columns give theirs up."""
    start, duration = _nanoseconds(of.start), _nanoseconds(of.duration)
    of.start, of.duration = array("d"), array("d")
    return ended(start, duration)


def ended(start: "pa.Array", duration: "pa.Array") -> Times:
    """Times from two of their columns."""
    import pyarrow.compute as pc

    return Times(start, duration, pc.add(start, pc.fill_null(duration, 0)))


def in_order(spans: Spans, at: Times) -> memoryview:
    """Rows by thread, then time; of spans that start together the longest first: it is around.

    Among equal ones annotations come before operators and those before launches; operators are
    numbered as they begin.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {
        "thread": arrow(spans.thread), "start": at.start, "end": pc.negate(at.end),
        "kind": pc.negate(arrow(spans.kind)), "number": arrow(spans.external),
    }  # fmt: skip
    keys = [(name, "ascending") for name in columns]
    return integers(pc.sort_indices(pa.table(columns), sort_keys=keys).view(pa.int64()))


def arrow(column: "array[int] | array[float]") -> "pa.Array":
    """A column as Arrow sees it, without a copy; the column must not grow after this."""
    import pyarrow as pa

    kind = getattr(pa, _ARROW[column.typecode])()
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(column)])


def octets(column: bytearray) -> "pa.Array":
    """Small numbers as Arrow sees them, without a copy."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int8(), len(column), [None, pa.py_buffer(column)])


def known(column: "pa.Array") -> "pa.Array":
    """The column with null in place of NONE."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(column, NONE), pa.scalar(None, column.type), column)


def integers(column: "pa.Array") -> memoryview:
    """A column of int8 or int64 without nulls, to be read one by one without making a list."""
    octets = memoryview(column.buffers()[1] or b"")
    view = octets.cast("b") if column.type.bit_width == 8 else octets.cast("q")
    return view[column.offset : column.offset + len(column)]


def _nanoseconds(column: "array[float]") -> "pa.Array":
    """Microseconds as whole nanoseconds; NaN becomes null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    us = arrow(column)
    counted = pc.if_else(pc.is_nan(us), pa.scalar(None, pa.float64()), us)
    return pc.cast(pc.round(pc.multiply(counted, 1000.0)), pa.int64())
