"""What ran on a device -> the launch and the operator that caused it.

Kernel -> launch by correlation id -> the counted operator around that launch on its thread.  The
``External id`` is not used beside that: it can be the correlation id.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.importers.kineto import copies, names
from roofline.importers.kineto.columns import COPY, LAUNCH, NONE, Columns
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


def active(columns: Columns) -> "pa.Array":
    """For each span, whether it is a launch of something that ran on a device."""
    import pyarrow as pa
    import pyarrow.compute as pc

    link = known(arrow(columns.spans.link))
    launches = pc.equal(arrow(columns.spans.kind), LAUNCH)
    ran = pc.is_in(link, value_set=known(arrow(columns.activities.correlation)), skip_nulls=True)
    return pc.and_(launches, ran).cast(pa.int8())


def join(columns: Columns, nested: Nested) -> Joined:
    """Follow every activity back to its cause."""
    import pyarrow as pa
    import pyarrow.compute as pc

    spans, activities = columns.spans, columns.activities
    links = arrow(spans.link)
    launches = pc.and_(pc.equal(arrow(spans.kind), LAUNCH), pc.not_equal(links, NONE))
    rows = pc.indices_nonzero(launches).cast(pa.int64())
    launch = rows.take(pc.index_in(arrow(activities.correlation), value_set=links.take(rows)))

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
    return Joined(launch, owner, in_graph, over_link, matched, _spread(len(spans), owner, did))


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
