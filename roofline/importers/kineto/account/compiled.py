"""Kernels that a compiler made (Triton): their arguments are recorded, what they compute is not."""

from dataclasses import replace

from roofline.call import DTYPE_BYTES, Call
from roofline.device import DRAM
from roofline.runfile import Signature
from roofline.work import Entry, Exactness, Ledger, algorithmic

ONCE = (
    "every tensor argument once, its outputs being among them; one that is read and written counts "
    "twice, which the trace does not tell, hence the range"
)


def compiled_kernel(call: Call, how: str) -> Signature:
    """The signature of a compiled kernel; `how` it was built stands behind its arguments."""
    known = [t for t in call.tensors if t.dtype in DTYPE_BYTES]
    nbytes = sum(t.nbytes for t in known)
    entries = (
        [Entry(DRAM, nbytes, "arguments once", None, Exactness.BOUNDED, nbytes, 2 * nbytes)]
        if known and len(known) == len(call.tensors)
        else []
    )
    ledger: Ledger = replace(
        algorithmic(*entries, conventions=(ONCE,) if entries else ()),
        unaccounted=(f"arithmetic of {call.op}",),
        footprint=nbytes if entries else None,
    )
    return Signature(name=call.op, call=replace(call, args=(*call.args, how)), ledger=ledger)
