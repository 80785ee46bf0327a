"""Kernels that a compiler made (Triton): their arguments are recorded, what they compute is not."""

import re
from dataclasses import replace

from roofline.call import DROPPED, DTYPE_BYTES, Call
from roofline.device import DRAM
from roofline.runfile import Signature
from roofline.work import Entry, Exactness, Ledger, algorithmic

_PLAIN = re.compile(r"[\w.+-]{0,64}")
ONCE = (
    "every tensor argument once, its outputs being among them; one that is read and written counts "
    "twice, which the trace does not tell, hence the range"
)


def built(how: str) -> str:
    """How a kernel was built with nothing of the user in it: numbers and words.

    >>> built("triton warps=4 constants=XBLOCK=2,PATH=/home/ann/x,TYPE=fp16")
    'triton warps=4 constants=XBLOCK=2,PATH=text,TYPE=fp16'
    """
    head, word, constants = how.partition("constants=")
    if not word:
        return how
    pairs = (pair.partition("=") for pair in constants.split(","))
    return f"{head}{word}" + ",".join(
        f"{key}={value if _PLAIN.fullmatch(value) else DROPPED}"
        for key, _, value in pairs
        if _PLAIN.fullmatch(key)
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
