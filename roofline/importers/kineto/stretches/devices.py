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
    """The one that was at work for longest."""
    return 0


@dataclass(frozen=True, slots=True)
class Spent:
    """What ran on one device."""

    count: int
    ns: int


def spent(ran: "pa.Table", of: Window | None) -> Mapping[int, Spent]:
    """By device, the one that was at work for longest first.

    A duration longer than the window tells nothing about who worked.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    found: dict[int, Spent] = {}
    for batch in ran.select(["device", "duration"]).to_batches():
        device, duration = batch.columns
        if of is not None:
            long = pc.greater(duration, of.limit - of.first)
            duration = pc.if_else(long, pa.scalar(None, pa.int64()), duration)
        rows = pa.table({"device": device, "duration": duration})
        sums = rows.group_by("device").aggregate([("duration", "sum"), ([], "count_all")])
        columns = (sums[name].to_pylist() for name in ("device", "count_all", "duration_sum"))
        for at, count, ns in zip(*columns, strict=True):
            before = found.get(at, Spent(0, 0))
            found[at] = Spent(before.count + count, before.ns + (ns or 0))
    return dict(sorted(found.items(), key=lambda each: (-each[1].ns, -each[1].count, each[0])))
