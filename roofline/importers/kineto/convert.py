"""Columns of a trace -> the events, signatures, steps and gaps of a run."""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.importers.kineto import notes
from roofline.importers.kineto.assemble import Assembly
from roofline.importers.kineto.columns import OP, Columns, Numbers
from roofline.importers.kineto.configuration import configuration
from roofline.importers.kineto.doubt import doubted
from roofline.importers.kineto.join import Joined, join
from roofline.importers.kineto.launched import Launched, launched
from roofline.importers.kineto.nesting import Nested, Walk, by_external_id, settle
from roofline.importers.kineto.overhead import set_apart
from roofline.importers.kineto.rows import Words
from roofline.importers.kineto.signatures import Signatures
from roofline.importers.kineto.steps import Cut, Window, cut, measured, used
from roofline.importers.kineto.times import Times, in_order, integers, octets, times
from roofline.runfile import Gap, Signature, Step

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What the events of a trace become, and what was found on the way."""

    events: "pa.Table"
    signatures: tuple[Signature, ...]
    steps: tuple[Step, ...]
    gaps: tuple[Gap, ...]
    warnings: tuple[str, ...]
    how: str  # the steps were found, in words
    device: int | None  # the device that most of the work ran on; None: nothing ran on one


def convert(columns: Columns) -> Converted:
    """Join, account, and put into rows."""
    spans = times(columns.spans)
    ran, doubt = doubted(columns.activities, times(columns.activities))
    found = launched(columns, spans, ran)
    nested, warnings = _nested(columns, spans, found)
    joined = join(columns, nested, found)
    settle(nested, columns)
    columns.spans.link = nested.sequence = array("q")
    division = _cut(columns, nested, joined, spans, ran)
    signatures = Signatures(columns, "cuda" if len(columns.activities) else "cpu")
    names, thread = _threads(columns)
    counters = [configuration(kernel) for kernel in columns.kernels.values()]
    origin = division.starts[0]
    events = Assembly(
        columns=columns, nested=nested, joined=joined, signatures=signatures, cut=division,
        spans=spans, activities=ran, thread=thread, origin=origin,
        words=Words(nested.modules.values(), names, counters),
    ).events()  # fmt: skip
    steps = measured(division, _last(ran.end, division.ends[-1]), origin)
    return Converted(
        events=events,
        signatures=tuple(signatures.made),
        steps=set_apart(steps, _overhead(columns), ran, origin),
        gaps=(*notes.gaps(columns, joined, ran), *_outside(nested, joined, spans, ran, division)),
        warnings=(
            *warnings,
            *notes.of_times(doubt),
            *notes.of_math(len(signatures.reduced)),
            *notes.of_content(columns, joined, signatures.unreadable, signatures.listed),
        ),
        how=division.how,
        device=next((at for at, _ in Counter(columns.activities.device).most_common(1)), None),
    )


def _nested(columns: Columns, spans: Times, found: Launched) -> tuple[Nested, list[str]]:
    started = integers(found.started)
    walk = Walk(columns, integers(spans.end), started)
    nested = walk.go(in_order(columns.spans, spans), integers(spans.start))
    by_id = by_external_id(nested, columns, started)
    columns.spans.external = array("q")  # no longer needed; there may be millions
    said = "launches stand on threads without operators: they were joined by their External id"
    return nested, [said] if by_id else []


def _overhead(columns: Columns) -> list[tuple[int, int]]:
    return [(round(start * 1000), round((start + us) * 1000)) for start, us in columns.overhead]


def _cut(columns: Columns, nested: Nested, joined: Joined, spans: Times, ran: Times) -> Cut:
    """Steps from the annotations in which something began; else the whole, from the first operator,
    launch or kernel to the last: work belongs to the step in which it was launched.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    working = pc.equal(octets(nested.counted), 1)
    launched = spans.start.take(joined.launch.drop_null())
    begun = pa.concat_arrays([spans.start.filter(working), launched])
    ended = pa.concat_arrays([spans.end.filter(working), launched])
    first = pc.min(pa.concat_arrays([begun, ran.start])).as_py() or 0
    whole = (first, _last(pa.concat_arrays([ended, ran.end]), first) + 1, "")
    names = [columns.names.values(), [call[0] for call in columns.calls.values()]]
    of, key = columns.spans.kind, columns.spans.key

    def windows(rows: Sequence[int]) -> list[Window]:
        starts, ends = (
            column.take(pa.array(rows, pa.int64())).to_pylist()
            for column in (spans.start, spans.end)
        )
        found = [
            (s, e, names[of[r] == OP][key[r]]) for s, e, r in zip(starts, ends, rows, strict=True)
        ]
        return used(found, begun if len(begun) else ran.start)

    return cut(windows(nested.steps), windows(nested.optimizers), whole)


def _outside(
    nested: Nested, joined: Joined, spans: Times, ran: Times, division: Cut
) -> Iterator[Gap]:
    """What belongs to no step: of the device where anything ran on one, else operators."""
    import pyarrow.compute as pc

    if len(ran.start):
        started = spans.start.take(joined.launch) if joined.matched else ran.start
        return notes.outside(started, ran.duration, division, "device activities")
    working = pc.equal(octets(nested.counted), 1)
    begun, lasted = spans.start.filter(working), spans.duration.filter(working)
    return notes.outside(begun, lasted, division, "operators")


def _last(ends: "pa.Array", otherwise: int) -> int:
    import pyarrow.compute as pc

    found: int | None = pc.max(ends).as_py()
    return otherwise if found is None else found


def _threads(columns: Columns) -> tuple[list[str], "pa.Array"]:
    """Names of threads, and the number of each thread's name; a process's first thread has none."""
    import pyarrow as pa

    names = Numbers()
    names.number("")
    numbers = []
    for thread in columns.threads.values():
        process, _, name = thread.partition(" ")
        numbers.append(names.number("" if name == process else name))
    return names.values(), pa.array(numbers, pa.int32())
