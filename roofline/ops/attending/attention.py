"""Scaled dot-product attention, forward and backward, as one fused operator.

Scores are never in memory: Q, K and V are read once and O is written once.
"""

from dataclasses import dataclass

from roofline.call import Math, Tensor
from roofline.errors import BadInput
from roofline.ops.dtype import matmul_pipe
from roofline.ops.lines import Operands, ledger
from roofline.ops.shapes import below
from roofline.work import Entry, Exactness, Ledger

MATRICES = "attention is its two matrix products; softmax and scaling on the scores are left out"
CAUSAL = (
    "causal scores are counted exactly, S(S+1)/2 a head where S = T; else the mask begins at the "
    "first key"
)
CAUSAL_LAST = CAUSAL.replace("begins at the first", "ends at the last")
WINDOW = "only scores inside the window are counted; w keys back and the query's own are w + 1"
DENSE = "every score is counted; a mask is read, and does not make work less"
STATISTICS = "logsumexp, kept a row for the backward, is left out"
VARIES = "how many scores there are is data (lengths of sequences, a mask): a range"


@dataclass(frozen=True, slots=True)
class Scores:
    """(query, key) pairs of one head in all batches; where that is data, the bounds differ."""

    amount: int
    low: int
    high: int


def exactly(pairs: int) -> Scores:
    """A number of pairs that shapes alone tell."""
    return Scores(pairs, pairs, pairs)


@dataclass(frozen=True, slots=True)
class Sizes:
    """H query heads that look at `scores` pairs each; D the head size of Q, K, E of V, O."""

    heads: int
    head_dim: int
    value_dim: int
    scores: Scores
    causal: bool = False
    windowed: bool = False
    batch: int = 0  # of equally long sequences without a window; 0 where they are not that
    last_key: bool = False  # a causal mask ends at the last key

    @property
    def each(self) -> int:
        """Flop a score, all heads: 2*D for Q K^T and 2*E for P V."""
        return 2 * self.heads * (self.head_dim + self.value_dim)

    @property
    def words(self) -> tuple[str, ...]:
        """The conventions."""
        varies = self.scores.low != self.scores.high
        causal = CAUSAL_LAST if self.last_key else CAUSAL
        seen = WINDOW if self.windowed else causal if self.causal else DENSE
        masked = VARIES if varies and not self.causal else seen
        return tuple(dict.fromkeys((MATRICES, masked, STATISTICS, *([VARIES] if varies else []))))


def attention(
    batch: int,
    heads: int,
    seq_q: int,
    head_dim: int,
    seq_kv: int = 0,
    kv_heads: int = 0,
    causal: bool = False,
    window: int = 0,
    dtype: str = "fp16",
    backward: bool = False,
    math: Math = "ieee",
) -> Ledger:
    """O[B,H,S,D] = softmax(Q[B,H,S,D] @ K[B,G,T,D]^T) @ V[B,G,T,D], with G = `kv_heads` (all of H).

    arithmetic   4*B*H*S*T*D            flop   Q K^T and P V, 2 flop a multiply-add
                 4*B*H*D*S(S+1)/2       flop   causal, with S = T
    read         (B*H*S*D + 2*B*G*T*D)*s  B    Q, K and V, once each
    write        B*H*S*D*s              B      O

    Backward: twice the flop (dV, dP, dQ, dK); reads Q, K, V, O and dO, writes dQ, dK, dV.
    `seq_kv` 0 means S.  A causal mask ends at the last key where S is not T, as in a decode.
    `window` w lets a query see w keys back and, unless causal, w ahead; 0 is no window.
    Left out: softmax and scaling, logsumexp, and what the hardware recomputes.
    """
    keys, groups = seq_kv or seq_q, kv_heads or heads
    sizes = {"batch": batch, "heads": heads, "seq_q": seq_q, "head_dim": head_dim,
             "seq_kv": keys, "kv_heads": groups}  # fmt: skip
    if wrong := [f"{name}={value}" for name, value in sizes.items() if value < 1]:
        raise BadInput(f"attention needs sizes of at least 1; got {', '.join(wrong)}")
    if heads % groups or window < 0:
        raise BadInput(f"attention: {heads} heads cannot share {groups} kv_heads evenly, "
                       f"or the window of {window} is negative")  # fmt: skip
    q = Tensor((batch, heads, seq_q, head_dim), dtype)
    k = Tensor((batch, groups, keys, head_dim), dtype)
    ahead = 0 if causal else (window or None)
    seen = band(seq_q, keys, keys - seq_q, window or None, ahead)
    counted = Sizes(
        heads, head_dim, head_dim, exactly(batch * seen), causal, bool(window), last_key=True
    )
    if backward:
        return backward_ledger(counted, [("O", q), ("grad of O", q)], (q, k, k), math)
    return forward_ledger(counted, q, k, k, [], math)


def band(queries: int, keys: int, shift: int, back: int | None, ahead: int | None) -> int:
    """Pairs where query i sees keys from i+`shift`-`back` to i+`shift`+`ahead`; None is no limit.

    >>> band(4, 4, 0, None, 0), band(4, 4, 0, 1, 0), band(1, 100, 99, None, 0), band(4, 4, 0, 1, 1)
    (10, 7, 100, 10)
    """
    upto = queries * keys if ahead is None else below(queries, keys, shift + ahead)
    return upto - (0 if back is None else below(queries, keys, shift - back - 1))


def forward_ledger(
    sizes: Sizes, q: Tensor, k: Tensor, v: Tensor, more: Operands, math: Math
) -> Ledger:
    """Q, K, V and `more` read once, O written once."""
    o = Tensor((*q.shape[:-1], v.shape[-1]), q.dtype)
    return ledger(
        [products(sizes, q.dtype, math, 1)],
        reads=[("Q", q), ("K", k), ("V", v), *more],
        writes=[("O", o)],
        conventions=sizes.words,
    )


def backward_ledger(
    sizes: Sizes, reads: Operands, qkv: tuple[Tensor, Tensor, Tensor], math: Math
) -> Ledger:
    """Q, K, V and `reads` (O and its gradient) read once; dQ, dK, dV written once."""
    q, k, v = qkv
    return ledger(
        [products(sizes, q.dtype, math, 2)],
        reads=[("Q", q), ("K", k), ("V", v), *reads],
        writes=[(f"d{name}", Tensor(t.shape, t.dtype)) for name, t in zip("QKV", qkv, strict=True)],
        conventions=sizes.words,
    )


def products(sizes: Sizes, dtype: str, math: Math, times: int) -> Entry:
    """The matrix products: once for the forward, twice for the backward."""
    why = "dV, dP, dQ, dK: twice the forward" if times == 2 else "Q K^T and P V, a score at a time"
    each, scores = times * sizes.each, sizes.scores
    pipe = matmul_pipe(dtype, math)
    if scores.low == scores.high:
        return Entry(pipe, each * scores.amount, why)
    return Entry(pipe, each * scores.amount, why, None, Exactness.BOUNDED,
                 each * scores.low, each * scores.high)  # fmt: skip


FORMULAS = (attention,)
