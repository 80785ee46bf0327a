"""Attention over packed sequences by `torch.nn.attention.varlen`, in terms of the flash kernels."""

from dataclasses import replace

from roofline.call import Call
from roofline.ops.attending import sdpa
from roofline.ops.rule import Rule
from roofline.work import Ledger

_FORWARD = sdpa.FORWARD["_flash_attention_forward"]
# dO, Q, K, V, where sequences begin, longest, causal, window: `_packed`.
_BACKWARD = sdpa.Place(causal=8, lengths=4, window=9, first=1, heads_last=True, last_key=True)


def varlen(call: Call) -> Ledger:
    """torch_attn::_varlen_attn(Q[T,H,D], K, V, starts, starts, longest, longest, causal, ...)."""
    return sdpa.forward(_FORWARD, _packed(call))


def varlen_backward(call: Call) -> Ledger:
    """torch_attn::_varlen_attn_backward(dO, Q, K, V, O, logsumexp, starts, starts, ...)."""
    return sdpa.backward(_BACKWARD, _packed(call))


def executed_forward(call: Call) -> Ledger:
    """The scores, and the softmax on them."""
    return sdpa.executed_forward(_FORWARD, _packed(call))


def executed_backward(call: Call) -> Ledger:
    """Five products where the forward has two."""
    return sdpa.executed_backward(_BACKWARD, _packed(call))


def _packed(call: Call) -> Call:
    """The call with its window, a list, as the two numbers that other entry points have."""
    window = next((a for a in call.args if isinstance(a, tuple) and len(a) == 2), (-1, -1))
    if call.op.endswith("backward"):
        return replace(call, args=(*call.args[:4], *call.args[6:11], *window))
    first = 1 if call.op.endswith("_out") else 0
    given = call.args[first : first + 7]
    return replace(call, args=(*given, 0.0, call.arg(first + 7), False, None, *window))


RULES = (
    *(Rule(f"torch_attn::_varlen_attn{out}", varlen, executed_forward) for out in ("", "_out")),
    Rule("torch_attn::_varlen_attn_backward", varlen_backward, executed_backward),
)
