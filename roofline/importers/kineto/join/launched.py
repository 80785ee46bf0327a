"""Which launch started what ran on a device: by correlation id, within a process.

A trace of one process numbers its launches once.  In a file of several processes a number can come
several times, and what ran names its device rather than its process.  Then that launch is taken
which alone has the process, else alone the ``External id``, else alone began before it; nobody
guesses beyond that.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.importers.kineto.read.columns import LAUNCH, NONE, Columns
from roofline.importers.kineto.stretches.times import Times, arrow, integers

if TYPE_CHECKING:
    import pyarrow as pa

Candidates = dict[int, dict[int, int]]  # correlation -> process -> its first launch


@dataclass(frozen=True, slots=True)
class Launched:
    """Per activity its launch, as a row of Columns.spans; null is not known."""

    launch: "pa.Array"
    started: "pa.Array"  # int8 per span: whether it launched something
    doubtful: int  # activities whose launch stands in several processes, nobody knows which
    elsewhere: "pa.Array | None" = None  # rows of launches that started only other devices' work


def launched(columns: Columns, spans: Times, ran: Times) -> Launched:
    """Find the launch of every activity."""
    import pyarrow as pa
    import pyarrow.compute as pc

    links, correlations = arrow(columns.spans.link), arrow(columns.activities.correlation)
    is_launch = pc.and_(pc.equal(arrow(columns.spans.kind), LAUNCH), pc.not_equal(links, NONE))
    rows = pc.indices_nonzero(is_launch).cast(pa.int64())
    launch = rows.take(pc.index_in(correlations, value_set=links.take(rows)))
    shared = _shared(columns, integers(rows))
    started = pc.and_(is_launch, pc.is_in(links, value_set=correlations))
    if not shared:
        return Launched(launch, started.cast(pa.int8()), 0)
    known = launch.to_pylist()
    doubtful = 0
    for at, link in enumerate(columns.activities.correlation):
        if link in shared:
            known[at] = _which(columns, shared[link], at, spans, ran)
            doubtful += known[at] is None
    launch = pa.array(known, pa.int64())
    several = pc.is_in(links, value_set=pa.array(list(shared), pa.int64()))
    alone = pc.and_(started, pc.invert(several))
    each = pa.array(range(len(links)), pa.int64())
    started = pc.or_(alone, pc.is_in(each, value_set=launch.drop_null()))
    return Launched(launch, started.cast(pa.int8()), doubtful)


def _shared(columns: Columns, rows: memoryview) -> Candidates:
    """The correlations that launches of several processes bear."""
    spans, process_of = columns.spans, columns.process_of
    if len(set(process_of)) < 2:
        return {}
    found: Candidates = {}
    for row in rows:
        processes = found.setdefault(spans.link[row], {})
        processes.setdefault(process_of[spans.thread[row]], row)
    return {link: processes for link, processes in found.items() if len(processes) > 1}


def _which(
    columns: Columns, processes: dict[int, int], at: int, spans: Times, ran: Times
) -> int | None:
    """The launch of activity `at` among those of several processes; None is not known."""
    activities = columns.activities
    own = processes.get(activities.process[at])
    if own is not None:
        return own
    external, begun = activities.external[at], ran.start[at].as_py()

    def alone(rows: Iterator[int]) -> int | None:
        found = list(rows)
        return found[0] if len(found) == 1 else None

    named = alone(
        row for row in processes.values() if external == columns.spans.external[row] != NONE
    )
    if named is not None:
        return named
    return alone(row for row in processes.values() if spans.start[row].as_py() <= begun)
