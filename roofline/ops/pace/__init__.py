"""How PyTorch's own kernels on a GPU pass over the data of a call.

A kernel whose threads move 16 B a request is bound by memory.  Many of PyTorch's are not: they
take elements one at a time, with index arithmetic or a look at the type for each, give every row a
block of its own, wait for each four values before the next, or pass twice.  `way` names what is
known, `reduced`, `rows` and `layout` say which calls go which way, and `compiled` what Triton does.

What is not known to be otherwise is taken to be bound by memory.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from roofline.call import DTYPE_BYTES, Call, Tensor
from roofline.ops.elements import pointwise
from roofline.ops.pace import layout, reduced, rows
from roofline.ops.pace.way import (
    ADAM,
    ADAM_ODD,
    DROPOUT,
    DROPOUT_ODD,
    DROPOUT_PAIRS,
    FEW_QUERIES,
    FEW_ROWS,
    MANY,
    MANY_ODD,
    PLAIN,
    VECTOR,
    Pace,
)

FEW = 16  # rows of a product, or queries, that are few: each weight, each key is used as often
UNITS = 132  # multiprocessors, where a device does not say

Rule = Callable[[Call, int], Pace]


def pace(call: Call, units: int = UNITS) -> Pace:
    """How PyTorch passes over this call's data on a GPU of so many multiprocessors."""
    found = _BY_OP.get(call.op)
    if found is None and call.op.startswith("aten::_foreach"):
        found = _lists
    if found is None or not call.tensors:
        return PLAIN
    largest = max(call.tensors, key=lambda t: t.numel)
    return _of_size(found(call, units), 4 if DTYPE_BYTES[largest.dtype] > 2 else 2)


def _of_size(made: Pace, size: int) -> Pace:
    return replace(made, size=size, then=tuple(_of_size(one, size) for one in made.then))


def _dropout(call: Call, _: int) -> Pace:
    n = call.tensors[0].numel
    return Pace((DROPOUT, DROPOUT_ODD, DROPOUT_PAIRS, DROPOUT_ODD)[n % 4], n)


def _lists(call: Call, _: int) -> Pace:
    return _of_lists(call, MANY, MANY_ODD)


def _adam(call: Call, _: int) -> Pace:
    return _of_lists(call, ADAM, ADAM_ODD)


def _of_lists(call: Call, whole: str, odd: str) -> Pace:
    """Tensors of 4 elements times n go 4 at a time; the way is that of most elements."""
    first = call.arg(0)
    held = [t.numel for t in first if isinstance(t, Tensor)] if isinstance(first, tuple) else []
    even = sum(n for n in held if n % 4 == 0)
    return Pace(whole if 2 * even >= sum(held) else odd, sum(held))


def _product(call: Call, _: int) -> Pace:
    """A matrix and few rows: each element of the matrix is met once, by blocks that share its depth
    and a kernel that adds their sums."""
    sizes = sorted(call.tensors, key=lambda t: t.numel)
    matrix, rows = sizes[-1], min((t.numel // max(1, t.shape[-1]) for t in sizes[:-1] if t.shape),
                                  default=FEW + 1)  # fmt: skip
    return Pace(FEW_ROWS, matrix.numel, matrix.numel, then=(Pace(),)) if rows <= FEW else PLAIN


def _times_vector(call: Call, _: int) -> Pace:
    matrix = max(call.tensors, key=lambda t: t.numel)
    return Pace(VECTOR, matrix.numel, matrix.numel)


def _attention(call: Call, _: int) -> Pace:
    q, k, v = call.tensors[:3]
    return Pace(FEW_QUERIES, k.numel + v.numel) if q.shape[-2] <= FEW else PLAIN


def _mean_of_losses(call: Call, units: int) -> Pace:
    """mse_loss and its kin with a reduction: the losses are written, then read and summed."""
    x = call.tensors[0]
    if call.arg(2, 1) == 0:
        return PLAIN
    summed = replace(reduced.to_one(x.numel, units), read=x.nbytes)
    return Pace(written=x.nbytes, then=(summed,))


def _each(rule: Rule, *names: str) -> dict[str, Rule]:
    return {f"aten::{name}": rule for name in names}


_BY_OP: Mapping[str, Rule] = {
    **{rule.op: layout.elementwise for rule in pointwise.RULES},
    **_each(layout.elementwise, "where", "masked_fill", "masked_fill_", "lerp", "lerp_"),
    **_each(layout.copied, "clone", "_to_copy", "copy_", "copy", "contiguous"),
    **_each(layout.joined, "cat", "stack"),
    **_each(layout.gelu, "gelu"),
    **_each(reduced.reduced, "sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin",
            "prod", "var", "std", "var_mean", "std_mean", "norm", "linalg_vector_norm", "any",
            "all"),
    **_each(rows.softmax, "_softmax", "_log_softmax", "softmax", "log_softmax"),
    **_each(rows.loss_picked, "nll_loss_forward"),
    **_each(rows.normalised, "native_layer_norm", "layer_norm"),
    **_each(rows.rms_normalised, "_fused_rms_norm", "rms_norm"),
    **_each(rows.batch_normalised(5), "native_batch_norm", "batch_norm", "cudnn_batch_norm"),
    **_each(rows.batch_statistics, "batch_norm_stats"),
    **_each(rows.picked, "embedding", "index_select"),
    **_each(_dropout, "native_dropout"),
    **_each(_adam, "_fused_adam_", "_fused_adamw_", "_fused_sgd_"),
    **_each(_product, "mm", "addmm", "linear"),
    **_each(_times_vector, "mv", "addmv"),
    **_each(_attention, "_scaled_dot_product_flash_attention",
            "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
            "_scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_attention"),
    **_each(_mean_of_losses, "mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss"),
}  # fmt: skip
