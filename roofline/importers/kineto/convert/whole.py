"""Columns of a trace -> the events, signatures, steps and gaps of a run.

Twice through the trace, stretch by stretch: what is part of what, and where steps end; then, with
both known for all of it, who caused what, its work, and the rows.
"""

from array import array
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.importers.kineto.account.configuration import configuration
from roofline.importers.kineto.account.signatures import Device, Signatures
from roofline.importers.kineto.convert import about, notes
from roofline.importers.kineto.convert.assemble import Assembly, Sections
from roofline.importers.kineto.convert.gaps import Tally, elsewhere
from roofline.importers.kineto.convert.rows import Words
from roofline.importers.kineto.join.elsewhere import uncount
from roofline.importers.kineto.join.nesting import by_external_id
from roofline.importers.kineto.join.overhead import set_apart
from roofline.importers.kineto.join.owners import join
from roofline.importers.kineto.join.steps import measured
from roofline.importers.kineto.join.walked import Walked, Whole, Work
from roofline.importers.kineto.read.columns import Columns, Numbers
from roofline.importers.kineto.stretches.divide import Stretches
from roofline.importers.kineto.stretches.doubt import Doubt
from roofline.importers.kineto.stretches.times import integers
from roofline.kept import Shelf
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
    device: int | None  # the one of several that the run is of; None: nothing ran on one


def convert(
    columns: Columns, stretches: Stretches, keep_private: bool, told: Mapping[str, Any]
) -> Converted:
    """Join, account, and put into rows; texts of the user's are dropped unless `keep_private`.

    `told` is what the trace says of itself.
    """
    whole = Whole()
    whole.overhead(columns)
    several = stretches.divide() > 1
    walked = Shelf(several)
    columns.untimed += stretches.found.apart
    whole.doubt += Doubt(overlong=stretches.overlong)
    for stretch in stretches:
        walked.put(whole.walk(stretch))
    by_id = whole.matched and not whole.nests
    if by_id:
        walked, by_id = _by_id(columns, walked, several, whole)
    division = whole.work.cut()
    device: Device = "cuda" if whole.activities else "cpu"
    signatures = Signatures(columns, device, keep_private, about.ranks(told))
    names, thread = _threads(columns)
    counters = [configuration(kernel) for kernel in columns.kernels.values()]
    words = Words(whole.modules.paths, names, counters)
    sections = Sections(whole.work.operators, whole.activities)
    tally = Tally(bool(whole.activities), whole.matched)
    for part in walked:
        of = _of(columns, part)
        joined = join(of, part.nested, part.found)
        whole.answers.settle(of, part.nested)
        part.spans.link = part.nested.sequence = array("q")
        tally.note(joined, part, division)
        Assembly(
            columns=of, nested=part.nested, joined=joined, on_device=bool(whole.activities),
            matched=whole.matched, signatures=signatures, cut=division, spans=part.at,
            activities=part.ran, thread=thread, origin=division.starts[0], words=words,
        ).rows(sections)  # fmt: skip
    done = division.ends[-1] if whole.done is None else whole.done
    steps = measured(division, done, division.starts[0])
    return Converted(
        events=sections.table(),
        signatures=tuple(signatures.made),
        steps=set_apart(steps, whole.idle, division.starts[0]),
        gaps=(*elsewhere(stretches.devices, told), *tally.gaps(columns)),
        warnings=(
            *([notes.BY_ID] if by_id else []),
            *notes.of_times(whole.doubt),
            *notes.of_math(len(signatures.reduced)),
            *notes.of_content(columns, whole, signatures.unreadable, signatures.listed),
        ),
        how=division.how,
        device=stretches.device,
    )


def _of(columns: Columns, part: Walked) -> Columns:
    """The columns of one stretch; names and calls are those of the whole trace."""
    of = copy(columns)
    of.spans, of.activities = part.spans, part.activities
    return of


def _by_id(columns: Columns, walked: Shelf, several: bool, whole: Whole) -> tuple[Shelf, bool]:
    """Join launches to operators by their External id, since nesting joins none."""
    again, joined = Shelf(several), False
    whole.work = Work()  # anew: more operators count
    for part in walked:
        of = _of(columns, part)
        joined |= by_external_id(part.nested, of, integers(part.found.started))
        uncount(part.nested, part.found)
        whole.work.note(of, part)
        again.put(part)
    return again, joined


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
