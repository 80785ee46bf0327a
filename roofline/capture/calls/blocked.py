"""Calls on tensors in oneDNN's own layout: every element is there, in blocks of its own order.

They are counted as the same calls of tensors in plain order.  What blocks are padded with is no
part of the work: the bytes are those of the shapes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from roofline.call import Call
from roofline.capture.calls.operator import Operator
from roofline.capture.calls.signature import Describer, Opaque, tensors
from roofline.capture.calls.storages import Storages
from roofline.work import Ledger

IN_BLOCKS = "a tensor in oneDNN's own layout is counted by its shape; padding of its blocks is not"


def any_blocked(values: Sequence[Any]) -> bool:
    """Whether a tensor among `values`, lists flattened, is in oneDNN's own layout."""
    return any(_is_blocked(tensor) for tensor in tensors(values))


def counted(
    operator: Operator,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    made: Sequence[Any],
    account: Callable[[Call], Ledger],
) -> Ledger | None:
    """The ledger of one call; None where nothing here can tell."""
    plain: dict[int, Any] = {}  # the same tensor given twice is the same memory

    def instead(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [instead(item) for item in value]
        if not isinstance(value, torch.Tensor) or not _is_blocked(value):
            return value
        if id(value) not in plain:
            plain[id(value)] = torch.empty(value.shape, dtype=value.dtype, device="meta")
        return plain[id(value)]

    storages = Storages()
    try:
        named = {key: instead(value) for key, value in kwargs.items()}
        describer = Describer(operator, instead(args), named, storages)
        ledger = account(describer.call(tensors([instead(made)])))
    except (Opaque, TypeError):
        return None
    finally:
        storages.close()
    return replace(ledger, conventions=(*ledger.conventions, IN_BLOCKS))


def _is_blocked(tensor: Any) -> bool:
    return not tensor.is_nested and tensor.layout is torch._mkldnn
