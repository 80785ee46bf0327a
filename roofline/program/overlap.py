"""What ran beside what on a device: streams together, and communication behind computation.

Time in which nothing but communication ran is exposed: the step would be shorter by it, were it
hidden.  Communication is what a collective operator started, or a kernel that its library names.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.ops import collective
from roofline.program.columns import in_steps, is_kind, union_ns
from roofline.runfile import Run

if TYPE_CHECKING:
    import pyarrow as pa

_COLLECTIVES = frozenset(rule.op for rule in collective.RULES)
_LIBRARY = re.compile(r"nccl|rccl|nvshmem|msccl", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Device time of all measured steps together [s]."""

    streams: int  # that anything ran on
    sum_s: float  # of every kernel and copy, one after the other
    busy_s: float  # with at least one of them
    communication_s: float  # with communication
    exposed_s: float  # with communication and nothing else

    @property
    def beside_s(self) -> float:
        """Time saved by running several at once."""
        return self.sum_s - self.busy_s


def overlap(run: Run) -> Overlap | None:
    """Of everything that ran on a device in measured steps; None where nothing did."""
    import pyarrow.compute as pc

    events = run.events
    chosen = pc.and_(
        pc.and_(in_steps(run), is_kind(events, ("kernel", "memcpy"))),
        pc.is_valid(events["duration_ns"]),
    )
    table = events.select(["start_ns", "duration_ns", "stream", "signature", "parent"])
    table = table.filter(chosen)
    if not table.num_rows:
        return None
    communication = communicates(run, table)
    busy_ns = _union(table)
    others_ns = _union(table.filter(pc.invert(communication)))
    return Overlap(
        streams=max(len(pc.unique(table["stream"].drop_null())), 1),
        sum_s=(pc.sum(table["duration_ns"]).as_py() or 0) / 1e9,
        busy_s=busy_ns / 1e9,
        communication_s=_union(table.filter(communication)) / 1e9,
        exposed_s=(busy_ns - others_ns) / 1e9,
    )


def communicates(run: Run, events: "pa.Table") -> "pa.ChunkedArray":
    """For each of `events` (signature, parent), whether it is communication."""
    import pyarrow as pa
    import pyarrow.compute as pc

    talks = [s.name in _COLLECTIVES or _LIBRARY.search(s.name) is not None for s in run.signatures]
    by_name = pa.array(talks, pa.bool_())
    causes = run.events["signature"].take(events["parent"])
    caused = pc.fill_null(by_name.take(causes), False)
    return pc.or_(by_name.take(events["signature"]), caused)


def _union(table: "pa.Table") -> int:
    import pyarrow.compute as pc

    return union_ns(table["start_ns"], pc.add(table["start_ns"], table["duration_ns"]))
