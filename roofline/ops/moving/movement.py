"""Operators that move bytes and compute nothing: copies and joins."""

from roofline.call import Call, Tensor
from roofline.errors import BadInput
from roofline.ops import arguments
from roofline.ops.lines import Rows, ledger, result
from roofline.ops.memory import contiguous, viewable
from roofline.ops.rule import Unaccountable, named
from roofline.ops.shapes import below, broadcast, dims_of, dtype_argument, product
from roofline.work import Ledger

PERHAPS = "whether oneDNN copies to reshape depends on an order of its own: from nothing to all"


def copy(n: int, dtype: str = "fp32", out_dtype: str = "") -> Ledger:
    """y[N] = x[N]: N*s bytes read, N*s' bytes written, no arithmetic."""
    if n < 1:
        raise BadInput(f"copy needs n of at least 1; got {n}")
    return _moved([Tensor((n,), dtype)], Tensor((n,), out_dtype or dtype))


def clone(call: Call) -> Ledger:
    """aten::clone(x): x read once (stride 0 counts once), a new tensor written."""
    x = arguments.tensor(call, 0)
    return _moved([x], result(call, x.shape, x.dtype))


def reordered(call: Call) -> Ledger:
    """aten::to_mkldnn(x), mkldnn_reorder_conv2d_weight(w, ...): the same elements, other places."""
    x = arguments.tensor(call, 0)
    return _moved([x], result(call, x.shape, x.dtype))


def perhaps_reordered(call: Call) -> Ledger:
    """aten::_mkldnn_reshape(x, shape): a copy of x where it is in blocks, else nothing."""
    x = arguments.tensor(call, 0)
    whole = Rows("x, where it is in blocks", 1, x.nbytes, 1, least=0)
    return ledger(gathered=[whole], scattered=[whole], conventions=(PERHAPS,))


def to_copy(call: Call) -> Ledger:
    """aten::_to_copy(x, dtype, ...): a copy, maybe to another dtype; converting is no flop."""
    x = arguments.tensor(call, 0)
    return _moved([x], result(call, x.shape, dtype_argument(call, 1) or x.dtype))


def copy_into(call: Call) -> Ledger:
    """aten::copy_(y, x): x read once, y written once."""
    y, x = arguments.tensor(call, 0), arguments.tensor(call, 1)
    if broadcast(call, (y.shape, x.shape)) != y.shape:
        raise Unaccountable(f"{call.op}: {x.shape} does not broadcast to {y.shape}")
    return ledger(reads=[("the source", x)], writes=[("the tensor written to", y)])


def cat(call: Call) -> Ledger:
    """aten::cat(tensors, dim): every tensor read once, their concatenation written once."""
    parts = [t for t in arguments.tensors(call, 0) if t.shape != (0,)]
    if not parts or not parts[0].shape:
        raise Unaccountable(f"{call.op}: no tensors to join")
    (dim,) = dims_of(call, len(parts[0].shape), (arguments.integer(call, 1, 0),))
    if any(len(t.shape) != len(parts[0].shape) for t in parts):
        raise Unaccountable(f"{call.op}: the tensors differ in rank")
    shape = list(parts[0].shape)
    shape[dim] = sum(t.shape[dim] for t in parts)
    return _moved(parts, result(call, tuple(shape), parts[0].dtype))


def flattened(call: Call) -> Ledger:
    """aten::flatten_dense_tensors(tensors): every tensor read once, all written in one row."""
    parts = arguments.tensors(call, 0)
    if not parts:
        raise Unaccountable(f"{call.op}: no tensors to join")
    return _moved(list(parts), Tensor((sum(t.numel for t in parts),), parts[0].dtype))


def stack(call: Call) -> Ledger:
    """aten::stack(tensors, dim): every tensor read once, all of them written once."""
    parts = arguments.tensors(call, 0)
    if not parts:
        raise Unaccountable(f"{call.op}: no tensors to join")
    return _moved(list(parts), result(call, (len(parts), *parts[0].shape), parts[0].dtype))


def maybe(call: Call) -> Ledger:
    """aten::to, reshape, contiguous, flatten(x, ...): x itself where that will do, else a copy.

    A recorded output says which it was: it shares x's storage or it does not.  Without one, a
    change of dtype is a copy and a contiguous x is returned as it is.
    """
    x = arguments.tensor(call, 0)
    if call.outputs and None not in (x.storage, call.outputs[0].storage):
        y = call.outputs[0]
        return ledger() if y.storage == x.storage else _moved([x], Tensor(y.shape, y.dtype))
    wanted = {d for i in (1, 2) if isinstance(call.arg(i), str) and (d := dtype_argument(call, i))}
    if call.op == "aten::to" and wanted - {x.dtype}:
        return _moved([x], Tensor(x.shape, wanted.pop()))
    if x.strides is None or _elsewhere(call):
        raise Unaccountable(f"{call.op}: the record does not say whether it copied")
    shape = _reshaped(call, x)
    as_it_is = x.strides == contiguous(x.shape) if shape is None else viewable(x, shape)
    return ledger() if as_it_is else _moved([x], Tensor(x.shape, x.dtype))


