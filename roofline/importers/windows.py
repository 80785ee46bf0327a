"""Windows of time one after the other, and which of them a moment falls into."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

OUTSIDE = -1


def window_of(times: "pa.Array", starts: Sequence[int], ends: Sequence[int]) -> "pa.Array":
    """For each of `times` the number of its window [int32]; OUTSIDE all of them, and for null.

    A window is from its start to before its end; one ends before the next begins.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    order = pc.array_sort_indices(times)  # nulls at the end
    ordered = times.take(order).drop_null()
    inside = memoryview(ordered.buffers()[1] or b"").cast("q")[ordered.offset :][: len(ordered)]
    near = range(bisect_right(ends, inside[0]), bisect_right(starts, inside[-1])) if inside else ()
    parts, at = [], 0
    for window in near:
        first, last = (bisect_left(inside, end[window], at) for end in (starts, ends))
        parts += [_repeated(OUTSIDE, first - at), _repeated(window, last - first)]
        at = last
    parts.append(_repeated(OUTSIDE, len(times) - at))
    return pa.concat_arrays(parts).take(pc.inverse_permutation(order.cast(pa.int64())))


def _repeated(window: int, count: int) -> "pa.Array":
    import pyarrow as pa

    return pa.repeat(pa.scalar(window, pa.int32()), count)
