"""What ran on a device -> the launch and the operator that caused it.

Kernel -> launch (`launched`) -> the counted operator around that launch on its thread.  The
``External id`` is not used beside that: it can be the correlation id.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.importers.kineto import copies, names
from roofline.importers.kineto.columns import COPY, NONE, Columns
from roofline.importers.kineto.launched import Launched
from roofline.importers.kineto.nesting import Nested
from roofline.importers.kineto.times import arrow, integers, known

if TYPE_CHECKING:
    import pyarrow as pa

ON_DEVICE, OVER_LINK, TF32 = 1, 2, 4
# Kernels that multiply fp32 matrices on the tensor pipes say so in their names.
_TF32 = re.compile(r"tf32|tensorop_s1688|[_s]1688gemm")


@dataclass(frozen=True, slots=True)
class Joined:
    """Per activity what caused it, as rows of Columns.spans; null is not known."""

    launch: "pa.Array"
    owner: "pa.Array"  # the counted operator; null in a graph
    in_graph: "pa.Array"  # whether the launch is that of a captured graph
    over_link: "pa.Array"  # whether it is a copy from or to the host
    matched: bool  # some launch is known
    did: bytearray  # per span: ON_DEVICE, OVER_LINK, TF32 for what a counted operator caused
    doubtful: int  # activities whose launch stands in several processes, nobody knows which


def join(columns: Columns, nested: Nested, found: Launched) -> Joined:
    """Follow every activity back to its cause."""
    import pyarrow as pa
    import pyarrow.compute as pc

    spans, activities = columns.spans, columns.activities
    launch = found.launch
    starts = pa.array([names.launches_graph(n) for n in columns.names.values()], pa.bool_())
    in_graph = pc.fill_null(starts.take(arrow(spans.key).take(launch)), False)
    owner = known(arrow(nested.owner)).take(launch)
    owner = pc.if_else(in_graph, pa.scalar(None, pa.int64()), owner)
    key = arrow(activities.key)
    hosts = pa.array([copies.meets_host(k[0]) for k in columns.kernels.values()], pa.bool_())
    over_link = pc.and_(pc.equal(arrow(activities.kind), COPY), hosts.take(key))
    fast = pa.array([_TF32.search(k[0]) is not None for k in columns.kernels.values()], pa.bool_())
    did = pc.if_else(over_link, OVER_LINK, pc.if_else(fast.take(key), ON_DEVICE | TF32, ON_DEVICE))
    matched = launch.null_count < len(launch)
    flags = _spread(len(spans), owner, did)
    return Joined(launch, owner, in_graph, over_link, matched, flags, found.doubtful)


def _spread(count: int, owner: "pa.Array", did: "pa.Array") -> bytearray:
    """Per span, the flags of everything it caused together."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = bytearray(count)
    owners = integers(pc.fill_null(owner, NONE))
    for row, flags in zip(owners, integers(did.cast(pa.int64())), strict=True):
        if row != NONE:
            found[row] |= flags
    return found
