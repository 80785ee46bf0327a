"""Operators whose work is known on paper, each run once under Nsight Compute.

On a machine with a GPU; needs PyTorch and nothing of this package::

    ncu $(cat known.arguments) --profile-from-start off --nvtx \\
        --log-file known.csv python benchmarks/known_answers.py > known.machine.json

`tools/known_answers.py arguments` prints the metrics to collect, and `tools/known_answers.py table`
holds what they saw against the formulas.  Each case is warmed up outside the profile, so that
libraries have chosen their kernels; its launches carry its name as an NVTX range.
"""

import json
import math
import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel


@dataclass(frozen=True)
class Case:
    """One known answer: inputs on the default device, and the operator to run on them."""

    name: str
    make: Callable[[], tuple[Any, ...]]
    run: Callable[..., Any]
    streams: bool = False  # memory-bound, and larger than the last-level cache
    padded: bool = False  # known not to fill whole tiles
    kernel: str = ""  # of a Triton kernel its name in tests/account/triton_kernels.py
    grid: tuple[int, ...] = ()
    constants: Mapping[str, int] = field(default_factory=dict)


def matrices(m: int, n: int, k: int, dtype: torch.dtype) -> Callable[[], tuple[Any, ...]]:
    """A[M,K] and B[K,N], B stored column by column where its type wants that."""

    def make() -> tuple[Any, ...]:
        if dtype == torch.int8:
            whole = torch.randint
            return whole(-8, 8, (m, k), dtype=dtype), whole(-8, 8, (n, k), dtype=dtype).t()
        a, b = torch.randn(m, k).to(dtype), torch.randn(n, k).to(dtype).t()
        return (a, b, torch.ones(())) if dtype == torch.float8_e4m3fn else (a, b)

    return make


def heads(length: int = 2048) -> tuple[Any, ...]:
    """Q, K, V: batch 4, 16 heads of 128, bf16; heads beside each other in memory, as models do."""
    each = (torch.randn(4, length, 16, 128, dtype=torch.bfloat16) for _ in range(3))
    return tuple(t.transpose(1, 2).requires_grad_() for t in each)


def attention(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    """The flash kernels."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


def attended(causal: bool) -> Callable[[], tuple[Any, ...]]:
    """Q, K, V, the result of attention and its gradient, for the backward alone."""

    def make() -> tuple[Any, ...]:
        inputs = heads()
        o = attention(*inputs, causal=causal)
        return *inputs, o, torch.randn_like(o.transpose(1, 2)).transpose(1, 2)

    return make


def backward(q: Any, k: Any, v: Any, o: Any, gradient: Any) -> Any:
    """dQ, dK and dV."""
    return torch.autograd.grad(o, (q, k, v), gradient, retain_graph=True)


@contextmanager
def tf32() -> Any:
    """fp32 products on the tensor cores."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def tf32_mm(a: Any, b: Any) -> Any:
    """A @ B."""
    with tf32():
        return a @ b


def fp8_mm(a: Any, b: Any, one: Any) -> Any:
    """A @ B with scales of 1, in bf16."""
    return torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def images() -> tuple[Any, ...]:
    """32 images of 56 x 56 with 64 channels last, and 128 filters of 3 x 3, bf16."""
    x = torch.randn(32, 64, 56, 56, dtype=torch.bfloat16)
    w = torch.randn(128, 64, 3, 3, dtype=torch.bfloat16)
    return tuple(t.contiguous(memory_format=torch.channels_last) for t in (x, w))


def rows(dtype: torch.dtype = torch.bfloat16) -> Callable[[], tuple[Any, ...]]:
    """32,768 rows of 4,096."""
    return lambda: (torch.randn(32_768, 4_096, dtype=dtype),)


def long(count: int = 1) -> Callable[[], tuple[Any, ...]]:
    """Vectors of 64 Mi fp32."""
    return lambda: tuple(torch.randn(64 * 2**20) for _ in range(count))


def table() -> tuple[Any, ...]:
    """1 Mi different rows of a table of 4 Mi, 64 fp32 each."""
    return torch.randperm(4 * 2**20)[: 2**20], torch.randn(4 * 2**20, 64)


def elements() -> tuple[Any, ...]:
    """4 Mi different elements of 256 Mi."""
    return torch.randn(256 * 2**20), torch.randperm(256 * 2**20)[: 4 * 2**20]


def launch(name: str, grid: tuple[int, ...], **constants: int) -> Callable[..., Any]:
    """A function that launches a Triton kernel."""

    def run(*inputs: Any) -> None:
        sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "account"))
        import triton_kernels

        getattr(triton_kernels, name)[grid](*inputs, **constants)

    return run


