"""How PyTorch shares a reduction among blocks of 512 threads, and their values.

    row       values <= 8191: a warp has a row; longer ones are a block's
    column    a block has 32 threads along the rows, each with 4, 2 or 1 neighbouring columns
    few       results with 256 values and more for a thread are shared among blocks, which join
              their sums through memory

A thread adds its values four at a time, and waits for each four: the time is that of the waves of
blocks, whatever the order in which rows and columns fill them.
"""

from dataclasses import replace

from roofline.call import DTYPE_BYTES, Call, Tensor
from roofline.ops.pace.way import (
    COLUMNS_REDUCED,
    REDUCED,
    ROWS_REDUCED,
    ROWS_SEARCHED,
    SUMS_JOINED,
    VARIANCE,
    Pace,
)
from roofline.ops.shapes import product

WARP, THREADS, TOGETHER = 32, 512, 4  # of a warp, of a block, blocks on a multiprocessor
HELD = {4: 9, 2: 6, 1: TOGETHER}  # the same with 4, 2 and 1 columns a thread: registers bound it
FEWEST, MOST = 16, 256  # values of a thread


def reduced(call: Call, units: int) -> Pace:
    """sum, amax and their kin on `units` multiprocessors."""
    x = call.tensors[0]
    dims = _dims(call.arg(1), len(x.shape))
    wide = (
        DTYPE_BYTES[x.dtype] > 2
    )  # fp32 sums and maxima alike; bf16 sums have a kernel of their own
    way = ROWS_REDUCED if wide or call.op == "aten::sum" else ROWS_SEARCHED
    if not dims or len(dims) == len(x.shape):
        return to_one(x.numel, units)
    if len(x.shape) - 1 not in dims:
        return _columns(x, dims, way, units)
    row = product(x.shape[d] for d in dims)
    if "var" in call.op or "std" in call.op:
        return Pace(VARIANCE, x.numel, row)
    return _rows(x.numel // max(1, row), row, way, units)


def to_one(n: int, units: int) -> Pace:
    """Everything: the blocks' sums are joined by the last of them."""
    blocks = _shared(1, -(-n // THREADS), units * TOGETHER)
    made = Pace(REDUCED, n, blocks=blocks, together=TOGETHER)
    return replace(made, then=(_joined(-(-blocks // THREADS)),)) if blocks > 1 else made


def _rows(rows: int, row: int, way: str, units: int) -> Pace:
    height = min(_power(rows), THREADS // min(_power(row), WARP))
    if row // WARP < min(height * 16, MOST):
        return Pace(way, rows * row, row, blocks=-(-rows // height), together=TOGETHER)
    shares = _shared(rows, -(-row // THREADS), units * TOGETHER)
    piece = -(-row // (THREADS // WARP * shares))  # of a warp
    made = Pace(way, rows * row, piece, blocks=rows * shares, together=TOGETHER)
    return replace(made, then=(_joined(-(-shares // THREADS)),)) if shares > 1 else made


def _columns(x: Tensor, dims: frozenset[int], way: str, units: int) -> Pace:
    column = product(x.shape[d] for d in dims)
    n = product(x.shape[max(dims) + 1 :])  # side by side
    wide = next(w for w in HELD if n % w == 0)  # columns of a thread
    threads = THREADS // wide
    width = min(_power(n // wide), WARP)
    height = min(_power(column), threads // width)
    blocks = -(-n // (wide * width)) * (x.numel // max(1, n * column))
    values, shares = column, 1
    if column >= min(height * 16, MOST):
        values = -(-column // height)
        shares = _shared(blocks, values, units * 2048 // threads)
    piece = -(-values // shares)
    # With a column a thread it is the kernel that also takes rows, a warp's worth of each.
    name, row = (COLUMNS_REDUCED, piece) if wide > 1 else (way, piece * WARP)
    made = Pace(name, x.numel, row, blocks=blocks * shares, together=HELD[wide])
    return replace(made, then=(_joined(-(-shares // height)),)) if shares > 1 else made


def _shared(results: int, values: int, resident: int) -> int:
    """Blocks for each result, where a thread would have so many values."""
    if values < MOST or results > resident:
        return 1
    return max(min(-(-resident // results), -(-values // FEWEST)), -(-values // MOST))


def _joined(sums: int) -> Pace:
    return Pace(SUMS_JOINED, sums, sums)


def _power(n: int) -> int:
    """The last power of two that is no more than n."""
    return 1 << max(0, n.bit_length() - 1) if n < THREADS else THREADS


def _dims(found: object, rank: int) -> frozenset[int]:
    given = found if isinstance(found, tuple) else (found,)
    return frozenset(d % rank for d in given if isinstance(d, int) and not isinstance(d, bool))
