"""What a sparse tensor holds: its values and its indices, which are tensors of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

from roofline.call import Layout

LAYOUTS: dict[Any, Layout] = {
    torch.sparse_coo: "coo", torch.sparse_csr: "csr", torch.sparse_csc: "csc",
    torch.sparse_bsr: "bsr", torch.sparse_bsc: "bsc",
}  # fmt: skip
_FEW = 4096  # numbers that are read from one tensor at most
_BY_ROW = frozenset({torch.sparse_csr, torch.sparse_bsr})


@dataclass(frozen=True, slots=True)
class Held:
    """One sparse tensor as it is in memory."""

    layout: Layout
    values: Any
    stored: int  # elements
    places: int  # that the indices name
    index_nbytes: int


def held(tensor: Any) -> Held | None:
    """The parts of a sparse tensor; None of another layout, or where it has no data (fake)."""
    layout = LAYOUTS.get(tensor.layout)
    # A fake tensor says that it holds nothing, whatever the real one would.
    if layout is None or type(tensor) is FakeTensor or tensor.device.type == "meta":
        return None
    try:
        values, indices = _parts(tensor)
        nbytes = sum(i.numel() * i.element_size() for i in indices)
        return Held(layout, values, values.numel(), tensor._nnz(), nbytes)
    except (RuntimeError, NotImplementedError):
        return None


def numbers(tensor: Any) -> tuple[int, ...] | None:
    """What stands in a short row of integers that the host has; None of any other tensor."""
    held = tensor.constant if type(tensor) is FakeTensor else tensor
    if held is None or held.device.type != "cpu" or held.dim() != 1 or held.numel() > _FEW:
        return None
    if held.dtype not in (torch.int32, torch.int64):
        return None
    with unset_fake_temporarily():
        return tuple(held.tolist())


def any_sparse(made: Sequence[Any]) -> bool:
    """Whether one of some results is: how much it holds, equal calls may differ in."""
    return any(tensor.layout is not torch.strided for tensor in made)


def _parts(tensor: Any) -> tuple[Any, tuple[Any, ...]]:
    if tensor.layout is torch.sparse_coo:
        return tensor._values(), (tensor._indices(),)
    if tensor.layout in _BY_ROW:
        return tensor.values(), (tensor.crow_indices(), tensor.col_indices())
    return tensor.values(), (tensor.ccol_indices(), tensor.row_indices())
