"""What a trace knows that it does not hold, or that belongs to no step."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from roofline.importers.chosen import way_to
from roofline.importers.kineto.convert import about
from roofline.importers.kineto.join.names import one_line
from roofline.importers.kineto.join.owners import Joined
from roofline.importers.kineto.join.steps import Cut
from roofline.importers.kineto.join.walked import Walked
from roofline.importers.kineto.read.columns import NONE, Columns
from roofline.importers.kineto.stretches.devices import Spent
from roofline.importers.kineto.stretches.times import octets
from roofline.runfile import Gap
from roofline.units import number_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(slots=True)
class Sum:
    """How many, and their time as far as it is known."""

    count: int = 0
    ns: int | None = None  # None: of none of them

    def add(self, durations: "pa.Array") -> None:
        """Take in so many more."""
        import pyarrow.compute as pc

        self.count += len(durations)
        ns = pc.sum(durations).as_py()
        if ns is not None:
            self.ns = (self.ns or 0) + ns

    @property
    def seconds(self) -> float | None:
        """The time."""
        return _seconds(self.ns)


class Tally:
    """Sums over the stretches of a trace."""

    def __init__(self, on_device: bool, matched: bool):
        """Something ran on a device; the launch of some of it is known."""
        self._on_device, self._matched = on_device, matched
        self._ran = Sum()
        self._lost = Sum()  # ran without a launch
        self._replayed = Sum()  # ran in a graph
        self._graph_launches = 0
        self._steps = Sum()  # what might be in a step
        self._outside = Sum()  # and is in none

    def note(self, joined: Joined, part: Walked, cut: Cut) -> None:
        """Take in one stretch."""
        import pyarrow.compute as pc

        ran = part.ran.duration
        self._ran.add(ran)
        self._lost.add(ran.filter(pc.is_null(joined.launch)))
        self._replayed.add(ran.filter(joined.in_graph))
        self._graph_launches += len(joined.launch.filter(joined.in_graph).unique())
        if self._on_device:
            started = part.at.start.take(joined.launch) if self._matched else part.ran.start
        else:
            working = pc.equal(octets(part.nested.counted), 1)
            started, ran = part.at.start.filter(working), part.at.duration.filter(working)
        # What has no known start is lost, another gap.
        left = pc.and_(pc.is_valid(started), pc.equal(cut.of(started), NONE))
        self._steps.add(ran)
        self._outside.add(ran.filter(left))

    def gaps(self, columns: Columns) -> Iterator[Gap]:
        """Of the whole trace."""
        if self._lost.count and self._matched:
            yield Gap(
                name="activities without a launch",
                what=(
                    f"{_activities(self._lost)} ran whose launch was not recorded, so nobody "
                    "knows what caused them; they belong to no step"
                ),
                seconds=self._lost.seconds,
                count=self._lost.count,
            )
        if self._replayed.count:
            some, all_ = self._replayed.ns, self._ran.ns
            share = some / all_ if some is not None and all_ else None
            yield Gap(
                name="graph launches",
                what=(
                    f"{number_of(self._graph_launches, 'graph launch')} replayed "
                    f"{_activities(self._replayed)}"
                    f"{'' if share is None else f', {share:.0%} of device time'}; "
                    "which operators these belong to is not in the trace"
                ),
                seconds=self._replayed.seconds,
                count=self._replayed.count,
            )
        yield from _not_read(columns)
        if self._outside.count:
            what = "device activities" if self._on_device else "operators"
            yield Gap(
                name="outside every step",
                what=(
                    "outside the steps that the trace marks began "
                    f"{self._outside.count:,} of {self._steps.count:,} {what}, which belong to none"
                ),
                seconds=self._outside.seconds,
                count=self._outside.count,
            )


def elsewhere(devices: Mapping[int, Spent], told: Mapping[str, Any]) -> Iterator[Gap]:
    """What ran on other devices than the first; `told` is what the trace says of itself."""
    gpus = about.gpus(told, devices)
    for gpu, (device, spent) in islice(zip(gpus, devices.items(), strict=True), 1, None):
        yield Gap(
            name="device of no number" if device == NONE else f"device {device}",
            what=(
                "a run is of one device: what ran on this one, "
                f"{number_of(spent.count, 'device activity')}, is not in it, "
                f"nor are the operators that worked there alone{way_to(gpu, gpus)}"
            ),
            seconds=_seconds(spent.ns),
            count=spent.count,
        )


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e9


def _not_read(columns: Columns) -> Iterator[Gap]:
    skipped = dict(sorted(columns.skipped.items(), key=lambda kind: -kind[1]))
    if columns.frames:
        skipped["Python frames"] = columns.frames
    if skipped:
        yield Gap(
            name="events that are not read",
            what=", ".join(
                f"{count} of {one_line(kind) or 'no category'}" for kind, count in skipped.items()
            ),
            count=sum(skipped.values()),
        )


def _activities(some: Sum) -> str:
    return number_of(some.count, "device activity")
