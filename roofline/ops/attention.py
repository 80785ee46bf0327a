"""Scaled dot-product attention, forward and backward, as one fused operator.

Scores are never in memory: Q, K and V are read once and O is written once.
"""

from dataclasses import dataclass
from functools import partial

from roofline.call import Call, Math, Tensor
from roofline.errors import BadInput
from roofline.ops import arguments
from roofline.ops.dtype import matmul_pipe
from roofline.ops.lines import Operands, ledger
from roofline.ops.rule import Rule, Unaccountable
from roofline.ops.shapes import below
from roofline.work import Entry, Ledger

MATRICES = "attention is its two matrix products; softmax and scaling on the scores are left out"
CAUSAL = "causal scores are counted exactly, S(S+1)/2 a head"
DENSE = "every score is counted; a mask is read, and does not make work less"
STATISTICS = "logsumexp, kept a row for the backward, is left out"


@dataclass(frozen=True, slots=True)
class Sizes:
    """B batches, H query heads, S queries, T keys, D and E the head sizes of Q, K and of V, O."""

    batch: int
    heads: int
    queries: int
    keys: int
    head_dim: int
    value_dim: int
    scores: int  # (query, key) pairs one head of one batch looks at

    @property
    def flop(self) -> int:
        """Forward: 2*D a score for Q K^T and 2*E for P V."""
        return 2 * self.batch * self.heads * self.scores * (self.head_dim + self.value_dim)


def attention(
    batch: int,
    heads: int,
    seq_q: int,
    head_dim: int,
    seq_kv: int = 0,
    kv_heads: int = 0,
    causal: bool = False,
    dtype: str = "fp16",
    backward: bool = False,
    math: Math = "ieee",
) -> Ledger:
    """O[B,H,S,D] = softmax(Q[B,H,S,D] @ K[B,G,T,D]^T) @ V[B,G,T,D], with G = `kv_heads` (all of H).

    arithmetic   4*B*H*S*T*D            flop   Q K^T and P V, 2 flop a multiply-add
                 4*B*H*D*S(S+1)/2       flop   causal, with S = T
    read         (B*H*S*D + 2*B*G*T*D)*s  B    Q, K and V, once each
    write        B*H*S*D*s              B      O

    Backward: twice the flop (dV, dP, dQ, dK); reads Q, K, V, O and O's gradient, writes dQ, dK, dV.
    `seq_kv` 0 means S.  A causal mask with S < T is aligned to the last key, as in a decode.
    Left out: softmax and scaling, logsumexp, and what the hardware recomputes.
    """
    keys, groups = seq_kv or seq_q, kv_heads or heads
    sizes = {"batch": batch, "heads": heads, "seq_q": seq_q, "head_dim": head_dim,
             "seq_kv": keys, "kv_heads": groups}  # fmt: skip
    if wrong := [f"{name}={value}" for name, value in sizes.items() if value < 1]:
        raise BadInput(f"attention needs sizes of at least 1; got {', '.join(wrong)}")
    if heads % groups:
        raise BadInput(f"attention: {heads} heads cannot share {groups} kv_heads evenly")
    q = Tensor((batch, heads, seq_q, head_dim), dtype)
    k = Tensor((batch, groups, keys, head_dim), dtype)
    seen = below(seq_q, keys, keys - seq_q) if causal else seq_q * keys
    counted = Sizes(batch, heads, seq_q, keys, head_dim, head_dim, seen)
    if backward:
        return _backward(counted, [("O", q), ("grad of O", q)], (q, k, k), causal, math)
    return _forward(counted, q, k, k, [], causal, math)


@dataclass(frozen=True, slots=True)
class Place:
    """Where one entry point keeps its arguments; None is "it has no such argument"."""

    causal: int
    mask: int | None = None
    heads_last: bool = False  # B,S,H,D instead of B,H,S,D
    last_key: bool = False  # causal mask aligned to the last key instead of the first


def forward(entry: Place, call: Call) -> Ledger:
    """O = softmax(Q K^T + mask) V; Q, K, V are arguments 0, 1, 2."""
    q, k, v = (arguments.tensor(call, i) for i in range(3))
    mask = None if entry.mask is None else arguments.optional(call, entry.mask)
    causal = arguments.flag(call, entry.causal)
    sizes = _sizes(call, entry, q, k, v, causal)
    return _forward(sizes, q, k, v, [("mask", mask)] if mask else [], causal, call.math)


