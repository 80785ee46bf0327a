"""What ran on a device -> the launch and the operator that caused it.

Kernel -> launch by correlation id -> the counted operator around that launch on its thread.  The
``External id`` of a kernel is not used: it can be the correlation id.
"""

import re
from array import array
from dataclasses import dataclass

from roofline.importers.kineto import copies, names
from roofline.importers.kineto.columns import COPY, LAUNCH, NONE, Columns
from roofline.importers.kineto.nesting import Nested

ON_DEVICE, OVER_LINK, TF32 = 1, 2, 4
# Kernels that multiply fp32 matrices on the tensor pipes say so in their names.
_TF32 = re.compile(r"tf32|tensorop_s1688|[_s]1688gemm")


@dataclass(slots=True)
class Joined:
    """Per activity the span that launched it and the counted operator; NONE is none."""

    launch: "array[int]"
    owner: "array[int]"
    did: bytearray  # per span: ON_DEVICE, OVER_LINK, TF32 for what a counted operator caused
    graph: bytearray  # per span: 1 for a launch of a captured graph
    over_link: list[bool]  # per kernel of Columns.kernels: a copy to or from the host
    matched: int  # activities whose launch is in the trace


def join(columns: Columns, nested: Nested) -> Joined:
    """Follow every activity back to its cause."""
    spans, activities = columns.spans, columns.activities
    launch_of = {
        link: row
        for row, (kind, link) in enumerate(zip(spans.kind, spans.link, strict=True))
        if kind == LAUNCH and link != NONE
    }
    starts_graph = [names.launches_graph(name) for name in columns.names.values()]
    over_link = [copies.meets_host(kernel[0]) for kernel in columns.kernels.values()]
    tf32 = [TF32 if _TF32.search(kernel[0]) else 0 for kernel in columns.kernels.values()]
    joined = Joined(
        launch=array("q", [launch_of.get(c, NONE) for c in activities.correlation]),
        owner=array("q", [NONE]) * len(activities),
        did=bytearray(len(spans)),
        graph=bytearray(len(spans)),
        over_link=over_link,
        matched=0,
    )
    for at, row in enumerate(joined.launch):
        if row == NONE:
            continue
        joined.matched += 1
        if starts_graph[spans.key[row]]:
            joined.graph[row] = 1
            continue
        owner = joined.owner[at] = nested.owner[row]
        if owner != NONE:
            far = activities.kind[at] == COPY and over_link[activities.key[at]]
            joined.did[owner] |= OVER_LINK if far else ON_DEVICE | tf32[activities.key[at]]
    return joined
