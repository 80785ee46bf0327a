"""What attention kernels run beyond the formula: whole tiles, the softmax, scores computed again.

A kernel works on tiles of scores and skips only tiles that are masked as a whole.  Tile sizes are
those of the common kernels, so every amount here is an estimate.  Measured on an H200: causal
B8 H16 S1024 D64 runs 19,327,352,832 tensor flop, which is 36 of 64 tiles of 128 x 128; the backward
of causal B4 H16 S2048 D128 runs 182,536,110,080, five halves of what its 136 of 256 tiles are.
flex_attention's backward of the same, not causal, runs 481,036,337,152, seven halves; fp32 through
the efficient kernels of B2 H8 S1024 D64 runs 12,884,901,888 in tf32, three times the formula.
"""

from dataclasses import replace

from roofline.call import Call
from roofline.device import SFU, Resource
from roofline.ops.attending.attention import Sizes
from roofline.ops.dtype import matmul_pipe, vector_pipe
from roofline.work import Entry, Exactness, Ledger, executed

TILES = "tiles of 128 x 128 scores; up to 16 queries are padded to 16"
AGAIN = "the backward computes the scores again: five products where the forward has two"
TWICE = "flex_attention computes the scores again for dQ and for dK, dV: seven products, not four"
THRICE = "the efficient kernels multiply fp32 in three products of tf32 (from compute capability 8)"
SOFTMAX = "softmax on a score is max, subtract, sum, scale and exp on sfu"


def forward(sizes: Sizes, dtype: str, call: Call, lengths: tuple[int, int]) -> Ledger:
    """Scores of whole tiles on CUDA, of the formula elsewhere, and the softmax on each of them."""
    pairs, words = _pairs(sizes, call, lengths)
    return executed(
        _estimate(matmul_pipe(dtype, call.math), sizes.each * pairs, "Q K^T and P V, whole tiles"),
        *_softmax(dtype, sizes.heads * pairs),
        conventions=(SOFTMAX, *words),
    )


def backward(sizes: Sizes, dtype: str, call: Call, lengths: tuple[int, int]) -> Ledger:
    """2.5 times the forward's products, and exp of every score again."""
    pairs, words = _pairs(sizes, call, lengths)
    return executed(
        _estimate(matmul_pipe(dtype, call.math), sizes.each * pairs * 5 // 2, AGAIN),
        *_softmax(dtype, sizes.heads * pairs),
        conventions=(AGAIN, SOFTMAX, *words),
    )


def flex_backward(sizes: Sizes, dtype: str, call: Call) -> Ledger:
    """3.5 times the forward's products: each half of the kernel computes the scores for itself."""
    scores = sizes.scores
    pipe, label = matmul_pipe(dtype, call.math), Exactness.ESTIMATE
    if scores.low != scores.high:
        label = Exactness.BOUNDED
    low, amount, high = (sizes.each * n * 7 // 2 for n in (scores.low, scores.amount, scores.high))
    bounds = (low, high) if label is Exactness.BOUNDED else (None, None)
    return executed(
        Entry(pipe, amount, TWICE, None, label, *bounds),
        *_softmax(dtype, 2 * sizes.heads * scores.amount),
        conventions=(TWICE, SOFTMAX),
    )


def tripled(made: Ledger) -> Ledger:
    """fp32 as three products of tf32: its parts, large and small, multiplied with each other."""
    lines = tuple(
        replace(e, amount=3 * e.amount) if e.resource.name.startswith("tensor") else e
        for e in made.entries
    )
    return replace(made, entries=lines, conventions=(*made.conventions, THRICE))


def _pairs(sizes: Sizes, call: Call, lengths: tuple[int, int]) -> tuple[int, tuple[str, ...]]:
    """Pairs that are computed, and what to say of it."""
    if call.device == "cuda" and sizes.batch > 0:
        return _tiled(sizes, lengths), (TILES,)
    return sizes.scores.amount, ()


def _softmax(dtype: str, scores: int) -> list[Entry]:
    return [
        _estimate(vector_pipe(dtype), 4 * scores, "max, subtract, sum, scale: 4 a score"),
        _estimate(SFU, scores, "exp: 1 a score"),
    ]


def _tiled(sizes: Sizes, lengths: tuple[int, int]) -> int:
    """Pairs in the tiles that hold at least one that is looked at, all batches."""
    queries, keys = lengths
    rows = 16 if queries <= 16 else 128
    down, across = -(-queries // rows), -(-keys // 128)
    dense = down * across
    if sizes.causal and queries == keys:
        dense = sum(min(across, i + 1) for i in range(down))
    return sizes.batch * dense * rows * 128


def _estimate(resource: Resource, amount: int, why: str) -> Entry:
    return Entry(resource, amount, why, None, Exactness.ESTIMATE)
