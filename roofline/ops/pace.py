"""How PyTorch's own kernels on a GPU pass over the data of a call.

A kernel whose threads move 16 B a request is bound by memory.  Many of PyTorch's are not: they
take elements one at a time, with index arithmetic or a look at the type for each, give every row a
block of its own, or pass twice.  Such a *way* has a pace, in elements a second, that `roofline
measure` takes of the PyTorch that is installed, on narrow elements, so that memory is not what
bounds it.

These are observations of PyTorch 2.11's kernels on an H200; what is not known to be otherwise is
taken to be bound by memory.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from roofline.call import DTYPE_BYTES, Call, Tensor
from roofline.ops.elements import pointwise
from roofline.ops.shapes import FLOATING, kind, product

CASTS, STRIDED, TRANSPOSED = "casts", "strided or broadcast elements", "transposed copies"
JOINED, REDUCED, COLUMNS_REDUCED = "unaligned parts joined", "reduced to one", "columns reduced"
ROWS_REDUCED, VARIANCE = "rows reduced", "variance of rows"
SOFTMAX, SOFTMAX_ODD = "softmax", "softmax, odd length"
NORMALISED, NORMALISED_ODD, RMS = "layer norm", "layer norm, odd length", "rms norm"
BATCH_NORM, BATCH_NORM_TRAINED = "batch norm", "batch norm, training"
PICKED, PICKED_ODD = "rows picked", "rows picked, odd length"
DROPOUT, DROPOUT_ODD = "dropout", "dropout, odd length"
GELU, MANY, ADAM = "gelu by erf", "lists of tensors", "fused Adam"
FEW_ROWS, FEW_QUERIES = "products of few rows", "attention of few queries"
# Not of PyTorch but of Triton, as one writes it: a row a program, elements whose number is odd.
OWN_ROWS, OWN_ROWS_ODD, OWN_ODD = "Triton rows", "Triton rows, odd length", "Triton, odd length"

WIDE = 16  # B that a thread moves at once where addresses allow it
FEW = 16  # rows of a product, or queries, that are few: each weight, each key is used as often
WHOLE = 1000  # fewer rows than this are each shared among blocks, as one row is
HELD = 1024  # elements of a row that softmax holds in the registers of a warp
BLOCK = 512  # elements that a block of an elementwise kernel passes over


@dataclass(frozen=True, slots=True)
class Pace:
    """What a call takes beside its operands once."""

    way: str = ""  # "" is bound by memory
    elements: int = 0
    row: int | None = None  # elements of a row, where a row is what a block works on
    size: int = 2  # B of an element, 2 or 4, whichever is nearer
    kernels: int = 1
    read: int = 0  # B read once more
    written: int = 0  # B written that are no result

    @property
    def names(self) -> tuple[str, str]:
        """The way at this size of elements, and at any."""
        return sized(self.way, self.size), self.way


PLAIN = Pace()


def sized(way: str, size: int) -> str:
    """A way at one size of elements."""
    return f"{way}, {size} B"


def pace(call: Call) -> Pace:
    """How PyTorch passes over this call's data on a GPU."""
    found = _BY_OP.get(call.op)
    if found is None and call.op.startswith("aten::_foreach"):
        found = _lists
    if found is None or not call.tensors:
        return PLAIN
    largest = max(call.tensors, key=lambda t: t.numel)
    return replace(found(call), size=4 if DTYPE_BYTES[largest.dtype] > 2 else 2)


def _copied(call: Call) -> Pace:
    """clone, _to_copy; copy_ has its source second."""
    source = call.tensors[1 if call.op == "aten::copy_" and len(call.tensors) > 1 else 0]
    to = call.outputs[0] if call.outputs else source
    if _strides(source) != _strides(to) and _unit(source) != _unit(to):
        return _transposed(source, to)
    if source.dtype != to.dtype:
        # fp32 to a half type has a kernel of its own, which is wide.
        halved = source.dtype == "fp32" and to.dtype in ("bf16", "fp16")
        return PLAIN if halved and _dense(source) else Pace(CASTS, to.numel)
    return PLAIN if _strides(source) == _strides(to) and _dense(source) else _one_by_one(to)


def _transposed(source: Tensor, to: Tensor) -> Pace:
    """Neighbours of the result lie apart in the source, each in a sector of its own.

    The rest of a sector is used when the result has passed all dimensions that are closer in it
    than the source's closest.  Where one block comes so far, its L1 has the sector; else the L2
    hands it out again for each element.
    """
    strides = to.strides or _contiguous(to.shape)
    at = _unit(source)
    between = product(
        n for n, s in zip(to.shape, strides, strict=True) if at is not None and s < strides[at]
    )
    return Pace(STRIDED if 2 * between <= BLOCK else TRANSPOSED, to.numel)


def _gelu(call: Call) -> Pace:
    """By erf, a polynomial of many steps; by tanh it is as wide as any."""
    made = _elementwise(call)
    exact = "tanh" not in call.args
    return Pace(GELU, call.tensors[0].numel) if exact and made == PLAIN else made


def _elementwise(call: Call) -> Pace:
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


def _joined(call: Call) -> Pace:
    """cat, stack: wide where every part begins and ends on 16 B."""
    parts, dim = call.tensors, call.arg(1, 0)
    total = sum(t.numel for t in parts)
    at = dim if isinstance(dim, int) else 0
    pieces = [product(t.shape[at:]) * DTYPE_BYTES[t.dtype] for t in parts]
    if all(_dense(t) and piece % WIDE == 0 for t, piece in zip(parts, pieces, strict=True)):
        return PLAIN
    one_after_the_other = at == 0 and all(map(_dense, parts))
    return Pace(JOINED if one_after_the_other else STRIDED, total)


