"""Kernels to count; never launched here."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = at < count
    tl.store(out + at, tl.load(x + at, mask=here) + tl.load(y + at, mask=here), mask=here)


@triton.jit
def softmax(x, out, stride, count, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    here = at < count
    value = tl.load(x + row * stride + at, mask=here, other=-float("inf"))
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * stride + at, value / tl.sum(value, 0), mask=here)


@triton.jit
def product(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        inner = start + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * k + inner[None, :])
        right = tl.load(b + inner[:, None] * n + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty))


@triton.jit
def gather(table, index, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(table + tl.load(index + at)))


@triton.jit
def count_up(counter, BLOCK: tl.constexpr):
    tl.atomic_add(counter + tl.arange(0, BLOCK), 1.0)


@triton.jit
def assembly(x):
    tl.inline_asm_elementwise("mov.u32 $0, $1;", "=r,r", [tl.load(x)], tl.int32, True, 1)


tuned = triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], ["count"])(
    add
)