def triton(
    kernel: str, make: Callable[[], tuple[Any, ...]], grid: tuple[int, ...], streams: bool = False,
    **constants: int,
) -> Case:  # fmt: skip
    """A Triton kernel as a case: its formula is what the interpreter counts."""
    run = launch(kernel, grid, **constants)
    return Case(f"triton {kernel}", make, run, streams, kernel=kernel, grid=grid,
                constants=constants)  # fmt: skip


CUBE = (4096, 4096, 4096)
CASES = (
    Case("gemm fp32 4096", matrices(*CUBE, torch.float32), torch.mm),
    Case("gemm tf32 4096", matrices(*CUBE, torch.float32), tf32_mm),
    Case("gemm bf16 4096", matrices(*CUBE, torch.bfloat16), torch.mm),
    Case("gemm fp16 4096", matrices(*CUBE, torch.float16), torch.mm),
    Case("gemm fp8 4096", matrices(*CUBE, torch.float8_e4m3fn), fp8_mm),
    Case("gemm int8 4096", matrices(*CUBE, torch.int8), torch._int_mm),
    Case("gemm bf16 1000", matrices(1000, 1000, 1000, torch.bfloat16), torch.mm, padded=True),
    Case("gemm bf16 one row", matrices(1, 8192, 8192, torch.bfloat16), torch.mm, padded=True),
    Case("conv bf16 3x3", images, lambda x, w: functional.conv2d(x, w, padding=1)),
    Case("attention forward", heads, attention),
    Case("attention forward causal", heads, lambda *qkv: attention(*qkv, True), padded=True),
    Case("attention backward", attended(False), backward, padded=True),
    Case("attention backward causal", attended(True), backward, padded=True),
    Case(
        "layer norm bf16",
        lambda: (*rows()(), *torch.randn(2, 4_096, dtype=torch.bfloat16).unbind()),
        lambda x, w, b: functional.layer_norm(x, (4_096,), w, b),
        streams=True,
    ),
    Case("softmax bf16", rows(), lambda x: torch.softmax(x, -1), streams=True),
    Case("add fp32", long(2), torch.add, streams=True),
    Case("copy fp32 to bf16", long(), torch.Tensor.bfloat16, streams=True),
    Case("gather rows", table, functional.embedding, streams=True),
    Case("gather elements", elements, torch.take),
    triton("add", lambda: (*long(3)(), 64 * 2**20), (64 * 2**10,), True, BLOCK=1024),
    triton(
        "softmax", lambda: (*(torch.randn(16_384, 4_096) for _ in "xy"), 4_096, 4_096), (16_384,),
        True, BLOCK=4096,
    ),
    triton(
        "product", lambda: (*(torch.randn(4096, 4096).bfloat16() for _ in "abc"), *CUBE), (32, 32),
        BM=128, BN=128, BK=64,
    ),
)  # fmt: skip


def main() -> None:
    """Run every case once inside the profile; print what it ran on."""
    torch.manual_seed(0)
    torch.autograd.set_multithreading_enabled(False)  # NVTX ranges are of one thread
    torch.backends.cuda.matmul.allow_tf32 = False
    skipped = {}
    with torch.device("cuda"):
        for case in CASES:
            try:
                profiled(case)
            except Exception as error:
                skipped[case.name] = str(error).splitlines()[0]
            torch.cuda.empty_cache()
    card = torch.cuda.get_device_properties(0)
    print(json.dumps({
        "device": card.name, "l2": card.L2_cache_size, "sm": card.multi_processor_count,
        "torch": torch.__version__, "cuda": torch.version.cuda, "skipped": skipped,
    }))  # fmt: skip


def profiled(case: Case) -> None:
    """Warm up, then run once with the profiler watching."""
    inputs = case.make()
    case.run(*inputs)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    torch.cuda.nvtx.range_push(case.name)
    result = case.run(*inputs)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    torch.cuda.profiler.stop()
    sample = result.flatten()[:4].float() if isinstance(result, torch.Tensor) else torch.zeros(1)
    if not math.isfinite(sample.sum().item()):
        raise RuntimeError("the result is not finite")


if __name__ == "__main__":
    main()
