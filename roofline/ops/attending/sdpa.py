"""PyTorch's entry points to attention: which argument stands where, and what is masked."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.attending import attention_executed
from roofline.ops.attending.attention import (
    Scores,
    Sizes,
    backward_ledger,
    band,
    exactly,
    forward_ledger,
)
from roofline.ops.rule import Rule, Unaccountable
from roofline.work import Ledger


@dataclass(frozen=True, slots=True)
class Place:
    """Where one entry point keeps its arguments; None is "it has no such argument"."""

    causal: int
    mask: int | None = None
    heads_last: bool = False  # B,S,H,D instead of B,H,S,D
    last_key: bool = False  # causal mask aligned to the last key instead of the first
    lengths: int | None = None  # two lists of where sequences begin, then their greatest lengths
    window: int | None = None  # how far back, how far ahead
    first: int = 0  # Q; a backward has the gradient of O before it
    in_tf32: bool = False  # fp32 is multiplied on tensor cores on a GPU, three times each


def forward(place: Place, call: Call) -> Ledger:
    """O = softmax(Q K^T + mask) V."""
    place = _variant(place, call)
    sizes, (q, k, v), mask = _read(place, call)
    math = "tf32" if _tripled(place, call, q) else call.math
    return forward_ledger(sizes, q, k, v, [("mask", mask)] if mask else [], math)


def backward(place: Place, call: Call) -> Ledger:
    """dQ, dK, dV from the gradient of O."""
    g = arguments.tensor(call, 0)
    sizes, qkv, mask = _read(place, call)
    out = Tensor(g.shape, g.dtype)  # O stands at different places; its shape is the gradient's
    reads = [("O", out), ("grad of O", g), *([("mask", mask)] if mask else [])]
    math = "tf32" if _tripled(place, call, qkv[0]) else call.math
    return backward_ledger(sizes, reads, qkv, math)


def flex(call: Call) -> Ledger:
    """higher_order::flex_attention(Q, K, V, score_mod, block_mask, ...): the mask is a function.

    How much of the scores it keeps is data: from one key a query to all of them.
    """
    sizes, (q, k, v) = _flexible(call, 0)
    return forward_ledger(sizes, q, k, v, [], call.math)


def flex_backward(call: Call) -> Ledger:
    """higher_order::flex_attention_backward(Q, K, V, O, logsumexp, dO, ...)."""
    sizes, qkv = _flexible(call, 0)
    out = Tensor((*qkv[0].shape[:-1], qkv[2].shape[-1]), qkv[0].dtype)
    return backward_ledger(sizes, [("O", out), ("grad of O", out)], qkv, call.math)


def executed_flex_backward(call: Call) -> Ledger:
    """Seven products where the forward has two: the scores once for dQ and once for dK and dV."""
    sizes, qkv = _flexible(call, 0)
    return attention_executed.flex_backward(sizes, qkv[0].dtype, call)


def _flexible(call: Call, first: int) -> tuple[Sizes, tuple[Tensor, Tensor, Tensor]]:
    """Q, K, V; then the least and the most pairs of all batches and heads, where they are known."""
    q, k, v = (arguments.tensor(call, first + i, 4) for i in range(3))
    known = call.arg(first + 3)
    if isinstance(known, tuple) and len(known) == 2 and all(type(n) is int for n in known):
        low, high = arguments.integers(call, first + 3)
        return Sizes(1, q.shape[-1], v.shape[-1], Scores(high, low, high)), (q, k, v)
    rows, dense = q.shape[0] * q.shape[2], q.shape[0] * q.shape[2] * k.shape[2]
    scores = Scores(dense, min(rows, dense), dense)
    return Sizes(q.shape[1], q.shape[-1], v.shape[-1], scores), (q, k, v)


def executed_forward(place: Place, call: Call) -> Ledger:
    """Whole tiles of scores, and the softmax on them."""
    place = _variant(place, call)
    sizes, (q, k, _), _ = _read(place, call)
    made = attention_executed.forward(
        sizes, q.dtype, _as_run(place, call, q), _lengths(place, q, k)
    )
    return attention_executed.tripled(made) if _tripled(place, call, q) else made


def executed_backward(place: Place, call: Call) -> Ledger:
    """Five products where the forward has two: the scores are computed again."""
    sizes, (q, k, _), _ = _read(place, call)
    made = attention_executed.backward(
        sizes, q.dtype, _as_run(place, call, q), _lengths(place, q, k)
    )
    return attention_executed.tripled(made) if _tripled(place, call, q) else made


def _tripled(place: Place, call: Call, q: Tensor) -> bool:
    """Whether fp32 is multiplied in three products of tf32, as the efficient kernels do."""
    return place.in_tf32 and q.dtype == "fp32" and call.device == "cuda"


def _as_run(place: Place, call: Call, q: Tensor) -> Call:
    return replace(call, math="tf32") if _tripled(place, call, q) else call


def _read(place: Place, call: Call) -> tuple[Sizes, tuple[Tensor, Tensor, Tensor], Tensor | None]:
    q, k, v = (arguments.tensor(call, place.first + i) for i in range(3))
    mask = None if place.mask is None else arguments.optional(call, place.mask)
    if not 3 <= len(q.shape) == len(k.shape) == len(v.shape) <= 4:
        raise Unaccountable(f"{call.op}: Q, K, V of shapes {q.shape}, {k.shape}, {v.shape}")
    if q.shape[-1] != k.shape[-1] or k.shape[:-1] != v.shape[:-1]:
        raise Unaccountable(f"{call.op}: Q, K, V of shapes {q.shape}, {k.shape}, {v.shape}")
    causal = _causal(place, call)
    starts = _starts(place, call)
    heads = q.shape[-2 if place.heads_last or (starts and len(q.shape) == 3) else -3]
    back, ahead = _window(place, call, causal)
    if starts is not None:
        scores = _varied(call, place, starts, q, k, heads, (back, ahead))
    else:
        queries, keys = _lengths(place, q, k)
        shift = keys - queries if place.last_key else 0
        scores = exactly(
            (q.shape[0] if len(q.shape) == 4 else 1) * band(queries, keys, shift, back, ahead)
        )
    windowed = back is not None or (ahead is not None and not causal)
    whole = starts is None and not windowed
    batch = q.shape[0] if whole and len(q.shape) == 4 else int(whole)
    counted = Sizes(
        heads, q.shape[-1], v.shape[-1], scores, causal, windowed, batch, place.last_key
    )
    return counted, (q, k, v), mask


def _lengths(place: Place, q: Tensor, k: Tensor) -> tuple[int, int]:
    at = -3 if place.heads_last else -2
    return q.shape[at], k.shape[at]


def _causal(place: Place, call: Call) -> bool:
    # The efficient kernels number their masks: 0 none, 1 from the first key, 2 from the last.
    if type(call.arg(place.causal)) is int:
        return arguments.integer(call, place.causal) > 0
    return arguments.flag(call, place.causal)


def _window(place: Place, call: Call, causal: bool) -> tuple[int | None, int | None]:
    def limit(at: int) -> int | None:
        size = call.arg(at)
        return size if type(size) is int and size >= 0 else None

    if place.window is None:
        return None, 0 if causal else None
    return limit(place.window), 0 if causal else limit(place.window + 1)


def _starts(place: Place, call: Call) -> tuple[Tensor, Tensor] | None:
    """Where sequences begin among the queries and among the keys, when they are packed."""
    if place.lengths is None:
        return None
    pair = [arguments.optional(call, place.lengths + i) for i in (0, 1)]
    of_q, of_k = (t if t is not None and t.numel > 1 else None for t in pair)
    return None if of_q is None else (of_q, of_k or of_q)


def _varied(
    call: Call,
    place: Place,
    starts: tuple[Tensor, Tensor],
    q: Tensor,
    k: Tensor,
    heads: int,
    limits: tuple[int | None, int | None],
) -> Scores:
    """Pairs of packed sequences whose lengths are data: sums of s*t that the totals allow.

    Equal lengths give the least sum of squares; as many of the greatest length as fit, the most.
    """
    if starts[0].values is not None and starts[1].values is not None:
        return _known(starts[0].values, starts[1].values, place.last_key, limits)
    count = starts[0].numel - 1
    queries = q.numel // max(1, heads * q.shape[-1])
    keys = k.numel // max(1, k.shape[-2 if len(k.shape) == 3 or place.heads_last else -3]
                          * k.shape[-1])  # fmt: skip
    at = place.lengths or 0
    longest_q, longest_k = (arguments.integer(call, at + i, n) or n
                            for i, n in ((2, queries), (3, keys)))  # fmt: skip
    base, longer = divmod(queries, count)
    back, ahead = limits

    def pairs(lengths: list[tuple[int, int]]) -> int:
        return sum(n * band(s, s, 0, back, ahead) for s, n in lengths)

    if queries == keys and longest_q == longest_k:
        low = pairs([(base, count - longer), (base + 1, longer)])
        full, rest = divmod(queries, max(1, longest_q))
        high = pairs([(longest_q, full), (rest, 1)])
        return Scores(low, low, max(low, high))
    high = min(queries * longest_k, keys * longest_q)
    if back is not None and ahead is not None:
        high = min(high, queries * (back + ahead + 1))
    even = min(high, queries * keys // count)
    low = even if count == 1 and limits == (None, None) else min(even, queries)
    return Scores(even, low, high)


def _known(
    of_q: tuple[int, ...],
    of_k: tuple[int, ...],
    last_key: bool,
    limits: tuple[int | None, int | None],
) -> Scores:
    """Pairs of packed sequences whose beginnings are known."""
    lengths = zip(pairwise(of_q), pairwise(of_k), strict=False)
    return exactly(
        sum(
            band(s1 - s0, t1 - t0, t1 - t0 - s1 + s0 if last_key else 0, *limits)
            for (s0, s1), (t0, t1) in lengths
        )
    )


def _variant(place: Place, call: Call) -> Place:
    """The quantized overloads of the flash kernels have three more arguments."""
    if call.op == "aten::_scaled_dot_product_flash_attention" and len(call.args) > 7:
        return Place(causal=7)
    if call.op == "aten::_flash_attention_forward" and len(call.args) == 18:
        return Place(causal=8, heads_last=True, last_key=True, lengths=3, window=14)
    return place


_FLASH = {"heads_last": True, "last_key": True}
FORWARD = {
    "scaled_dot_product_attention": Place(causal=5, mask=3),
    "_scaled_dot_product_attention_math": Place(causal=5, mask=3),
    "_scaled_dot_product_flash_attention_for_cpu": Place(causal=4, mask=5),
    "_scaled_dot_product_flash_attention": Place(causal=4),
    "_scaled_dot_product_efficient_attention": Place(causal=6, mask=3, in_tf32=True),
    "_scaled_dot_product_cudnn_attention": Place(causal=6, mask=3),
    "_scaled_dot_product_fused_attention_overrideable": Place(causal=5, mask=3),
    "_flash_attention_forward": Place(causal=8, lengths=3, window=11, **_FLASH),
    "_efficient_attention_forward": Place(
        causal=9, mask=3, lengths=4, heads_last=True, in_tf32=True
    ),
    "_cudnn_attention_forward": Place(causal=10, mask=3, lengths=4),
}
_BACKWARD = {
    "_scaled_dot_product_flash_attention_for_cpu_backward": Place(causal=7, mask=8, first=1),
    "_scaled_dot_product_flash_attention_backward": Place(causal=11, first=1),
    "_scaled_dot_product_efficient_attention_backward": Place(
        causal=11, mask=4, first=1, in_tf32=True
    ),
    "_scaled_dot_product_cudnn_attention_backward": Place(causal=14, mask=8, first=1),
    "_scaled_dot_product_fused_attention_overrideable_backward": Place(13, 4, first=1),
    "_cudnn_attention_backward": Place(causal=14, mask=8, lengths=9, first=1),
    "_flash_attention_backward": Place(causal=11, lengths=6, window=15, first=1, **_FLASH),
    "_efficient_attention_backward": Place(14, 4, True, lengths=6, first=1, in_tf32=True),
}

RULES = (
    Rule("higher_order::flex_attention", flex),
    Rule("higher_order::flex_attention_backward", flex_backward, executed_flex_backward),
    *(Rule(f"aten::{name}", partial(forward, place), partial(executed_forward, place))
      for name, place in FORWARD.items()),
    *(Rule(f"aten::{name}", partial(backward, place), partial(executed_backward, place))
      for name, place in _BACKWARD.items()),
)  # fmt: skip
