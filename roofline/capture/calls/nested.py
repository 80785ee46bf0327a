"""Calls on nested tensors: rows of different lengths, one after the other in one block of memory.

The lengths are known to the host.  Each component is counted as a call of its own; where weights
meet all of them, bytes are those of one call on all rows together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from roofline.call import Call, Tensor
from roofline.capture.calls.operator import Operator
from roofline.capture.calls.signature import Describer, Opaque, element, tensors
from roofline.capture.calls.storages import Storages
from roofline.ops.lines import ledger
from roofline.work import Ledger

BY_COMPONENT = "a nested tensor is counted component by component, what they share once"
# Between lists, padded and nested tensors: what the one holds is read, what the other is written.
_MOVES = frozenset(
    f"aten::{name}"
    for name in ("to_padded_tensor", "_nested_from_padded", "_nested_from_padded_tensor",
                 "_nested_tensor_from_mask", "_nested_tensor_from_tensor_list")
)  # fmt: skip


def any_nested(values: Sequence[Any]) -> bool:
    """Whether a tensor among `values`, lists flattened, is nested."""
    return any(tensor.is_nested for tensor in tensors(values))


def counted(
    operator: Operator,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    made: Sequence[Any],
    account: Callable[[Call], Ledger],
) -> Ledger | None:
    """The ledger of one call; None where nothing here can tell."""
    given = tensors([*args, *kwargs.values()])
    try:
        if operator.name in _MOVES:
            return _moved(given, made)
        parts = [_call(operator, args, kwargs, made, at) for at in range(_count([*given, *made]))]
        ledgers = [account(call) for call in parts]
        shared = any(not t.is_nested and t.dim() for t in given)
        whole = account(_call(operator, args, kwargs, made, None)) if shared else None
    except (Opaque, RuntimeError, NotImplementedError, TypeError):
        return None
    return _together(ledgers, whole) if ledgers else None


def _count(some: Sequence[Any]) -> int:
    """How many components nested tensors have; Opaque where they differ."""
    counts = {t.size(0) for t in some if t.is_nested}
    if len(counts) != 1:
        raise Opaque
    return int(counts.pop())


def _together(ledgers: Sequence[Ledger], whole: Ledger | None) -> Ledger:
    """The arithmetic of the components, and their bytes; of `whole` where something is shared."""
    summed = ledgers[0]
    for one in ledgers[1:]:
        summed = summed + one
    if whole is not None:
        arithmetic = (e for e in summed.entries if not e.resource.is_boundary)
        moved = (e for e in whole.entries if e.resource.is_boundary)
        missing = dict.fromkeys((*summed.unaccounted, *whole.unaccounted))
        summed = replace(whole, entries=(*arithmetic, *moved), unaccounted=tuple(missing))
    return replace(summed, conventions=(*summed.conventions, BY_COMPONENT))


def _call(
    operator: Operator,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    made: Sequence[Any],
    at: int | None,
) -> Call:
    """The call with component `at` in the place of each nested tensor; with all rows, for None."""

    def one(tensor: Any) -> Any:
        return _block(tensor) if at is None else tensor.unbind()[at].unsqueeze(0)

    def instead(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [instead(item) for item in value]
        return one(value) if tensors([value]) and value.is_nested else value

    storages = Storages()
    try:
        named = {key: instead(value) for key, value in kwargs.items()}
        describer = Describer(operator, instead(args), named, storages)
        return describer.call(tensors([instead(made)]))
    finally:
        storages.close()


def _block(tensor: Any) -> Any:
    """All rows as one tensor with a batch of one, where the rows stand first in each component."""
    parts = tensor.unbind()
    rest = {tuple(part.shape[1:]) for part in parts}
    if len(rest) != 1 or not tensor.is_contiguous():
        raise Opaque
    return tensor.values().view(1, -1, *rest.pop())


def _moved(given: Sequence[Any], made: Sequence[Any]) -> Ledger:
    reads = [(f"operand {i + 1}", _memory(t)) for i, t in enumerate(given)]
    writes = [(f"result {i + 1}", _memory(t)) for i, t in enumerate(made)]
    return ledger(reads=reads, writes=writes)


def _memory(tensor: Any) -> Tensor:
    return Tensor((tensor.numel(),), element(tensor))
