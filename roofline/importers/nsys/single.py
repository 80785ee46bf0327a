"""A run is of one device: which of those of a database, and what ran on the others."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.errors import BadInput
from roofline.importers.chosen import Gpu, of_several
from roofline.importers.nsys.others import other
from roofline.importers.nsys.read import Database
from roofline.runfile import Gap
from roofline.units import number_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class One:
    """The device of a run."""

    number: int | None  # as the profiler counts them; None is not told
    here: "pa.ChunkedArray | None"  # which activities ran on it; None is all
    gaps: tuple[Gap, ...] = ()  # what ran on others
    doubts: tuple[str, ...] = ()


def of_one(rows: "pa.Table", database: Database, option: str | None, file: str) -> One:
    """The user's `option`, else the one with most kernel time: the sum of what ran there.

    Where one device alone has a number, what says none ran on that.  BadInput where nothing with a
    usable start ran on the one that the user means.
    """
    import pyarrow.compute as pc

    devices = [device for (device,) in database.values["device"]]
    told = [device for device in devices if device is not None]
    if len(devices) == 1 or len(told) == 1:
        number = told[0] if told else None
        of_several(option, [_gpu(number, database)], file)
        return One(number=number, here=None, doubts=tuple(_untold(rows, devices, number)))
    sums = rows.group_by("device").aggregate([("duration", "sum"), ("device", "count")]).to_pylist()
    spent = {each["device"]: (each["duration_sum"], each["device_count"]) for each in sums}
    order = sorted(
        range(len(devices)),
        key=lambda at: (
            at not in spent, -(spent.get(at, (0, 0))[0] or 0), devices[at] is None, devices[at] or 0
        ),
    )  # fmt: skip
    gpus = [_gpu(devices[at], database) for at in order]
    first = order[of_several(option, gpus, file)]
    if first not in spent:
        raise BadInput(f"{file}: nothing that ran on {_called(devices[first])} has a usable start")
    gaps = tuple(
        other(_called(devices[at]), gpu, gpus, *spent[at])
        for at, gpu in zip(order, gpus, strict=True)
        if at != first and at in spent
    )
    return One(number=devices[first], here=pc.equal(rows["device"], first), gaps=gaps)


def _untold(rows: "pa.Table", devices: list[int | None], number: int | None) -> list[str]:
    """What to say of activities that count to the only device with a number."""
    import pyarrow.compute as pc

    if len(devices) == 1:
        return []
    count = pc.sum(pc.equal(rows["device"], devices.index(None))).as_py()
    return [
        f"nothing says on which device ran {number_of(count, 'activity')}: taken to be "
        f"device {number}, the only one that has a number"
    ] * (count > 0)


def _called(device: int | None) -> str:
    return "no stated device" if device is None else f"device {device}"


def _gpu(device: int | None, database: Database) -> Gpu:
    return Gpu(device, "" if device is None else database.gpus.get(device, ""))
