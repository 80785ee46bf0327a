"""A run is of one device: which of a trace's it is, and what the others did."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.importers.kineto.stretches.outside import Window

if TYPE_CHECKING:
    import pyarrow as pa


# Of devices, the busiest first, the place of the one that the run is of.
Choose = Callable[[Sequence[int]], int]


def busiest(devices: Sequence[int]) -> int:
    """The one with most kernel time."""
    return 0


@dataclass(frozen=True, slots=True)
class Spent:
    """What ran on one device."""

    count: int
    ns: int | None  # together, as far as known; None: of none of them


def spent(ran: "pa.Table", of: Window | None) -> Mapping[int, Spent]:
    """By device, the one with most kernel time first: a sum over streams, copies included.

    A duration of zero is not known, and one longer than the window tells nothing about who worked.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    found: dict[int, Spent] = {}
    for batch in ran.select(["device", "duration"]).to_batches():
        device, duration = batch.columns
        wrong = pc.equal(duration, 0)
        if of is not None:
            wrong = pc.or_(wrong, pc.greater(duration, of.limit - of.first))
        duration = pc.if_else(wrong, pa.scalar(None, pa.int64()), duration)
        rows = pa.table({"device": device, "duration": duration})
        sums = rows.group_by("device").aggregate([("duration", "sum"), ([], "count_all")])
        columns = (sums[name].to_pylist() for name in ("device", "count_all", "duration_sum"))
        for at, count, ns in zip(*columns, strict=True):
            before = found.get(at, Spent(0, None))
            some = [each for each in (before.ns, ns) if each is not None]
            found[at] = Spent(before.count + count, sum(some) if some else None)
    return dict(
        sorted(found.items(), key=lambda each: (-(each[1].ns or 0), -each[1].count, each[0]))
    )
