"""Rows in Triton: as one writes them first, and as torch.compile does.

    scaled      y = x / rms(x) * gamma         a program a row, held
    widened     y = x * factor of the row      a program a row, by blocks: 3 B an element
    biased_gelu y = gelu(x + bias)             a program 1024 elements, lengths built in
    normed      y = (x - mean) / deviation     a program a row, by chunks, twice
    softmax     y = exp(x + mask) / sum        likewise, with a largest and a sum for each place

Where the compiler does not know addresses to be multiples of 16 B, it loads an element a thread.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def scaled(x, gamma, y, n, BLOCK: tl.constexpr):
    """Row `program_id` of x[M,n] over its root mean square, times gamma[n]."""
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) * n
    value = tl.load(x + row + at, mask=at < n, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value) / n + 1e-6)
    tl.store(y + row + at, value * scale * tl.load(gamma + at, mask=at < n), mask=at < n)


@triton.jit
def widened(x, factor, y, n, BLOCK: tl.constexpr):
    """Row `program_id` of x[M,n], of 1 B an element, times factor[M], as 2 B."""
    row = tl.program_id(0).to(tl.int64) * n
    by = tl.load(factor + tl.program_id(0))
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(y + row + at, tl.load(x + row + at, mask=at < n) * by, mask=at < n)


@triton.jit
def biased_gelu(x, bias, y, total, N: tl.constexpr, BLOCK: tl.constexpr):
    """gelu by erf of `total` elements of x[M,N] + bias[N]."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < total).to(tl.float32)
    value += tl.load(bias + at % N, mask=at < total).to(tl.float32)
    value *= 0.5 * (libdevice.erf(value * 0.7071067811865476) + 1)
    tl.store(y + at, value, mask=at < total)


@triton.jit
def normed(x, r, gamma, beta, s, y, N: tl.constexpr, CHUNK: tl.constexpr):
    """s = x + r and its layer norm, of row `program_id` of N elements."""
    row, lane = tl.program_id(0) * N, tl.arange(0, CHUNK)
    # Each place of the chunk has a mean of its own and its squares about it (Welford).
    mean, square = tl.zeros([CHUNK], tl.float32), tl.zeros([CHUNK], tl.float32)
    weight = tl.zeros([CHUNK], tl.float32)
    for start in range(0, N, CHUNK):
        at = start + lane
        value = tl.load(x + row + at, mask=at < N, other=0.0).to(tl.float32)
        value += tl.load(r + row + at, mask=at < N, other=0.0).to(tl.float32)
        more = weight + 1
        moved = value - mean
        middle = mean + moved / more
        square = tl.where(at < N, square + moved * (value - middle), square)
        mean, weight = tl.where(at < N, middle, mean), tl.where(at < N, more, weight)
        tl.store(s + row + at, value, mask=at < N)
    of_all = tl.sum(mean * weight) / N
    apart = mean - of_all
    scale = tl.rsqrt(tl.sum(square + weight * apart * apart) / N + 1e-5)
    for start in range(0, N, CHUNK):
        at = start + lane
        value = tl.load(s + row + at, mask=at < N, other=0.0).to(tl.float32)
        value = (value - of_all) * scale * tl.load(gamma + at, mask=at < N).to(tl.float32)
        value += tl.load(beta + at, mask=at < N).to(tl.float32)
        tl.store(y + row + at, value, mask=at < N)


@triton.jit
def softmax(x, mask, y, N: tl.constexpr, CHUNK: tl.constexpr):
    """Softmax of x + mask, of row `program_id` of N elements."""
    row, lane = tl.program_id(0) * N, tl.arange(0, CHUNK)
    # A largest and a sum for each place of the chunk; whatever is no number stays so.
    most = tl.full([CHUNK], float("-inf"), tl.float32)
    total = tl.zeros([CHUNK], tl.float32)
    for start in range(0, N, CHUNK):
        at = start + lane
        value = tl.load(x + row + at, mask=at < N, other=0.0).to(tl.float32) * 0.125
        value += tl.load(mask + at, mask=at < N, other=0.0).to(tl.float32)
        no_number = most != most  # noqa: PLR0124
        higher = tl.where((most > value) | no_number, most, value)
        none = higher == float("-inf")
        kept = tl.where(none, 1.0, libdevice.exp(most - higher))
        added = tl.where(none, 1.0, libdevice.exp(value - higher))
        total = tl.where(at < N, total * kept + added, total)
        most = tl.where(at < N, higher, most)
    top = tl.max(most)
    kept = tl.where(top == float("-inf"), 0.0, most - top)
    whole = tl.sum(total * libdevice.exp(kept))
    for start in range(0, N, CHUNK):
        at = start + lane
        value = tl.load(x + row + at, mask=at < N, other=0.0).to(tl.float32) * 0.125
        value += tl.load(mask + at, mask=at < N, other=0.0).to(tl.float32)
        tl.store(y + row + at, libdevice.exp(value - top) / whole, mask=at < N)
