"""Rows as one writes them in Triton first, and elements one after the other.

    scaled  y = x / rms(x)   a program a row of n elements, 2 s B an element
    doubled y = 2 x          a program 1024 elements of a row, 2 s B an element

Lengths that 16 divides are accessed 16 B a thread, others an element a thread: the compiler knows
no better.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
import triton
import triton.language as tl


@triton.jit
def scaled(x, y, n, BLOCK: tl.constexpr):
    """Row `program_id` of x[M,n] over its root mean square."""
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) * n
    value = tl.load(x + row + at, mask=at < n, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value) / n + 1e-6)
    tl.store(y + row + at, value * scale, mask=at < n)


@triton.jit
def doubled(x, y, n, BLOCK: tl.constexpr):
    """A block of row `program_id(0)` of x[M,n], doubled."""
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) * n
    tl.store(y + row + at, tl.load(x + row + at, mask=at < n) * 2, mask=at < n)