def _reshaped(call: Call, x: Tensor) -> tuple[int, ...] | None:
    """The shape asked for, of the operators that ask for one."""
    if call.op in ("aten::flatten", "aten::ravel"):
        rank = len(x.shape)
        ends = (arguments.integer(call, 1, 0), arguments.integer(call, 2, -1))
        first, last = (dims_of(call, rank, (d,))[0] for d in ends)
        return (*x.shape[:first], product(x.shape[first : last + 1]), *x.shape[last + 1 :])
    if call.op == "aten::reshape_as":
        return arguments.tensor(call, 1).shape
    if call.op != "aten::reshape":
        return None
    shape = arguments.integers(call, 1)
    known = product(n for n in shape if n != -1)
    return tuple(x.numel // max(1, known) if n == -1 else n for n in shape)


def repeat(call: Call) -> Ledger:
    """aten::repeat(x, times), repeat_interleave(x, times, dim): x read once, all written."""
    x = arguments.tensor(call, 0)
    if call.outputs:
        return _moved([x], Tensor(call.outputs[0].shape, x.dtype))
    times = arguments.integers(call, 1)
    if call.op == "aten::repeat_interleave" and len(times) != 1:
        raise Unaccountable(f"{call.op}: the repeats are data")
    return _moved([x], Tensor((x.numel * product(times),), x.dtype))


def joined(call: Call) -> Ledger:
    """aten::block_diag(matrices): every block read, and zeros written around them."""
    parts = arguments.tensors(call, 0)
    if not parts or any(len(t.shape) > 2 for t in parts):
        raise Unaccountable(f"{call.op}: blocks that are not matrices")
    rows = sum(t.shape[0] if len(t.shape) == 2 else 1 for t in parts)
    cols = sum(t.shape[-1] if t.shape else 1 for t in parts)
    return _moved(list(parts), result(call, (rows, cols), parts[0].dtype))


def jagged(call: Call) -> Ledger:
    """aten::_jagged_to_padded_dense_forward(x[T,D], offsets, longest, padding), and back again.

    To the padded [N,longest,D] all is written; from it only the rows there are, which `total_L`
    says, are read.
    """
    x, offsets = arguments.tensor(call, 0), arguments.tensors(call, 1)
    places = [("offsets", t) for t in offsets]
    if call.op == "aten::_jagged_to_padded_dense_forward":
        if len(offsets) != 1 or not x.shape:
            raise Unaccountable(f"{call.op}: only one jagged dimension is counted")
        shape = (offsets[0].numel - 1, *arguments.integers(call, 2), *x.shape[1:])
        return ledger(
            reads=[("the rows", x), *places], writes=[("the result", Tensor(shape, x.dtype))]
        )
    if len(x.shape) < 2:
        raise Unaccountable(f"{call.op}: a padded tensor of shape {x.shape}")
    rows = Tensor((arguments.integer(call, 2), *x.shape[2:]), x.dtype)
    return ledger(reads=[("the rows", rows), *places], writes=[("the result", rows)])


def triangle(call: Call) -> Ledger:
    """aten::tril, triu(x[...,m,n], offset): the triangle read, all written (in place: zeros)."""
    x, offset = arguments.tensor(call, 0), arguments.integer(call, 1, 0)
    if len(x.shape) < 2:
        raise Unaccountable(f"{call.op}: a matrix of shape {x.shape}")
    rows, cols = x.shape[-2:]
    lower = call.op.startswith("aten::tril")
    kept = below(rows, cols, offset) if lower else rows * cols - below(rows, cols, offset - 1)
    batch = product(x.shape[:-2])
    if call.op.endswith("_"):
        return ledger(writes=[("zeros", Tensor((batch * (rows * cols - kept),), x.dtype))])
    return _moved([Tensor((batch * kept,), x.dtype)], Tensor(x.shape, x.dtype))


def diagonal(call: Call) -> Ledger:
    """aten::diagonal_copy(x, offset, dim1, dim2), diag_embed: a diagonal, or one among zeros."""
    x, offset = arguments.tensor(call, 0), arguments.integer(call, 1, 0)
    if call.op == "aten::diag_embed":
        side = (x.shape[-1] if x.shape else 1) + abs(offset)
        return _moved([x], Tensor((*x.shape[:-1], side, side), x.dtype))
    if len(x.shape) < 2:
        raise Unaccountable(f"{call.op}: a matrix of shape {x.shape}")
    pair = (arguments.integer(call, 2, 0), arguments.integer(call, 3, 1))
    a, b = (x.shape[dims_of(call, len(x.shape), (d,))[0]] for d in pair)
    length = max(0, min(a, b - offset) if offset >= 0 else min(a + offset, b))
    picked = Tensor((x.numel // max(1, a * b) * length,), x.dtype)
    return _moved([picked], picked)


def padded_sequence(call: Call) -> Ledger:
    """aten::_pack_padded_sequence(x, lengths, batch_first), its backward, _pad_packed_sequence.

    How many rows are padding is data, so the result must be recorded.
    """
    x = arguments.tensor(call, 0)
    if call.outputs:
        return _moved([x], Tensor(call.outputs[0].shape, x.dtype))
    raise Unaccountable(f"{call.op}: how much is padding is data, and the result is not recorded")


def packed_weights(call: Call) -> Ledger:
    """aten::_convert_weight_to_int4pack(W, tiles), _for_cpu: weights repacked, 4 bits each."""
    w = arguments.tensor(call, 0, 2)
    count = w.numel * (2 if w.dtype == "uint8" else 1)
    return _moved([w], Tensor((-(-count // 2),), "uint8"))


def _elsewhere(call: Call) -> bool:
    """Whether a device is named: the tensor may have moved there."""
    return any(isinstance(a, str) and a.split(":")[0] in _DEVICES for a in call.args)


_DEVICES = ("cpu", "cuda", "mps", "xpu", "meta")


def narrowed(call: Call) -> Ledger:
    """aten::narrow_copy(x, dim, start, length): the part read and written."""
    x = arguments.tensor(call, 0)
    (dim,) = dims_of(call, len(x.shape), (arguments.integer(call, 1),))
    shape = list(x.shape)
    shape[dim] = arguments.integer(call, 3)
    part = Tensor(tuple(shape), x.dtype, x.strides, x.storage)
    return _moved([part], Tensor(tuple(shape), x.dtype))


def _moved(sources: list[Tensor], y: Tensor) -> Ledger:
    names = ["the source"] if len(sources) == 1 else [f"part {i + 1}" for i in range(len(sources))]
    return ledger(reads=list(zip(names, sources, strict=True)), writes=[("the result", y)])


RULES = (
    *named(
        clone,
        "clone",
        "flip",
        "roll",
        "rot90",
        "pixel_shuffle",
        "pixel_unshuffle",
        "channel_shuffle",
        "native_channel_shuffle",
        "view_copy",
        "_reshape_copy",
        "permute_copy",
        "transpose_copy",
        "t_copy",
        "detach_copy",
        "alias_copy",
        "lift_fresh_copy",
        "squeeze_copy",
        "unsqueeze_copy",
        "_conj_physical",
        "conj_physical",
    ),
    *named(
        reordered,
        "to_mkldnn",
        "_mkldnn_transpose",
        "mkldnn_reorder_conv2d_weight",
        "mkldnn_reorder_conv3d_weight",
    ),
    *named(perhaps_reordered, "_mkldnn_reshape"),
    *named(narrowed, "narrow_copy"),
    *named(joined, "block_diag"),
    *named(jagged, "_jagged_to_padded_dense_forward", "_padded_dense_to_jagged_forward"),
    *named(triangle, "tril", "triu", "tril_", "triu_"),
    *named(diagonal, "diagonal_copy", "diag_embed"),
    *named(
        padded_sequence,
        "_pack_padded_sequence",
        "_pack_padded_sequence_backward",
        "_pad_packed_sequence",
    ),
    *named(packed_weights, "_convert_weight_to_int4pack", "_convert_weight_to_int4pack_for_cpu"),
    *named(
        maybe,
        "to",
        "reshape",
        "reshape_as",
        "contiguous",
        "flatten",
        "ravel",
        "resolve_conj",
        "resolve_neg",
    ),
    *named(repeat, "repeat", "repeat_interleave", "tile"),
    *named(to_copy, "_to_copy"),
    *named(copy_into, "copy_", "copy", "set_data"),
    *named(cat, "cat", "concat"),
    *named(flattened, "flatten_dense_tensors"),
    *named(stack, "stack"),
)
FORMULAS = (copy,)
