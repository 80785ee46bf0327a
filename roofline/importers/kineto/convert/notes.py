"""What a reader of the run must know of the file: repaired, missing, not believed."""

from collections.abc import Iterator

from roofline.importers.kineto.join.walked import Whole
from roofline.importers.kineto.read.columns import Columns
from roofline.importers.kineto.read.stream import Reader
from roofline.importers.kineto.stretches.doubt import Doubt
from roofline.units import number_of

BY_ID = "launches stand on threads without operators: they were joined by their External id"
_SHAPES = "record_shapes=True"


def of_file(reader: Reader, columns: Columns) -> Iterator[str]:
    """The state of the file itself."""
    if reader.truncated:
        yield f"{reader.truncated}; what stands before that was read"
    if reader.mended:
        yield f"mended, since not valid JSON: {number_of(reader.mended, 'event')}"
    if reader.lost:
        yield f"left out, since not to be read: {number_of(reader.lost, 'event')}"
    if columns.untimed:
        yield f"left out, without a usable start: {number_of(columns.untimed, 'event')}"
    if columns.negative:
        durations = number_of(columns.negative, "duration")
        yield f"unknown, since below zero or no number: {durations}"
    if columns.absent:
        yield f"unknown, since not recorded: {number_of(columns.absent, 'duration')}"


def of_times(doubt: Doubt) -> Iterator[str]:
    """Durations that are not believed."""
    if doubt.overlong:
        yield (
            f"{number_of(doubt.overlong, 'device activity')} would still run "
            "after later ones of the same stream had ended: such durations count as unknown"
        )
    if doubt.early:
        yield (
            f"{number_of(doubt.early, 'device activity')} would have begun before being launched: "
            "such times count as unknown"
        )
    if doubt.late:
        yield (
            f"{number_of(doubt.late, 'device activity')} would have ended long after everything "
            "else that was recorded: such times count as unknown"
        )
    if doubt.zero:
        yield (
            "unknown, since shorter than the trace can tell (0 us): durations of "
            f"{number_of(doubt.zero, 'device activity')}"
        )


def of_math(reduced: int) -> Iterator[str]:
    """Kernels whose names contradict the types of their operators."""
    if reduced:
        yield (
            f"{number_of(reduced, 'distinct call')} of fp32 ran kernels that by their names "
            "multiply bf16 or fp16: products are placed on that pipe, bytes are counted as fp32"
        )


def of_content(
    columns: Columns, whole: Whole, unreadable: dict[str, list[str]], listed: int
) -> Iterator[str]:
    """What was not recorded, with what would record it."""
    operators = len(columns.calls.of)
    if not operators:
        yield (
            "the trace holds no operators, so the work of its kernels is unknown; record with "
            f"ProfilerActivity.CPU and {_SHAPES}"
        )
    for why, names in unreadable.items():
        some = ", ".join(dict.fromkeys(names[:3]))
        yield f"{number_of(len(names), 'distinct call')} not accounted for: {why}; such as {some}"
    if listed:
        yield (
            f"{number_of(listed, 'distinct call')} with lists of tensors: their types are not "
            "recorded, and were taken from other tensors of the same shape"
        )
    if whole.doubtful:
        yield (
            "launches of several processes of the file have the correlation id of "
            f"{number_of(whole.doubtful, 'device activity')}, and nothing says whose: import each "
            "process by itself"
        )
    if whole.activities and operators and not whole.matched:
        yield "no kernel's launch is in the trace, so kernels stand by themselves"
