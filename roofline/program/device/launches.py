"""How the kernels that calls caused were launched: grid, block, registers, shared memory.

An operator says what was wanted and its kernels how it was done.  Of the kernels of one call that
one speaks which takes most of its time; its share says for how much.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline import counters
from roofline.counters import Reading
from roofline.program.columns import batches, is_kind
from roofline.runfile import Run

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class MainKernel:
    """The kernel that most of the device time of equal calls goes into."""

    name: str
    share: float  # of that time
    facts: Mapping[str, Reading]  # of its first launch


def main_kernels(run: Run) -> dict[int, MainKernel]:
    """By position in Run.signatures of the calls; those that started no kernel are absent."""
    import pyarrow.compute as pc

    events = run.events
    by_call = is_kind(events, ("op", "region")).take(events["parent"])
    caused = pc.and_(is_kind(events, ("kernel",)), pc.fill_null(by_call, False))
    if not pc.any(caused).as_py():
        return {}
    found: dict[int, MainKernel] = {}
    totals: dict[int, int] = {}
    for call, kernel, ns, first in _pairs(events, caused):
        totals[call] = totals.get(call, 0) + ns
        if call not in found:  # the longest comes first
            facts = counters.facts(dict(events["counters"][first].as_py() or ()))
            found[call] = MainKernel(name=run.signatures[kernel].name, share=ns, facts=facts)
    return {
        call: MainKernel(name=main.name, share=main.share / (totals[call] or 1), facts=main.facts)
        for call, main in found.items()
    }


def _pairs(events: "pa.Table", caused: "pa.ChunkedArray") -> list[tuple[int, int, int, int]]:
    """(signature of the call, of the kernel, ns together, row of the first), longest first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: dict[tuple[int, int], list[int]] = {}
    for at, batch in batches(events, ["signature", "parent", "duration_ns"]):
        rows = pc.indices_nonzero(caused.slice(at, len(batch)))
        table = pa.table({
            "call": events["signature"].take(batch["parent"].take(rows)).combine_chunks(),
            "kernel": batch["signature"].take(rows),
            "ns": batch["duration_ns"].take(rows),
            "row": pc.add(rows.cast(pa.int64()), at),
        })  # fmt: skip
        sums = table.group_by(["call", "kernel"], use_threads=False).aggregate([
            ("ns", "sum"), ("row", "min"),
        ])  # fmt: skip
        columns = (sums[name].to_pylist() for name in ("call", "kernel", "ns_sum", "row_min"))
        for call, kernel, ns, row in zip(*columns, strict=True):
            found.setdefault((call, kernel), [0, row])[0] += ns or 0
    pairs = [(call, kernel, ns, row) for (call, kernel), (ns, row) in found.items()]
    return sorted(pairs, key=lambda pair: pair[2], reverse=True)
