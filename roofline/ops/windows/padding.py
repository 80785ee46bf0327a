"""Padding, and gradients of slices: a tensor put inside a larger one."""

from functools import partial

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.lines import ledger
from roofline.ops.rule import Rule, Unaccountable, named
from roofline.work import Entry, Ledger


def pad(call: Call) -> Ledger:
    """aten::constant_pad_nd(x, pads, value), reflection_pad2d(x, pads), ...: a copy with a border.

    Negative pads cut away; what they cut is not read.
    """
    x, pads = arguments.tensor(call, 0), arguments.integers(call, 1)
    if len(pads) % 2 or len(pads) > 2 * len(x.shape):
        raise Unaccountable(f"{call.op}: pads {pads} for a shape {x.shape}")
    kept, out = list(x.shape), list(x.shape)
    for i in range(len(pads) // 2):
        before, after = pads[2 * i], pads[2 * i + 1]
        kept[-1 - i] = max(0, kept[-1 - i] + min(0, before) + min(0, after))
        out[-1 - i] = max(0, out[-1 - i] + before + after)
    source = x if kept == list(x.shape) else Tensor(tuple(kept), x.dtype)
    return ledger(
        reads=[("the input", source)], writes=[("the result", Tensor(tuple(out), x.dtype))]
    )


def pad_backward(call: Call) -> Ledger:
    """aten::reflection_pad2d_backward(g, x, pads), replication_pad: g added back."""
    g, x = arguments.tensor(call, 0), arguments.tensor(call, 1)
    return ledger(
        [Entry(vector_pipe(g.dtype), g.numel, "add a gradient to its place")],
        reads=[("grad", g)],
        writes=[("dx", Tensor(x.shape, x.dtype))],
    )


def into_zeros(adds: bool, call: Call) -> Ledger:
    """aten::slice_backward, select_backward, unfold_backward(g, sizes, ...): g among zeros.

    Windows of unfold overlap, so their gradients are added: one add an element.
    """
    g, sizes = arguments.tensor(call, 0), arguments.integers(call, 1)
    return ledger(
        [Entry(vector_pipe(g.dtype), g.numel * adds, "add a gradient to its place")],
        reads=[("grad", g)],
        writes=[("the result", Tensor(sizes, g.dtype))],
    )


def replaced(call: Call) -> Ledger:
    """aten::slice_scatter, select_scatter(x, source, ...): a copy of x with a part replaced."""
    x, source = arguments.tensor(call, 0), arguments.tensor(call, 1)
    return ledger(
        reads=[("the tensor", x), ("the part", source)],
        writes=[("the result", Tensor(x.shape, x.dtype))],
    )


RULES = (
    *named(pad, "constant_pad_nd", "pad", "_pad_circular",
           *(f"{mode}_pad{n}d" for mode in ("reflection", "replication") for n in (1, 2, 3))),
    *named(pad_backward, *(f"{mode}_pad{n}d_backward"
                           for mode in ("reflection", "replication") for n in (1, 2, 3))),
    *(Rule(f"aten::{name}", partial(into_zeros, False))
      for name in ("slice_backward", "select_backward", "diagonal_backward")),
    Rule("aten::unfold_backward", partial(into_zeros, True)),
    *named(replaced, "slice_scatter", "select_scatter", "diagonal_scatter"),
)  # fmt: skip
