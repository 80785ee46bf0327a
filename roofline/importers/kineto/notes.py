"""What a reader of the run must know of the file: repaired, skipped, missing, not believed."""

from collections.abc import Iterator

from roofline.importers.kineto.columns import NONE, OP, Columns
from roofline.importers.kineto.doubt import Doubt
from roofline.importers.kineto.join import Joined
from roofline.importers.kineto.stream import Reader
from roofline.importers.kineto.times import Times
from roofline.runfile import Gap

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


def of_content(
    columns: Columns, joined: Joined, unreadable: dict[str, list[str]], listed: int
) -> Iterator[str]:
    """What was not recorded, with what would record it."""
    operators = sum(1 for kind in columns.spans.kind if kind == OP)
    kernels = len(columns.activities)
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
    if kernels and operators and not joined.matched:
        yield "no kernel's launch is in the trace, so kernels stand by themselves"


def gaps(columns: Columns, joined: Joined, ran: Times) -> Iterator[Gap]:
    """What the recording knows it does not hold."""
    lost = [at for at, row in enumerate(joined.launch) if row == NONE] if joined.matched else []
    if lost:
        yield Gap(
            name="activities without a launch",
            what=(
                f"{_activities(len(lost))} ran whose launch was "
                "not recorded, so nobody knows who caused them; they belong to no step"
            ),
            seconds=_seconds(ran, lost),
            count=len(lost),
        )
    replayed = [at for at, row in enumerate(joined.launch) if row != NONE and joined.graph[row]]
    if replayed:
        launches = _count(sum(joined.graph), "graph launch", "graph launches")
        yield Gap(
            name="graph launches",
            what=(
                f"{launches} replayed {_activities(len(replayed))}, {_share(ran, replayed):.0%} of "
                "device time; which operators these belong to is not in the trace"
            ),
            seconds=_seconds(ran, replayed),
            count=len(replayed),
        )
    skipped = dict(sorted(columns.skipped.items(), key=lambda kind: -kind[1]))
    if columns.frames:
        skipped["Python frames"] = columns.frames
    if skipped:
        yield Gap(
            name="events that are not read",
            what=", ".join(
                f"{count} of {kind or 'no category'}" for kind, count in skipped.items()
            ),
            count=sum(skipped.values()),
        )


def _share(ran: Times, some: list[int]) -> float:
    whole = sum(max(ns, 0) for ns in ran.duration)
    return sum(max(ran.duration[at], 0) for at in some) / whole if whole else 0.0


def _seconds(ran: Times, some: list[int]) -> float:
    return sum(max(ran.duration[at], 0) for at in some) / 1e9


def _activities(number: int) -> str:
    return _count(number, "device activity", "device activities")


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