def backward(entry: Place, call: Call) -> Ledger:
    """dQ, dK, dV from the gradient of O; arguments 0 to 3 are it, Q, K, V."""
    g, q, k, v = (arguments.tensor(call, i) for i in range(4))
    mask = None if entry.mask is None else arguments.optional(call, entry.mask)
    causal = arguments.flag(call, entry.causal)
    sizes = _sizes(call, entry, q, k, v, causal)
    out = Tensor(g.shape, g.dtype)  # O stands at different places; its shape is the gradient's
    reads = [("O", out), ("grad of O", g), *([("mask", mask)] if mask else [])]
    return _backward(sizes, reads, (q, k, v), causal, call.math)


def _sizes(call: Call, entry: Place, q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Sizes:
    if not 3 <= len(q.shape) == len(k.shape) == len(v.shape) <= 4:
        raise Unaccountable(f"{call.op}: Q, K, V of shapes {q.shape}, {k.shape}, {v.shape}")
    batch = q.shape[0] if len(q.shape) == 4 else 1
    h, s = (-2, -3) if entry.heads_last else (-3, -2)
    heads, queries, keys = q.shape[h], q.shape[s], k.shape[s]
    if q.shape[-1] != k.shape[-1] or k.shape[:-1] != v.shape[:-1]:
        raise Unaccountable(f"{call.op}: Q, K, V of shapes {q.shape}, {k.shape}, {v.shape}")
    scores = queries * keys
    if causal:
        scores = below(queries, keys, keys - queries if entry.last_key else 0)
    return Sizes(batch, heads, queries, keys, q.shape[-1], v.shape[-1], scores)


def _forward(
    sizes: Sizes, q: Tensor, k: Tensor, v: Tensor, more: Operands, causal: bool, math: Math
) -> Ledger:
    o = Tensor((*q.shape[:-1], v.shape[-1]), q.dtype)
    return ledger(
        [_products(sizes, q, math, 1)],
        reads=[("Q", q), ("K", k), ("V", v), *more],
        writes=[("O", o)],
        conventions=(MATRICES, CAUSAL if causal else DENSE, STATISTICS),
    )


def _backward(
    sizes: Sizes,
    reads: Operands,
    qkv: tuple[Tensor, Tensor, Tensor],
    causal: bool,
    math: Math,
) -> Ledger:
    q, k, v = qkv
    return ledger(
        [_products(sizes, q, math, 2)],
        reads=[("Q", q), ("K", k), ("V", v), *reads],
        writes=[(f"d{name}", Tensor(t.shape, t.dtype)) for name, t in zip("QKV", qkv, strict=True)],
        conventions=(MATRICES, CAUSAL if causal else DENSE, STATISTICS),
    )


def _products(sizes: Sizes, q: Tensor, math: Math, times: int) -> Entry:
    why = "dV, dP, dQ, dK: twice the forward" if times == 2 else "Q K^T and P V, a score at a time"
    return Entry(matmul_pipe(q.dtype, math), times * sizes.flop, why)


_LAST = {"heads_last": True, "last_key": True}
FORWARD = {
    "scaled_dot_product_attention": Place(causal=5, mask=3),
    "_scaled_dot_product_attention_math": Place(causal=5, mask=3),
    "_scaled_dot_product_flash_attention_for_cpu": Place(causal=4, mask=5),
    "_scaled_dot_product_flash_attention": Place(causal=4),
    "_scaled_dot_product_efficient_attention": Place(causal=6, mask=3),
    "_scaled_dot_product_cudnn_attention": Place(causal=6, mask=3),
    "_scaled_dot_product_fused_attention_overrideable": Place(causal=5, mask=3),
}
BACKWARD = {
    "_scaled_dot_product_flash_attention_for_cpu_backward": Place(causal=7, mask=8),
    "_scaled_dot_product_flash_attention_backward": Place(causal=11),
    "_scaled_dot_product_efficient_attention_backward": Place(causal=11, mask=4),
    "_scaled_dot_product_cudnn_attention_backward": Place(causal=14, mask=8),
    "_scaled_dot_product_fused_attention_overrideable_backward": Place(causal=13, mask=4),
}


RULES = (
    *(Rule(f"aten::{name}", partial(forward, entry)) for name, entry in FORWARD.items()),
    *(Rule(f"aten::{name}", partial(backward, entry)) for name, entry in BACKWARD.items()),
    Rule("aten::_flash_attention_forward", partial(forward, Place(causal=8, **_LAST))),
    Rule("aten::_flash_attention_backward", partial(backward, Place(causal=11, **_LAST))),
)
FORMULAS = (attention,)
