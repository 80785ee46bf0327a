"""The launch configuration of every kernel, as the events table holds it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from roofline.importers.nsys.gathered import Value
from roofline.runfile import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

# A kernel's launch configuration is kept under the names that a PyTorch trace has for it.
COUNTERS = ("grid", "block", "registers per thread", "shared memory")
# Below that it is no launch: damage, or text that SQLite multiplied.
LEAST = dict(zip(COUNTERS, (1, 1, 0, 0), strict=True))


class Configured:
    """Names and values by the numbers of configurations, which are in the order of COUNTERS."""

    def __init__(self, configurations: Sequence[Value], rows: int):
        """`rows` are asked for at a time at most: the names of so many are held once."""
        import pyarrow as pa

        self._kind = arrow_schema().field("counters").type
        configurations = [_known(each) for each in configurations]
        absent = [sum(value is None for value in each) for each in configurations]
        self._whole: pa.Array | None = None
        if any(0 < each < len(COUNTERS) for each in absent):
            self._whole = pa.array([_pairs(each) for each in configurations], self._kind)
        # All that there is, or nothing as of a copy: the names need not be written out row by row.
        values = pa.array([float(v or 0) for each in configurations for v in each], pa.float64())
        self._values = pa.FixedSizeListArray.from_arrays(values, len(COUNTERS))
        self._known = pa.array([not each for each in absent], pa.bool_())
        self._names = pa.array(COUNTERS * rows, pa.string())

    def of(self, numbers: "pa.Array") -> "pa.Array":
        """The counters of each of `numbers`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._whole is not None:
            return self._whole.take(numbers)
        full = self._known.take(numbers)
        lengths = pc.multiply(full.cast(pa.int32()), pa.scalar(len(COUNTERS), pa.int32()))
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
        items = self._values.take(numbers.filter(full)).flatten()
        names = self._names.slice(0, len(items))
        return pa.MapArray.from_arrays(offsets, names, items, self._kind)


def _known(configuration: Value) -> Value:
    pairs = zip(configuration, LEAST.values(), strict=True)
    return tuple(None if v is None or v < least else v for v, least in pairs)


def _pairs(configuration: Value) -> list[tuple[str, float]]:
    pairs = zip(COUNTERS, configuration, strict=True)
    return [(name, float(value)) for name, value in pairs if value is not None]
