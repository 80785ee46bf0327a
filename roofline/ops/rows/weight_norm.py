"""Weight normalisation: a direction and a length instead of a weight."""

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.lines import ledger
from roofline.ops.rule import named
from roofline.work import Entry, Ledger


def forward(call: Call) -> Ledger:
    """aten::_weight_norm_interface(v, g, dim): w = v * g / |v|: 3 an element."""
    v, g = arguments.tensor(call, 0), arguments.tensor(call, 1)
    return ledger(
        [Entry(vector_pipe(v.dtype), 3 * v.numel, "square, add, scale: 3 an element")],
        reads=[("v", v), ("g", g)],
        writes=[("w", Tensor(v.shape, v.dtype)), ("norms", Tensor(g.shape, g.dtype))],
    )


def backward(call: Call) -> Ledger:
    """aten::_weight_norm_interface_backward(dw, v, g, norms, dim): dv and dg.

    arithmetic   sum of dw*v 2; dv = dw * a - v * b 3: 5 an element
    """
    dw, v, g, norms = (arguments.tensor(call, i) for i in range(4))
    return ledger(
        [Entry(vector_pipe(v.dtype), 5 * v.numel, "gradients: 5 an element")],
        reads=[("dw", dw), ("v", v), ("g", g), ("norms", norms)],
        writes=[("dv", Tensor(v.shape, v.dtype)), ("dg", Tensor(g.shape, g.dtype))],
    )


RULES = (
    *named(forward, "_weight_norm_interface"),
    *named(backward, "_weight_norm_interface_backward"),
)
