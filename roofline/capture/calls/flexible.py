"""Calls of flex_attention, which take functions: how much a mask keeps is read from its blocks.

A block mask lists blocks of scores that are kept whole and blocks that are kept in part; how much
of those is the mask function's affair.  So the pairs are known between two bounds where the lists
have data, and not at all on fake tensors.
"""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch._subclasses.fake_tensor import FakeTensor

from roofline.call import Argument, Call, Tensor
from roofline.capture.calls.signature import dtype

# name -> where the block mask stands
_MASK = {"higher_order::flex_attention": 4, "higher_order::flex_attention_backward": 9}
_PARTIAL, _FULL, _Q_BLOCK, _KV_BLOCK, _FUNCTION = 2, 4, -3, -2, -1  # within a block mask


def call(
    name: str, args: Sequence[Any], device: Literal["cpu", "cuda"] | None, wait: bool = True
) -> Call | None:
    """The call with Q, K, V and the bounds of kept (query, key) pairs; None for other operators.

    Without `wait` blocks on another device are not read: that would wait for it.
    """
    if name not in _MASK or len(args) <= _MASK[name]:
        return None
    q, k, v = args[:3]
    return Call(
        op=name,
        args=(*(_tensor(t) for t in (q, k, v)), _pairs(args[_MASK[name]], q, k, wait)),
        device=device or ("cuda" if q.device.type == "cuda" else "cpu"),
    )


def _tensor(tensor: Any) -> Tensor:
    return Tensor(tuple(tensor.shape), dtype(tensor.dtype), tuple(tensor.stride()))


def _pairs(mask: Sequence[Any], q: Any, k: Any, wait: bool) -> Argument:
    """Least and most pairs of all batches and heads; None where the blocks have no data."""
    every = q.shape[0] * q.shape[1] * q.shape[-2] * k.shape[-2]
    if getattr(mask[_FUNCTION], "__name__", "") == "noop_mask":
        return every, every
    partial, full = mask[_PARTIAL], mask[_FULL]
    known = [t for t in (partial, full) if isinstance(t, torch.Tensor)]
    if not known or any(isinstance(t, FakeTensor) or t.device.type == "meta" for t in known):
        return None
    if not wait and any(t.device.type != "cpu" for t in known):
        return None
    # Lists of fewer batches or heads than Q has hold for each of them.
    times = q.shape[0] * q.shape[1] // (partial.shape[0] * partial.shape[1])
    block = mask[_Q_BLOCK] * mask[_KV_BLOCK]
    in_part = times * int(partial.sum())
    whole = times * int(full.sum()) if isinstance(full, torch.Tensor) else 0
    return min(every, whole * block + in_part), min(every, (whole + in_part) * block)
