"""The launch configuration of every kernel, as the events table holds it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from roofline.runfile import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

# A kernel's launch configuration is kept under the names that a PyTorch trace has for it.
COUNTERS = ("grid", "block", "registers per thread", "shared memory")
_ROWS = 65_536  # made at a time: the names of so many are held once


def counters(configurations: Sequence[tuple[Any, ...]], numbers: "pa.Array") -> "pa.ChunkedArray":
    """Names and values by the `numbers` of `configurations`, which are in the order of COUNTERS."""
    import pyarrow as pa

    kind = arrow_schema().field("counters").type
    absent = [sum(value is None for value in each) for each in configurations]
    if any(0 < each < len(COUNTERS) for each in absent):
        rows = pa.array([_pairs(each) for each in configurations], kind).take(numbers)
        return rows if isinstance(rows, pa.ChunkedArray) else pa.chunked_array([rows], kind)
    # All that there is, or nothing as of a copy: the names need not be written out row by row.
    values = pa.array([float(v or 0) for each in configurations for v in each], pa.float64())
    known = pa.array([not each for each in absent], pa.bool_())
    names = pa.array(COUNTERS * min(_ROWS, len(numbers)), pa.string())
    table = pa.table({"number": numbers})
    return pa.chunked_array(
        [
            _stretch(part["number"], values, known, names)
            for part in table.to_batches(max_chunksize=_ROWS)
        ],
        kind,
    )


def _stretch(
    numbers: "pa.Array", values: "pa.Array", known: "pa.Array", names: "pa.Array"
) -> "pa.MapArray":
    import pyarrow as pa
    import pyarrow.compute as pc

    width = len(COUNTERS)
    full = known.take(numbers)
    lengths = pc.multiply(full.cast(pa.int32()), pa.scalar(width, pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    each = pa.FixedSizeListArray.from_arrays(values, width).take(numbers.filter(full))
    items = each.flatten()
    return pa.MapArray.from_arrays(offsets, names.slice(0, len(items)), items)


def _pairs(configuration: tuple[Any, ...]) -> list[tuple[str, float]]:
    pairs = zip(COUNTERS, configuration, strict=True)
    return [(name, float(value)) for name, value in pairs if value is not None]
