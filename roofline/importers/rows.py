"""Columns of an importer -> rows of a run.  What is alike in many rows is held once."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from roofline.runfile import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

MANY = 1 << 18  # rows that are made together, and that stand for as many more where they are alike


def events(columns: Mapping[str, Any]) -> "pa.Table":
    """Rows as in `runfile.Run.events`; columns that are not given are null or empty, phases other.

    Given are at least the signatures; of another type than the run's are whole numbers at most.
    """
    import pyarrow as pa

    schema, count = arrow_schema(), len(columns["signature"])
    made = {
        field.name: _as(columns[field.name], field.type)
        if field.name in columns
        else same(_absent(field), field.type, count)
        for field in schema
    }
    return pa.table(made, schema=schema)


def worded(words: Any, numbers: "pa.Array") -> "pa.DictionaryArray | pa.ChunkedArray":
    """Different words by their numbers, each held once."""
    import pyarrow as pa

    words = words if isinstance(words, pa.Array) else pa.array(words, pa.string())
    if len(words) == 1:
        return same(words[0].as_py(), pa.dictionary(pa.int32(), pa.string()), len(numbers))
    return pa.DictionaryArray.from_arrays(numbers.cast(pa.int32()), words)


def same(value: Any, kind: Any, count: int) -> "pa.ChunkedArray":
    """`count` rows of one value of an Arrow type."""
    return _repeated(_block(value, kind), count)


def _as(column: Any, kind: Any) -> Any:
    return column if column.type == kind else column.cast(kind)


def _absent(field: Any) -> Any:
    """What a column holds where an importer says nothing."""
    import pyarrow as pa

    if pa.types.is_dictionary(field.type):
        return "other" if field.name == "phase" else ""
    return () if pa.types.is_nested(field.type) else None


@lru_cache(maxsize=64)
def _block(value: Any, kind: Any) -> "pa.Array":
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        numbers = pa.repeat(pa.scalar(0, pa.int32()), MANY)
        return pa.DictionaryArray.from_arrays(numbers, pa.array([value], pa.string()))
    return pa.array([value] * MANY, kind)


def _repeated(block: "pa.Array", count: int) -> "pa.ChunkedArray":
    import pyarrow as pa

    whole, rest = divmod(count, len(block))
    return pa.chunked_array([block] * whole + [block.slice(0, rest)] * (rest > 0), block.type)
