"""What ran on a device -> the launch and the operator that caused it.

Kernel -> launch (`launched`) -> the counted operator around that launch on its thread.  The
``External id`` is not used beside that: it can be the correlation id.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.call import Math
from roofline.importers import copies
from roofline.importers.kineto.join import names
from roofline.importers.kineto.join.launched import Launched
from roofline.importers.kineto.join.nesting import Nested
from roofline.importers.kineto.read.columns import COPY, NONE, Columns
from roofline.importers.kineto.stretches.times import arrow, integers, known

if TYPE_CHECKING:
    import pyarrow as pa

ON_DEVICE, OVER_LINK, TF32, BF16, FP16 = 1, 2, 4, 8, 16
# Kernels that multiply fp32 matrices on the tensor pipes say so in their names.  Those that make up
# fp32 of several bf16 products (bf16x9) do other work than the formula, and are none of them.
_TF32 = re.compile(r"tf32|tensorop_s1688|[_s]1688gemm")
_WORDS: dict[int, Math] = {FP16: "fp16", BF16: "bf16", TF32: "tf32"}
_PRODUCT = re.compile(r"gemm|xmma|cutlass|fprop|dgrad|wgrad")
_BF16 = re.compile(r"(?<![a-z0-9])bf16(?![a-z0-9])|bf16bf16")
_FP16 = re.compile(r"(?<![a-z0-9])fp?16(?![a-z0-9])|f16f16|(?<![a-z0-9])h(?:884|1688|16816)gemm")


@dataclass(frozen=True, slots=True)
class Joined:
    """Per activity what caused it, as rows of Columns.spans; null is not known."""

    launch: "pa.Array"
    owner: "pa.Array"  # the counted operator; null in a graph
    in_graph: "pa.Array"  # whether the launch is that of a captured graph
    over_link: "pa.Array"  # whether it is a copy from or to the host
    did: bytearray  # per span: the flags of this file for what a counted operator caused


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
    ways = pa.array([ON_DEVICE | _way(k[0]) for k in columns.kernels.values()], pa.int64())
    did = pc.if_else(over_link, OVER_LINK, ways.take(key))
    flags = _spread(len(spans), owner, did)
    return Joined(launch, owner, in_graph, over_link, flags)


def math(flags: int) -> Math:
    """How an operator with these flags multiplied its matrices, were they fp32."""
    for flag, word in _WORDS.items():
        if flags & flag:
            return word
    return "ieee"


def _way(kernel: str) -> int:
    """The type in which a kernel multiplies, as its name says; 0 when it does not."""
    if _PRODUCT.search(kernel):
        for flag, said in ((BF16, _BF16), (FP16, _FP16)):
            if said.search(kernel):
                return flag
    return TF32 if _TF32.search(kernel) else 0


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