def _reduced(call: Call) -> Pace:
    x = call.tensors[0]
    dims = _dims(call.arg(1), len(x.shape))
    way = VARIANCE if "var" in call.op or "std" in call.op else ROWS_REDUCED
    if not dims or len(dims) == len(x.shape):
        return Pace(REDUCED, x.numel)
    if len(x.shape) - 1 not in dims:
        return Pace(COLUMNS_REDUCED, x.numel)
    row = product(x.shape[d] for d in dims)
    if way == ROWS_REDUCED and x.numel < WHOLE * row:
        return Pace(REDUCED, x.numel)
    return Pace(way, x.numel, row)


def _softmax(call: Call) -> Pace:
    """Short rows are held by a warp, in registers for the next power of two."""
    x = call.tensors[0]
    row = x.shape[-1] if x.shape else 1
    if row <= HELD:
        padded = 1 << (row - 1).bit_length()
        return Pace(SOFTMAX, x.numel // max(1, row) * padded, padded)
    whole = row * DTYPE_BYTES[x.dtype] % WIDE == 0
    return Pace(SOFTMAX if whole else SOFTMAX_ODD, x.numel, row)


def _rms(call: Call) -> Pace:
    made = _normalised(call)
    return replace(made, way=RMS) if made.way == NORMALISED else made


def _normalised(call: Call) -> Pace:
    """Rows of 4 elements times n are read once, 4 at a time; others twice, by two kernels."""
    x, shape = call.tensors[0], call.arg(1)
    row = product(n for n in shape if isinstance(n, int)) if isinstance(shape, tuple) else 1
    if row % 4 == 0:
        return Pace(NORMALISED, x.numel, row)
    return Pace(NORMALISED_ODD, x.numel, row, kernels=2, read=x.nbytes)


def _batch(training_at: int) -> Callable[[Call], Pace]:
    def found(call: Call) -> Pace:
        x = call.tensors[0]
        if call.arg(training_at) is True:
            return Pace(BATCH_NORM_TRAINED, x.numel, kernels=2, read=x.nbytes)
        return Pace(BATCH_NORM, x.numel)

    return found


def _picked(call: Call) -> Pace:
    table, rows = call.tensors[0], call.tensors[1].numel
    row = product(table.shape[1:])
    way = PICKED if row * DTYPE_BYTES[table.dtype] % WIDE == 0 else PICKED_ODD
    return Pace(way, rows * row, row)


def _dropout(call: Call) -> Pace:
    n = call.tensors[0].numel
    return Pace(DROPOUT if n % 4 == 0 else DROPOUT_ODD, n)


def _lists(call: Call) -> Pace:
    first = call.arg(0)
    held = [t for t in first if isinstance(t, Tensor)] if isinstance(first, tuple) else []
    return Pace(MANY, sum(t.numel for t in held))


def _adam(call: Call) -> Pace:
    return Pace(ADAM, _lists(call).elements)


def _product(call: Call) -> Pace:
    """A matrix and few rows: each element of the matrix is met once."""
    sizes = sorted(call.tensors, key=lambda t: t.numel)
    matrix, rows = sizes[-1], min((t.numel // max(1, t.shape[-1]) for t in sizes[:-1] if t.shape),
                                  default=FEW + 1)  # fmt: skip
    return Pace(FEW_ROWS, matrix.numel) if rows <= FEW else PLAIN


def _attention(call: Call) -> Pace:
    q, k, v = call.tensors[:3]
    return Pace(FEW_QUERIES, k.numel + v.numel) if q.shape[-2] <= FEW else PLAIN


def _mean_of_losses(call: Call) -> Pace:
    """mse_loss and its kin with a reduction: the losses are written, then read and summed."""
    x = call.tensors[0]
    return PLAIN if call.arg(2, 1) == 0 else Pace(kernels=2, read=x.nbytes, written=x.nbytes)


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


def _dims(found: object, rank: int) -> frozenset[int]:
    given = found if isinstance(found, tuple) else (found,)
    return frozenset(d % rank for d in given if isinstance(d, int) and not isinstance(d, bool))


def _each(rule: Callable[[Call], Pace], *names: str) -> dict[str, Callable[[Call], Pace]]:
    return {f"aten::{name}": rule for name in names}


_BY_OP: Mapping[str, Callable[[Call], Pace]] = {
    **{rule.op: _elementwise for rule in pointwise.RULES},
    **_each(_elementwise, "where", "masked_fill", "masked_fill_", "lerp", "lerp_"),
    **_each(_copied, "clone", "_to_copy", "copy_", "copy", "contiguous"),
    **_each(_joined, "cat", "stack"),
    **_each(_reduced, "sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "prod",
            "var", "std", "var_mean", "std_mean", "norm", "linalg_vector_norm", "any", "all"),
    **_each(_softmax, "_softmax", "_log_softmax", "softmax", "log_softmax"),
    **_each(_normalised, "native_layer_norm", "layer_norm"),
    **_each(_rms, "_fused_rms_norm", "rms_norm"),
    "aten::gelu": _gelu,
    **_each(_batch(5), "native_batch_norm", "batch_norm", "cudnn_batch_norm"),
    **_each(_picked, "embedding"),
    "aten::index_select": _picked,
    **_each(_dropout, "native_dropout"),
    **_each(_adam, "_fused_adam_", "_fused_adamw_", "_fused_sgd_"),
    **_each(_product, "mm", "mv", "addmm", "linear", "addmv"),
    **_each(_attention, "_scaled_dot_product_flash_attention",
            "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
            "_scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_attention"),
    **_each(_mean_of_losses, "mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss"),
}  # fmt: skip
