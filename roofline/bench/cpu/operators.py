"""PyTorch's own operators in place of kernels: the last resort, without compiler and llvmlite.

Every pass is a call, so small working sets would time the call: caches near the core stay unknown,
and so do the registers.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from roofline.bench.cpu.kernels import ELEMENT, SCALE, Kernels, Stream
from roofline.errors import Missing

# A call takes a microsecond or two; at a hundred GB/s this many bytes take forty.
_SMALLEST = 4 << 20


def make() -> Kernels:
    """Streams by torch.  Missing when torch is not installed."""
    try:
        import torch
    except ImportError:
        raise Missing("torch is not installed") from None
    return Kernels(
        made_by=f"torch {torch.__version__} operators, calls included",
        instructions=capability(),
        code=f"torch-{torch.__version__}",
        streams={
            "read": {
                "torch.sum": _stream(lambda a, b, c: torch.sum(a)),
                "torch.dot": _stream(lambda a, b, c: torch.dot(a, a)),
            },
            "copy": {"torch copy_": _stream(lambda a, b, c: a.copy_(b))},
            "triad": {"torch.add": _stream(lambda a, b, c: torch.add(b, c, alpha=SCALE, out=a))},
            "update": {"torch.neg": _stream(lambda a, b, c: torch.neg(a, out=a))},
            "write": {"torch fill_": _stream(lambda a, b, c: a.fill_(SCALE))},
        },
        grain=512,
        chains={},
        smallest=_SMALLEST,
    )


def capability() -> str:
    """What ATen's own loops are built for here: "AVX-512 by ATen"."""
    import torch

    told = torch.backends.cpu.get_cpu_capability()
    return f"{told.replace('AVX512', 'AVX-512')} by ATen"


def _stream(operator: Callable[[Any, Any, Any], Any]) -> Stream:
    import torch

    def run(a: int, b: int, c: int, elements: int, passes: int) -> float:
        # The setting belongs to the calling thread, and this is one of several.
        if torch.get_num_threads() != 1:
            torch.set_num_threads(1)
        arrays = [_tensor(address, elements) for address in (a, b, c)]
        with torch.inference_mode():
            for _ in range(passes):
                result = operator(*arrays)
        return float(result) if result.numel() == 1 else 0.0

    return run


def _tensor(address: int, elements: int) -> Any:
    import torch

    memory = (ctypes.c_char * (elements * ELEMENT)).from_address(address)
    return torch.frombuffer(memory, dtype=torch.float32)
