"""Times of device activities that cannot be: starts far from all others, ends past later work."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from roofline.importers.limits import LONGEST_NS
from roofline.units import number_of

if TYPE_CHECKING:
    import pyarrow as pa

_HOUR_NS = 3600 * 10**9  # a start of 0, when all others are so much later, was not recorded
_TIMES = 100  # assumed: a duration so many times the stream's median is looked at
_NEVER = (1 << 63) - 1


def unusable(starts: "pa.ChunkedArray | pa.Array") -> "pa.ChunkedArray | pa.Array | None":
    """Which of `starts` [ns] are none or lie apart from the others; None where all are usable.

    One lies apart that is more than a day from the one in the middle, and a 0 before all the rest.
    """
    import pyarrow.compute as pc

    ends = pc.min_max(starts)
    least, most = ends["min"].as_py(), ends["max"].as_py()
    if starts.null_count == 0 and (least is None or most - least <= _HOUR_NS):
        return None
    wrong = pc.is_null(starts)
    if least is not None and most - least > _HOUR_NS:
        others = starts.filter(pc.not_equal(starts, 0))
        if least == 0 and pc.min(others).as_py() > _HOUR_NS:
            wrong = pc.or_(wrong, pc.fill_null(pc.equal(starts, 0), False))
        else:
            others = starts
        at = middle(others)
        if at is not None:
            far = pc.greater(pc.abs(pc.subtract(starts, at)), LONGEST_NS)
            wrong = pc.or_(wrong, pc.fill_null(far, False))
    return wrong if pc.any(wrong).as_py() else None


def middle(starts: "pa.ChunkedArray | pa.Array") -> int | None:
    """The one in the middle of `starts` [ns]; None where none can be more than a day from it."""
    import pyarrow.compute as pc

    ends = pc.min_max(starts)
    least, most = ends["min"].as_py(), ends["max"].as_py()
    if least is None or most - least <= LONGEST_NS:
        return None
    return pc.quantile(starts, 0.5, interpolation="lower")[0].as_py()  # type: ignore[no-any-return]


def overlong(start: "pa.Array", duration: "pa.Array", stream: "pa.Array") -> list[int]:
    """Rows [in order of `start`, ns] that would still run after a later one of their stream ended.

    A stream runs one kernel after the other.  Branches of a graph overlap, but are not a hundred
    times as long as the rest of their stream.
    """
    import pyarrow.compute as pc

    counts = stream.value_counts()
    if len(counts) < 2:
        return _overlong(start, duration)
    order = pc.array_sort_indices(stream)
    start, duration = start.take(order), duration.take(order)
    found, first = [], 0
    for count in stream.take(order).value_counts().field("counts").to_pylist():
        rows = _overlong(start.slice(first, count), duration.slice(first, count))
        found += [order[first + row].as_py() for row in rows]
        first += count
    return found


def doubtful(
    starts: Sequence[int], durations: Sequence[int | None], streams: Sequence[Hashable]
) -> tuple[frozenset[int], frozenset[int]]:
    """Of activities in any order [ns] those of an unusable start, and of an overlong duration.

    One of no stream (None) overlaps with others as it likes.
    """
    import pyarrow as pa

    wrong = unusable(pa.array(starts, pa.int64()))
    apart = set() if wrong is None else {at for at, w in enumerate(wrong.to_pylist()) if w}
    rest = [at for at, on in enumerate(streams) if on is not None and at not in apart]
    rest.sort(key=lambda at: starts[at])
    numbers: dict[Hashable, int] = {}
    long = overlong(
        pa.array([starts[at] for at in rest], pa.int64()),
        pa.array([durations[at] for at in rest], pa.int64()),
        pa.array([numbers.setdefault(streams[at], len(numbers)) for at in rest], pa.int64()),
    )
    return frozenset(apart), frozenset(rest[row] for row in long)


def _overlong(start: "pa.Array", duration: "pa.Array") -> list[int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(duration):
        return []
    if duration.null_count or pc.min(duration).as_py() <= 0:
        known = pc.indices_nonzero(pc.greater(duration, 0))
        return known.take(_rows(_overlong(start.take(known), duration.take(known)))).to_pylist()  # type: ignore[no-any-return]
    end = pc.add(start, duration)
    if not pc.any(pc.less(start[1:], end[:-1])).as_py():  # one after the other
        return []
    long = pc.greater(duration, _TIMES * pc.quantile(duration, 0.5)[0].as_py())
    looked_at = pc.indices_nonzero(long).to_pylist()
    if not looked_at:
        return []
    others = pc.if_else(long, pa.scalar(_NEVER, pa.int64()), end)
    earliest = pc.cumulative_min(others[::-1])[::-1]  # end of all that come later
    found, believed = [], _NEVER
    for row in reversed(looked_at):
        if min(earliest[row].as_py(), believed) < end[row].as_py():
            found.append(row)
        else:
            believed = min(believed, end[row].as_py())
    return found


def _rows(numbers: list[int]) -> "pa.Array":
    import pyarrow as pa

    return pa.array(numbers, pa.int64())


def said(apart: int, over: int, what: str = "device activity") -> list[str]:
    """What a run says of so many of them."""
    told = []
    if apart:
        told.append(f"left out, without a usable start: {number_of(apart, what)}")
    if over:
        told.append(
            f"{number_of(over, what)} would still run after later ones of the same stream had "
            "ended: such durations count as unknown"
        )
    return told
