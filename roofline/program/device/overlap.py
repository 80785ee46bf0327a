"""What ran beside what on a device: streams together, and communication behind computation.

Time in which nothing but communication ran is exposed: the step would be shorter by it, were it
hidden.  Communication is what a collective operator started, or a kernel that its library names.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.ops import collective
from roofline.program.columns import batches, in_steps, is_kind, total_ns, union_ns
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
    known = pc.and_(in_steps(run), events["duration_ns"].is_valid())
    chosen = pc.and_(known, is_kind(events, ("kernel", "memcpy")))
    if not pc.any(chosen).as_py():
        return None
    communication = pc.and_(chosen, _communication(run))
    busy_ns = union_ns(events, chosen)
    others_ns = union_ns(events, pc.and_not(chosen, communication))
    return Overlap(
        streams=max(len(_streams(events, chosen)), 1),
        sum_s=total_ns(events, chosen) / 1e9,
        busy_s=busy_ns / 1e9,
        communication_s=union_ns(events, communication) / 1e9,
        exposed_s=(busy_ns - others_ns) / 1e9,
    )


def talks(name: str) -> bool:
    """Whether an operator or kernel of this name is communication.

    >>> talks("c10d::allreduce_"), talks("ncclDevKernel_Broadcast_RING_LL"), talks("aten::mm")
    (True, True, False)
    """
    return name in _COLLECTIVES or _LIBRARY.search(name) is not None


def communicates(run: Run, events: "pa.Table | pa.RecordBatch") -> "pa.Array":
    """For each of `events` (signature, parent), whether it is communication."""
    import pyarrow as pa
    import pyarrow.compute as pc

    by_name = pa.array([talks(s.name) for s in run.signatures], pa.bool_())
    causes = run.events["signature"].take(events["parent"])
    caused = pc.fill_null(by_name.take(causes), False)
    return pc.or_(by_name.take(events["signature"]), caused)


def _communication(run: Run) -> "pa.ChunkedArray":
    """For each event, whether it is."""
    import pyarrow as pa

    parts = batches(run.events, ["signature", "parent"])
    found = [chunk for _, part in parts for chunk in communicates(run, part).chunks]
    return pa.chunked_array(found, pa.bool_())


def _streams(events: "pa.Table", chosen: "pa.ChunkedArray") -> set[int]:
    """The streams that are known."""
    return {
        stream
        for at, batch in batches(events, ["stream"])
        for stream in batch["stream"]
        .filter(chosen.slice(at, len(batch)).combine_chunks())
        .drop_null()
        .unique()
        .to_pylist()
    }
