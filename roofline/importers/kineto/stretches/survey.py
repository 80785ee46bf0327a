"""A look at a whole trace before it is divided: which times cannot be, when it was recorded."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from roofline.importers.believed import middle
from roofline.importers.kineto.read.columns import LAUNCH, NONE
from roofline.importers.kineto.stretches.devices import Spent, spent
from roofline.importers.kineto.stretches.outside import Window, window
from roofline.importers.kineto.stretches.overlong import without_overlong
from roofline.importers.limits import LONGEST_NS

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Survey:
    """What holds for all of a trace."""

    window: Window | None = None  # in which it was recorded
    devices: Mapping[int, Spent] = field(default_factory=dict)  # what ran on each, most time first
    overlong: Mapping[int, int] = field(default_factory=dict)  # durations that cannot be, on each
    apart: int = 0  # events left out, without a usable start


def survey(
    spans: "pa.Table", ran: "pa.Table", recorded: Iterable[tuple[float, float]]
) -> tuple["pa.Table", "pa.Table", Survey]:
    """The host's spans and the devices' activities without times that cannot be, and what is left.

    `recorded` are the profiler's own records (start, duration) [us].
    """
    events = spans.num_rows + ran.num_rows
    spans = _near(spans, _middle_of_spans(spans, ran))
    ran = _launched_or_near(ran, middle(ran["start"]), spans)
    ran, overlong = without_overlong(ran)
    during = window(spans, recorded)
    apart = events - spans.num_rows - ran.num_rows
    return spans, ran, Survey(during, spent(ran, during), overlong, apart)


def _middle_of_spans(spans: "pa.Table", ran: "pa.Table") -> int | None:
    """The start from which spans must not be more than a day; None where all may stay.

    That in the middle of all events, unless most of the host is far from it: then the clock of the
    device is another, and the host's own middle says which of its spans is odd.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    starts = spans["start"]
    if middle(starts) is None:
        return None
    found = middle(pa.chunked_array([*starts.chunks, *ran["start"].chunks]))
    if found is not None and 2 * pc.sum(_apart(starts, found)).as_py() > len(starts):
        return middle(starts)
    return found


def _near(rows: "pa.Table", at: int | None) -> "pa.Table":
    """Those that start within a day of `at`."""
    return rows if at is None else _filtered(rows, at, None)


def _launched_or_near(ran: "pa.Table", at: int | None, spans: "pa.Table") -> "pa.Table":
    """Those that start within a day of `at`; what has a launch can stand at that."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if at is None:
        return ran
    launched: set[int] = set()
    odd = pa.chunked_array(
        [batch["correlation"].filter(_apart(batch["start"], at)) for batch in ran.to_batches()]
    ).combine_chunks()
    for batch in spans.select(["kind", "link"]).to_batches():
        links = batch["link"].filter(pc.equal(batch["kind"], LAUNCH))
        launched |= set(links.filter(pc.is_in(links, value_set=odd)).to_pylist())
    return _filtered(ran, at, pa.array(launched - {NONE}, pa.int64()))


def _filtered(rows: "pa.Table", at: int, launched: "pa.Array | None") -> "pa.Table":
    """Batch by batch: one that is whole stays where it is, in a file maybe."""
    import pyarrow as pa
    import pyarrow.compute as pc

    batches = []
    for batch in rows.to_batches():
        wrong = _apart(batch["start"], at)
        if launched is not None:
            wrong = pc.and_not(wrong, pc.is_in(batch["correlation"], value_set=launched))
        batches.append(batch.filter(pc.invert(wrong)) if pc.any(wrong).as_py() else batch)
    return pa.Table.from_batches(batches, schema=rows.schema)


def _apart(starts: "pa.Array", at: int) -> "pa.Array":
    """Which of `starts` are more than a day from `at`."""
    import pyarrow.compute as pc

    return pc.greater(pc.abs(pc.subtract(starts, at)), LONGEST_NS)
