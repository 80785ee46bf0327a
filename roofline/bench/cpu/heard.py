"""Which code of which library a matrix product ran, as the library itself says.

oneDNN names the implementation of every call and MKL the processors it was built for, on standard
output, when they are asked to be verbose.  Others (ATen's own loops, OpenBLAS) say nothing.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

from roofline.bench.cpu import host

_OUT = 1
_NOT_TOLD = "not told"
# The widest first: oneDNN writes avx10_1_512_amx and avx512_core_amx alike.
_NAMES = (("amx", "AMX"), ("avx512", "AVX-512"), ("avx10", "AVX10"), ("avx2", "AVX2"),
          ("avx", "AVX"), ("sse41", "SSE4.1"), ("sve", "SVE"))  # fmt: skip
# What oneDNN calls avx10_1_512 it called avx512_core_fp16 before: a CPU needs no AVX10 for it.
_OLDER = {"AVX10": "AVX-512 FP16"}


def implementation(run: Callable[[], object]) -> str:
    """Who did what `run` does with which instructions, "AVX-512 by oneDNN brg_matmul:avx512_core".

    "not told by ..." where the library names itself only, or nobody says anything.  It is run once,
    on the calling thread.
    """
    processors = _mkl()  # MKL says this once only, with its first verbose call
    return told(_verbose(run), processors, host.cpu().features)


def told(text: str, processors: str, features: str = "") -> str:
    """The same from what the libraries wrote; of several calls the last is the product.

    `features` are the CPU's own names of what it has.

    >>> told("onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core_amx,undef", "")
    'AMX by oneDNN brg_matmul:avx512_core_amx'
    >>> told("MKL_VERBOSE SGEMM(N,N,256) 5us", "Intel(R) Architecture processors")
    'not told by MKL SGEMM for Intel(R) Architecture processors'
    """
    calls = list(_calls(text, processors, features))
    return calls[-1] if calls else f"{_NOT_TOLD} by torch"


def _calls(text: str, processors: str, features: str) -> Iterator[str]:
    for line in text.splitlines():
        fields = line.split(",")
        if fields[0] == "onednn_verbose" and "exec" in fields:
            kind, implementation = fields[fields.index("exec") + 2 :][:2]
            yield _named(f"oneDNN {implementation or kind}", implementation, features)
        elif routine := re.match(r"MKL_VERBOSE (\w+)\(", line):
            made_for = f" for {processors}" if processors else ""
            # A processor with AMX is one with AVX-512, which is what fp32 and fp64 use of it.
            names = processors.lower().replace("-", "").replace("amx", "avx512")
            yield _named(f"MKL {routine[1]}{made_for}", names, features)


def _named(who: str, names: str, features: str) -> str:
    """`who` after the instruction set that `names` names, where it does."""
    found = next((name for key, name in _NAMES if key in names), _NOT_TOLD)
    if "avx10" not in features:
        found = _OLDER.get(found, found)
    return f"{found} by {who}"


@cache
def _mkl() -> str:
    """The processors whose code MKL takes here, in its words; "" where there is no MKL."""
    import torch

    one = torch.ones(64, 64)
    header = re.search(r"architecture (.*?),? Lnx", _verbose(lambda: torch.mm(one, one)))
    return header[1].removesuffix(" enabled processors") if header else ""


def _verbose(run: Callable[[], object]) -> str:
    """What libraries write while `run` runs."""
    from torch.backends import mkl, mkldnn

    with _diverted() as read, ExitStack() as stack:
        if mkldnn.is_available():
            stack.enter_context(mkldnn.verbose(mkldnn.VERBOSE_ON))
        if mkl.is_available():
            stack.enter_context(mkl.verbose(mkl.VERBOSE_ON))
        run()
        stack.close()
        return read()


@contextmanager
def _diverted() -> Iterator[Callable[[], str]]:
    """Standard output of the whole process into a file meanwhile: libraries write past Python."""
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file:
        kept = os.dup(_OUT)
        os.dup2(file.fileno(), _OUT)

        def read() -> str:
            _flush()
            file.seek(0)
            return file.read().decode(errors="replace")

        try:
            yield read
        finally:
            _flush()
            os.dup2(kept, _OUT)
            os.close(kept)


def _flush() -> None:
    """Empty the buffers of C, which hold back what goes to a file."""
    import ctypes

    libc: Any = ctypes.CDLL(None)
    libc.fflush(None)
