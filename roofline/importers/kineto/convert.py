"""Columns of a trace -> the events, signatures, steps and gaps of a run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from roofline.importers.kineto import notes
from roofline.importers.kineto.assemble import Assembly
from roofline.importers.kineto.columns import OP, Columns, Numbers
from roofline.importers.kineto.configuration import configuration
from roofline.importers.kineto.doubt import doubted
from roofline.importers.kineto.join import join
from roofline.importers.kineto.nesting import Nested, Walk, settle
from roofline.importers.kineto.overhead import set_apart
from roofline.importers.kineto.rows import Words, table
from roofline.importers.kineto.signatures import Signatures
from roofline.importers.kineto.steps import Cut, Window, cut, measured, used
from roofline.importers.kineto.times import Times, in_order, times
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
    walk = Walk(columns, spans.end, frozenset(columns.activities.correlation))
    nested = walk.go(in_order(columns.spans, spans), spans.start)
    joined = join(columns, nested)
    settle(nested, columns)
    division = _cut(columns, nested, spans, ran)
    signatures = Signatures(columns, "cuda" if len(columns.activities) else "cpu")
    names, thread = _threads(columns)
    origin = division.starts[0]
    blocks = Assembly(
        columns=columns, nested=nested, joined=joined, signatures=signatures, cut=division,
        spans=spans, activities=ran, thread=thread, origin=origin,
    ).blocks()  # fmt: skip
    counters = [configuration(kernel) for kernel in columns.kernels.values()]
    steps = measured(division, max(ran.end, default=division.ends[-1]), origin)
    return Converted(
        events=table(blocks, Words(nested.modules.values(), names, counters)),
        signatures=tuple(signatures.made),
        steps=set_apart(steps, _overhead(columns), ran, origin),
        gaps=tuple(notes.gaps(columns, joined, ran)),
        warnings=(
            *notes.of_times(doubt),
            *notes.of_content(columns, joined, signatures.unreadable, signatures.listed),
        ),
        how=division.how,
        device=next((at for at, _ in Counter(columns.activities.device).most_common(1)), None),
    )


def _overhead(columns: Columns) -> list[tuple[int, int]]:
    return [(round(start * 1000), round((start + us) * 1000)) for start, us in columns.overhead]


def _cut(columns: Columns, nested: Nested, spans: Times, ran: Times) -> Cut:
    """Steps from the annotations in which something began; else the whole, from the first operator
    or kernel to the last.
    """
    working = [row for row, counted in enumerate(nested.counted) if counted]
    begun = [spans.start[row] for row in working] or list(ran.start)
    first = min(chain(begun, ran.start), default=0)
    last = max(chain((spans.end[row] for row in working), ran.end), default=0)
    whole = (first, last + 1, "")
    names = [columns.names.values(), [call[0] for call in columns.calls.values()]]
    of, key = columns.spans.kind, columns.spans.key

    def windows(rows: Sequence[int]) -> list[Window]:
        found = [(spans.start[r], spans.end[r], names[of[r] == OP][key[r]]) for r in rows]
        return used(found, begun)

    return cut(windows(nested.steps), windows(nested.optimizers), whole)


def _threads(columns: Columns) -> tuple[list[str], list[int]]:
    """Names of threads, and the number of each thread's name; a process's first thread has none."""
    names = Numbers()
    names.number("")
    numbers = []
    for thread in columns.threads.values():
        process, _, name = thread.partition(" ")
        numbers.append(names.number("" if name == process else name))
    return names.values(), numbers
