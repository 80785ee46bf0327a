"""What a reader of the run must know of the file: repaired, missing, not believed."""

from collections.abc import Iterator

from roofline.importers.kineto.columns import Columns
from roofline.importers.kineto.doubt import Doubt
from roofline.importers.kineto.stream import Reader
from roofline.importers.kineto.walked import Whole
from roofline.units import number_of

BY_ID = "launches stand on threads without operators: they were joined by their External id"
_SHAPES = "record_shapes=True"


def of_file(reader: Reader, columns: Columns) -> Iterator[str]:
    """The state of the file itself."""
    if reader.truncated:
        yield f"{reader.truncated}; what stands before that was read"
    if reader.mended:
        yield f"{number_of(reader.mended, 'event')} were not valid JSON and were mended"
    if reader.lost:
        yield f"{number_of(reader.lost, 'event')} could not be read and are left out"
    if columns.untimed:
        yield f"{number_of(columns.untimed, 'event')} have no usable start and are left out"
    if columns.negative:
        durations = number_of(columns.negative, "duration")
        yield f"{durations} below zero or not numbers count as unknown"


def of_times(doubt: Doubt) -> Iterator[str]:
    """Durations that are not believed."""
    if doubt.overlong:
        yield (
            f"{number_of(doubt.overlong, 'device activity')} would still run "
            "after later ones of the same stream had ended: their durations count as unknown"
        )
    if doubt.zero:
        yield (
            f"{number_of(doubt.zero, 'device activity')} are shorter than the "
            "trace can tell (0 us): their durations count as unknown"
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
            f"{number_of(whole.doubtful, 'device activity')} bear the correlation id of launches "
            "in several processes of the file, and nothing says whose they are: import each "
            "process by itself"
        )
    if whole.activities and operators and not whole.matched:
        yield "no kernel's launch is in the trace, so kernels stand by themselves"
