"""Operators whose work is known on paper, each run once under Nsight Compute.

On a machine with a GPU; needs PyTorch and nothing of this package::

    ncu $(cat known.arguments) --profile-from-start off --nvtx \\
        --log-file known.csv python benchmarks/known_answers.py SET > known.machine.json

SET is one of SETS below, each an export of its own.  `tools/known_answers.py arguments` prints the metrics to collect, and `tools/known_answers.py table`
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
    fewer: bool = False  # the library has an algorithm with fewer flop than the formula
    formula: Callable[..., Any] | None = None  # what is counted where a CPU has no such kernel
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
PRODUCTS = (
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


def fp16_sums(a: Any, b: Any) -> Any:
    """A @ B, sums kept in fp16."""
    matmul = torch.backends.cuda.matmul
    before, matmul.allow_fp16_accumulation = matmul.allow_fp16_accumulation, True
    try:
        return a @ b
    finally:
        matmul.allow_fp16_accumulation = before


def pictures(
    channels: int,
    filters: int,
    size: int,
    dtype: torch.dtype,
    last: bool,
    groups: int = 1,
    dims: int = 2,
    width: int = 3,
) -> Callable[[], tuple[Any, ...]]:
    """16 images (or volumes) and filters, channels last or first in memory."""

    def make() -> tuple[Any, ...]:
        x = torch.randn(16, channels, *[size] * dims).to(dtype)
        w = torch.randn(filters, channels // groups, *[width] * dims).to(dtype)
        if last:
            where = torch.channels_last if dims == 2 else torch.channels_last_3d
            x, w = (t.contiguous(memory_format=where) for t in (x, w))
        return x, w

    return make


def convolution(groups: int = 1, math: str = "ieee", dims: int = 2) -> Callable[..., Any]:
    """A convolution that keeps the size; fp32 as `math` says."""
    run = functional.conv2d if dims == 2 else functional.conv3d

    def call(x: Any, w: Any) -> Any:
        before = torch.backends.cudnn.conv.fp32_precision
        torch.backends.cudnn.conv.fp32_precision = math
        try:
            return run(x, w, padding=w.shape[-1] // 2, groups=groups)
        finally:
            torch.backends.cudnn.conv.fp32_precision = before

    return call


def taught() -> tuple[Any, ...]:
    """Images, filters, and the gradient of what a convolution makes of them, bf16."""
    x, w = pictures(64, 128, 56, torch.bfloat16, True)()
    g = torch.randn(16, 128, 56, 56, dtype=torch.bfloat16)
    return x, w, g.contiguous(memory_format=torch.channels_last)


def learned(x: Any, w: Any, g: Any) -> Any:
    """dX and dW of a convolution, its forward not among them."""
    return torch.ops.aten.convolution_backward(
        g, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False]
    )


def by(backend: SDPBackend) -> Callable[..., Any]:
    """Attention by one kind of kernels."""

    def call(q: Any, k: Any, v: Any) -> Any:
        with sdpa_kernel(backend):
            return functional.scaled_dot_product_attention(q, k, v)

    return call


def efficient(q: Any, k: Any, v: Any) -> Any:
    """The operator of the efficient kernels, which a CPU does not choose."""
    return torch.ops.aten._scaled_dot_product_efficient_attention(q, k, v, None, False)


def fp32_heads() -> tuple[Any, ...]:
    """Q, K, V: batch 2, 8 heads of 64, fp32."""
    return tuple(torch.randn(2, 8, 1024, 64) for _ in "qkv")


def sequence(kind: type, dtype: torch.dtype = torch.float16) -> Callable[[], tuple[Any, ...]]:
    """A recurrent layer of 1,024 features and 8 steps of 64 sequences."""
    return lambda: (kind(1024, 1024, dtype=dtype), torch.randn(8, 64, 1024, dtype=dtype))


def recurrent(layer: Any, x: Any) -> Any:
    """A layer of `sequence` as cuDNN runs it on a GPU."""
    lstm = isinstance(layer, torch.nn.LSTM)
    hidden, *cell = (torch.zeros(1, 64, 1024, dtype=x.dtype) for _ in range(2 if lstm else 1))
    return torch._cudnn_rnn(
        x, layer._flat_weights, 4, None, hidden, cell[0] if lstm else None, 2 if lstm else 3,
        1024, 0, 1, False, 0.0, True, False, [], None,
    )[0]  # fmt: skip


def experts() -> tuple[Any, ...]:
    """8,192 rows shared out evenly among 8 matrices of 2,048 x 4,096, bf16."""
    ends = torch.arange(1024, 8193, 1024, dtype=torch.int32)
    return (
        torch.randn(8192, 2048, dtype=torch.bfloat16),
        torch.randn(8, 4096, 2048, dtype=torch.bfloat16).transpose(1, 2),
        ends,
    )


def two_of_four() -> tuple[Any, ...]:
    """A 4,096 x 4,096 matrix compressed to two of four values, and a dense one, fp16."""
    w = torch.tensor([0.0, 0.0, 1.0, 1.0], dtype=torch.float16).tile(4096, 1024)
    dense = torch.randn(4096, 4096, dtype=torch.float16).t()
    if w.device.type == "cuda":
        return torch._cslt_compress(w), dense
    return torch.empty(4096 * 4096 * 9 // 16, dtype=torch.float16), dense


def parameters() -> tuple[Any, ...]:
    """Parameters, gradients, both moments of 64 Mi fp32, and the number of steps."""
    return *long(3)(), torch.rand(64 * 2**20), torch.ones(())


def adam(p: Any, g: Any, first: Any, second: Any, steps: Any) -> Any:
    """One fused step of AdamW."""
    torch._fused_adamw_(
        [p], [g], [first], [second], [], [steps], lr=1e-3, beta1=0.9, beta2=0.999,
        weight_decay=0.1, eps=1e-8, amsgrad=False, maximize=False,
    )  # fmt: skip
    return p


def normed() -> tuple[Any, ...]:
    """32 channels-first images of 256 channels for a group norm of 32 groups, bf16."""
    x = torch.randn(32, 256, 128, 128, dtype=torch.bfloat16)
    return x, *torch.randn(2, 256, dtype=torch.bfloat16).unbind()


LAYERS = (
    Case("gemm fp16 sums in fp16", matrices(*CUBE, torch.float16), fp16_sums),
    Case("gemm bf16 grouped", experts, torch._grouped_mm),
    Case("gemm fp16 2:4 sparse", two_of_four, torch._cslt_sparse_mm),
    Case("conv fp32 3x3", pictures(64, 128, 56, torch.float32, False), convolution(), fewer=True),
    Case("conv fp32 5x5", pictures(64, 64, 64, torch.float32, False, width=5), convolution()),
    Case("conv tf32 3x3", pictures(64, 128, 56, torch.float32, True), convolution(math="tf32")),
    Case("conv bf16 1x1", pictures(256, 64, 56, torch.bfloat16, True, width=1), convolution(),
         padded=True),
    Case("conv bf16 3-D", pictures(64, 64, 16, torch.bfloat16, True, dims=3), convolution(dims=3)),
    Case("conv bf16 grouped", pictures(256, 256, 56, torch.bfloat16, True, 32), convolution(32),
         padded=True),
    Case("conv fp32 depthwise", pictures(256, 256, 112, torch.float32, False, 256),
         convolution(256), fewer=True),
    Case("conv bf16 backward", taught, learned),
    Case("attention forward efficient", heads, by(SDPBackend.EFFICIENT_ATTENTION),
         formula=attention),
    Case("attention forward cudnn", heads, by(SDPBackend.CUDNN_ATTENTION), formula=attention),
    Case("attention forward fp32", fp32_heads, by(SDPBackend.EFFICIENT_ATTENTION), padded=True,
         formula=efficient),
    Case("lstm fp16", sequence(torch.nn.LSTM), lambda lstm, x: lstm(x)[0],
         formula=recurrent),
    Case("gru fp16", sequence(torch.nn.GRU), lambda gru, x: gru(x)[0],
         formula=recurrent),
    Case("group norm bf16", normed, lambda x, w, b: functional.group_norm(x, 32, w, b)),
    Case("adam fused", parameters, adam, streams=True),
    Case("fft complex", lambda: (torch.randn(4096, 16_384, dtype=torch.complex64),), torch.fft.fft),
)  # fmt: skip


def flexible(q: Any, k: Any, v: Any) -> Any:
    """flex_attention, as people run it."""
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention)(q, k, v)


def flexible_formula(q: Any, k: Any, v: Any) -> Any:
    """The same, not compiled: what is counted."""
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(q, k, v)


def plain_heads() -> tuple[Any, ...]:
    """Q, K, V as `heads`, one head after the other, without gradients."""
    return tuple(t.detach().contiguous() for t in heads())


def flexed() -> tuple[Any, ...]:
    """Q, K, V, the result of flex_attention and its gradient, for the backward alone."""
    inputs = tuple(t.requires_grad_() for t in plain_heads())
    o = flexible(*inputs) if inputs[0].device.type == "cuda" else torch.empty_like(inputs[0])
    return *inputs, o, torch.ones_like(o)


def flex_backward_formula(q: Any, k: Any, v: Any, o: Any, gradient: Any) -> Any:
    """The operator of that backward, with no mask; for counting, as a CPU cannot run it."""
    from torch.nn.attention.flex_attention import noop_mask

    blocks = (2048, 2048, *[None] * 8, 128, 128, noop_mask)
    with torch.no_grad():
        return torch.ops.higher_order.flex_attention_backward(
            q, k, v, o, o[..., 0].float(), gradient, None, print, print, blocks, 0.1, {}, (), ()
        )


FLEX = (
    Case("attention flex forward", plain_heads, flexible, formula=flexible_formula),
    Case("attention flex backward", flexed, backward, padded=True, formula=flex_backward_formula),
)

SETS: Mapping[str, tuple[Case, ...]] = {"products": PRODUCTS, "layers": LAYERS, "flex": FLEX}
CASES = tuple(case for cases in SETS.values() for case in cases)


def main() -> None:
    """Run every case of a set once inside the profile; print what it ran on."""
    if len(sys.argv) != 2 or sys.argv[1] not in SETS:
        sys.exit(f"name a set of cases: {', '.join(SETS)}")
    torch.manual_seed(0)
    torch.autograd.set_multithreading_enabled(False)  # NVTX ranges are of one thread
    torch.backends.cuda.matmul.allow_tf32 = False
    skipped = {}
    with torch.device("cuda"):
        for case in SETS[sys.argv[1]]:
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
    sample = result.flatten()[:4].abs() if isinstance(result, torch.Tensor) else torch.zeros(1)
    if not math.isfinite(sample.float().sum().item()):
        raise RuntimeError("the result is not finite")


if __name__ == "__main__":
    main()
