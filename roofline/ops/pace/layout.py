"""Copies and elementwise kernels: wide where tensors lie alike in memory, else one at a time."""

from roofline.call import DTYPE_BYTES, Call, Tensor
from roofline.ops.pace.way import CASTS, COPIED_ODD, GELU, JOINED, PLAIN, STRIDED, TRANSPOSED, Pace
from roofline.ops.shapes import FLOATING, kind, product

WIDE = 16  # B that a thread moves at once where addresses allow it


def copied(call: Call, _: int) -> Pace:
    """clone, _to_copy; copy_ has its source second."""
    source = call.tensors[1 if call.op == "aten::copy_" and len(call.tensors) > 1 else 0]
    to = call.outputs[0] if call.outputs else source
    if _strides(source) != _strides(to) and _unit(source) != _unit(to):
        return _transposed(source, to)
    if source.dtype != to.dtype:
        # fp32 to a half type has a kernel of its own, which is wide.
        halved = source.dtype == "fp32" and to.dtype in ("bf16", "fp16")
        return PLAIN if halved and _dense(source) else Pace(CASTS, to.numel)
    if _strides(source) == _strides(to) and _dense(source):
        return Pace(COPIED_ODD, to.nbytes, to.nbytes) if to.nbytes % WIDE else PLAIN
    return _one_by_one(to)


def _transposed(source: Tensor, to: Tensor) -> Pace:
    """Neighbours of the result lie apart in the source, each in a sector of its own.

    The rest of a sector is used when the result has passed all dimensions that are closer in it
    than the source's closest.  Where one block comes so far, its L1 has the sector; else the L2
    hands it out again, the more often the longer that way is.
    """
    strides = to.strides or _contiguous(to.shape)
    at = _unit(source)
    between = product(
        n for n, s in zip(to.shape, strides, strict=True) if at is not None and s < strides[at]
    )
    return Pace(TRANSPOSED, to.numel, between)


def gelu(call: Call, units: int) -> Pace:
    """By erf, a polynomial of many steps; by tanh it is as wide as any."""
    made = elementwise(call, units)
    exact = "tanh" not in call.args
    return Pace(GELU, call.tensors[0].numel) if exact and made == PLAIN else made


def elementwise(call: Call, _: int) -> Pace:
    """One kernel: wide where all tensors lie alike in memory and have the types it was made for."""
    tensors = [t for t in (*call.tensors, *call.outputs) if t.shape]
    if not tensors:
        return PLAIN
    largest = max(tensors, key=lambda t: t.numel)
    if any(t.shape != largest.shape or _strides(t) != _strides(largest) for t in tensors):
        return _one_by_one(largest)
    floats = {t.dtype for t in tensors if kind(t.dtype) == FLOATING}
    if len(floats) > 1:
        return Pace(CASTS, largest.numel)
    return PLAIN if _dense(largest) else _one_by_one(largest)


def joined(call: Call, _: int) -> Pace:
    """cat, stack: wide where every part begins and ends on 16 B."""
    parts, dim = call.tensors, call.arg(1, 0)
    total = sum(t.numel for t in parts)
    at = dim if isinstance(dim, int) else 0
    pieces = [product(t.shape[at:]) * DTYPE_BYTES[t.dtype] for t in parts]
    if all(_dense(t) and piece % WIDE == 0 for t, piece in zip(parts, pieces, strict=True)):
        return PLAIN
    one_after_the_other = at == 0 and all(map(_dense, parts))
    return Pace(JOINED if one_after_the_other else STRIDED, total)


def _one_by_one(tensor: Tensor) -> Pace:
    return Pace(STRIDED, tensor.numel)


def _strides(tensor: Tensor) -> tuple[int, ...]:
    """Of the dimensions that have more than one element."""
    strides = tensor.strides or _contiguous(tensor.shape)
    return tuple(s for n, s in zip(tensor.shape, strides, strict=True) if n > 1)


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(product(shape[at + 1 :]) for at in range(len(shape)))


def _unit(tensor: Tensor) -> int | None:
    """The dimension along which neighbours lie side by side."""
    strides = tensor.strides or _contiguous(tensor.shape)
    closest = [(s, d) for d, (n, s) in enumerate(zip(tensor.shape, strides, strict=True)) if n > 1]
    return min(closest)[1] if closest else None


def _dense(tensor: Tensor) -> bool:
    """Whether its elements fill one stretch of memory."""
    strides = tensor.strides or _contiguous(tensor.shape)
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, strides, strict=True))
    return reach + 1 == tensor.numel and 0 not in _strides(tensor)
