"""Reading the arguments of a call.

Every reader either returns what it promises or raises `Unaccountable` with the argument's position,
so a rule never meets a None, a text or a missing value where it expects a tensor.
"""

from roofline.call import DTYPE_BYTES, Call, Tensor
from roofline.ops.rule import Unaccountable


def tensor(call: Call, index: int, rank: int | None = None) -> Tensor:
    """Argument `index`, which must be a tensor (of `rank` dimensions, where that is given)."""
    found = call.arg(index)
    if not isinstance(found, Tensor):
        raise Unaccountable(f"{call.op}: argument {index} should be a tensor, it is {found!r}")
    return _checked(call, index, found, rank)


def optional(call: Call, index: int) -> Tensor | None:
    """Argument `index` when it is a tensor; None when it is None, a number or not recorded."""
    found = call.arg(index)
    return _checked(call, index, found, None) if isinstance(found, Tensor) else None


def sparse(call: Call, index: int, rank: int | None = None) -> Tensor:
    """Argument `index`, which must be a sparse tensor whose number of elements was recorded."""
    found = call.arg(index)
    if not isinstance(found, Tensor) or found.layout == "strided" or found.stored is None:
        raise Unaccountable(f"{call.op}: argument {index} should be sparse, with as many elements "
                            f"as it holds; it is {found!r}")  # fmt: skip
    return _shaped(call, index, found, rank)


def is_sparse(call: Call, index: int) -> bool:
    """Whether argument `index` is a sparse tensor."""
    found = call.arg(index)
    return isinstance(found, Tensor) and found.layout != "strided"


def tensors(call: Call, index: int) -> tuple[Tensor, ...]:
    """Argument `index`, which must be a list of tensors (it may be empty)."""
    found = call.arg(index)
    if not isinstance(found, tuple):
        raise Unaccountable(f"{call.op}: argument {index} should be a list, it is {found!r}")
    members = [t for t in found if isinstance(t, Tensor)]
    if len(members) != len(found):
        raise Unaccountable(f"{call.op}: argument {index} should hold tensors only")
    return tuple(_checked(call, index, t, None) for t in members)


def integer(call: Call, index: int, default: int | None = None) -> int:
    """Argument `index` as a whole number; `default` when it is None or not recorded."""
    found = call.arg(index)
    if found is None and default is not None:
        return default
    if isinstance(found, tuple) and len(found) == 1:  # int[1] arguments accept a plain number
        found = found[0]
    if isinstance(found, bool) or not isinstance(found, int):
        raise Unaccountable(f"{call.op}: argument {index} should be an integer, it is {found!r}")
    return found


def integers(call: Call, index: int) -> tuple[int, ...]:
    """Argument `index` as a tuple of whole numbers; one number is a tuple of one."""
    found = call.arg(index)
    members = found if isinstance(found, tuple) else (found,)
    whole = tuple(m for m in members if isinstance(m, int) and not isinstance(m, bool))
    if len(whole) != len(members):
        raise Unaccountable(f"{call.op}: argument {index} should hold integers, it is {found!r}")
    return whole


def number(call: Call, index: int, default: float) -> float:
    """Argument `index` as a number; `default` when it is anything else (a tensor, not recorded)."""
    found = call.arg(index)
    return found if isinstance(found, (int, float)) else default


def flag(call: Call, index: int, default: bool = False) -> bool:
    """Argument `index` as yes or no; `default` when it is None or not recorded."""
    found = call.arg(index)
    if found is None:
        return default
    if not isinstance(found, (bool, int)):
        raise Unaccountable(f"{call.op}: argument {index} should be true or false, it is {found!r}")
    return bool(found)


def flags(call: Call, index: int, count: int) -> tuple[bool, ...]:
    """Argument `index` as `count` yes-or-no values; all yes when it is not recorded."""
    found = call.arg(index)
    if found is None:
        return (True,) * count
    if not isinstance(found, tuple) or len(found) != count:
        raise Unaccountable(f"{call.op}: argument {index} should hold {count} flags")
    return tuple(bool(f) for f in found)


def _checked(call: Call, index: int, found: Tensor, rank: int | None) -> Tensor:
    if found.layout != "strided":
        raise Unaccountable(
            f"{call.op}: argument {index} is sparse, and its rule is for dense ones"
        )
    return _shaped(call, index, found, rank)


def _shaped(call: Call, index: int, found: Tensor, rank: int | None) -> Tensor:
    if found.dtype not in DTYPE_BYTES:
        raise Unaccountable(f"{call.op}: no size is known for elements of {found.dtype!r}")
    if any(type(size) is not int or size < 0 for size in found.shape):
        raise Unaccountable(f"{call.op}: argument {index} has an unknown size, {found.shape}")
    if found.strides is not None and len(found.strides) != len(found.shape):
        raise Unaccountable(f"{call.op}: argument {index} has {found.shape} but {found.strides}")
    if rank is not None and len(found.shape) != rank:
        raise Unaccountable(f"{call.op}: argument {index} should have {rank} dimensions, "
                            f"it has shape {found.shape}")  # fmt: skip
    return found
