"""What a reader of the run must know of the file: repaired, skipped, missing, not believed."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from roofline.importers.kineto.columns import NONE, Columns
from roofline.importers.kineto.doubt import Doubt
from roofline.importers.kineto.join import Joined
from roofline.importers.kineto.names import one_line
from roofline.importers.kineto.steps import Cut
from roofline.importers.kineto.stream import Reader
from roofline.importers.kineto.times import Times
from roofline.runfile import Gap

if TYPE_CHECKING:
    import pyarrow as pa

_SHAPES = "record_shapes=True"


def of_file(reader: Reader, columns: Columns) -> Iterator[str]:
    """The state of the file itself."""
    if reader.truncated:
        yield f"{reader.truncated}; what stands before that was read"
    if reader.mended:
        yield f"{_count(reader.mended, 'event')} were not valid JSON and were mended"
    if reader.lost:
        yield f"{_count(reader.lost, 'event')} could not be read and are left out"
    if columns.untimed:
        yield f"{_count(columns.untimed, 'event')} have no usable start and are left out"
    if columns.negative:
        yield f"{_count(columns.negative, 'duration')} below zero or not numbers count as unknown"


def of_times(doubt: Doubt) -> Iterator[str]:
    """Durations that are not believed."""
    if doubt.overlong:
        yield (
            f"{_activities(doubt.overlong)} would still run "
            "after later ones of the same stream had ended: their durations count as unknown"
        )
    if doubt.zero:
        yield (
            f"{_activities(doubt.zero)} are shorter than the "
            "trace can tell (0 us): their durations count as unknown"
        )


def of_math(reduced: int) -> Iterator[str]:
    """Kernels whose names contradict the types of their operators."""
    if reduced:
        yield (
            f"{_count(reduced, 'distinct call')} of fp32 ran kernels that by their names multiply "
            "bf16 or fp16: products are placed on that pipe, bytes are counted as fp32"
        )


def of_content(
    columns: Columns, joined: Joined, unreadable: dict[str, list[str]], listed: int
) -> Iterator[str]:
    """What was not recorded, with what would record it."""
    operators, kernels = len(columns.calls.of), len(columns.activities)
    if not operators:
        yield (
            "the trace holds no operators, so the work of its kernels is unknown; record with "
            f"ProfilerActivity.CPU and {_SHAPES}"
        )
    for why, names in unreadable.items():
        some = ", ".join(dict.fromkeys(names[:3]))
        yield f"{_count(len(names), 'distinct call')} not accounted for: {why}; such as {some}"
    if listed:
        yield (
            f"{_count(listed, 'distinct call')} with lists of tensors: their types are not "
            "recorded, and were taken from other tensors of the same shape"
        )
    if joined.doubtful:
        yield (
            f"{_activities(joined.doubtful)} bear the correlation id of launches in several "
            "processes of the file, and nothing says whose they are: import each process by itself"
        )
    if kernels and operators and not joined.matched:
        yield "no kernel's launch is in the trace, so kernels stand by themselves"


def gaps(columns: Columns, joined: Joined, ran: Times) -> Iterator[Gap]:
    """What the recording knows it does not hold."""
    import pyarrow.compute as pc

    lost = joined.launch.null_count
    if lost and joined.matched:
        yield Gap(
            name="activities without a launch",
            what=(
                f"{_activities(lost)} ran whose launch was not recorded, so nobody knows what "
                "caused them; they belong to no step"
            ),
            seconds=_seconds(ran.duration.filter(pc.is_null(joined.launch))),
            count=lost,
        )
    replayed = joined.launch.filter(joined.in_graph)
    if len(replayed):
        seconds, whole = _seconds(ran.duration.filter(joined.in_graph)), _seconds(ran.duration)
        launches = _count(len(replayed.unique()), "graph launch", "graph launches")
        share = f", {seconds / whole:.0%} of device time" if whole else ""
        yield Gap(
            name="graph launches",
            what=(
                f"{launches} replayed {_activities(len(replayed))}{share}; which operators these "
                "belong to is not in the trace"
            ),
            seconds=seconds,
            count=len(replayed),
        )
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


def outside(started: "pa.Array", durations: "pa.Array", cut: Cut, what: str) -> Iterator[Gap]:
    """What was `started` outside every step; null is not known, and another gap."""
    import pyarrow.compute as pc

    left = pc.and_(pc.is_valid(started), pc.equal(cut.of(started), NONE))
    if count := pc.sum(left).as_py():
        yield Gap(
            name="outside every step",
            what=(
                f"outside the steps that the trace marks began {count:,} of {len(left):,} {what}, "
                "which belong to none"
            ),
            seconds=_seconds(durations.filter(left)),
            count=count,
        )


def _seconds(durations: "pa.Array") -> float:
    import pyarrow.compute as pc

    return (pc.sum(durations).as_py() or 0) / 1e9


def _activities(number: int) -> str:
    return _count(number, "device activity", "device activities")


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
