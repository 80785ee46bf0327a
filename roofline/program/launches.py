"""How the kernels that calls caused were launched: grid, block, registers, shared memory.

An operator says what was wanted and its kernels how it was done.  Of the kernels of one call that
one speaks which takes most of its time; its share says for how much.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline import counters
from roofline.counters import Reading
from roofline.program.columns import is_kind
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

    rows = pc.indices_nonzero(caused).cast(pa.int64())
    table = pa.table({
        "call": events["signature"].take(events["parent"].take(rows)),
        "kernel": events["signature"].take(rows),
        "ns": events["duration_ns"].take(rows),
        "row": rows,
    })  # fmt: skip
    sums = table.group_by(["call", "kernel"], use_threads=False).aggregate([
        ("ns", "sum"), ("row", "min"),
    ])  # fmt: skip
    columns = ("call", "kernel", "ns_sum", "row_min")
    each = zip(*(sums[name].to_pylist() for name in columns), strict=True)
    return sorted(
        ((c, k, ns or 0, row) for c, k, ns, row in each), key=lambda p: p[2], reverse=True
    )
