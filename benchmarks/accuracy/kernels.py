"""Two Triton kernels as one writes them first, for the benchmark of predictions."""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _rms_norm(x, gamma, y, n, BLOCK: tl.constexpr):
    """One program a row: y = x / rms(x) * gamma."""
    at = tl.arange(0, BLOCK)
    inside = at < n
    row = tl.program_id(0).to(tl.int64) * n
    value = tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value) / n + 1e-6)
    tl.store(y + row + at, value * scale * tl.load(gamma + at, mask=inside), mask=inside)


@triton.jit
def _dequantise(x, scale, y, n, BLOCK: tl.constexpr):
    """One program a row: y = x * scale of the row."""
    row = tl.program_id(0).to(tl.int64) * n
    factor = tl.load(scale + tl.program_id(0))
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, mask=at < n)
        tl.store(y + row + at, value * factor, mask=at < n)


def rms_norm(x: Tensor, gamma: Tensor) -> Tensor:
    """Rows of x[M,N] over their root mean square, times gamma[N]."""
    y = torch.empty_like(x)
    m, n = x.shape
    _rms_norm[(m,)](x, gamma, y, n, BLOCK=triton.next_power_of_2(n), num_warps=8)
    return y


def dequantise(x: Tensor, scale: Tensor) -> Tensor:
    """x[M,N] int8 times scale[M], as bf16."""
    y = torch.empty(x.shape, dtype=torch.bfloat16, device=x.device)
    m, n = x.shape
    _dequantise[(m,)](x, scale, y, n, BLOCK=4096, num_warps=8)
    return y
