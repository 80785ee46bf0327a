"""Distances between points, cross products, and rows limited in length."""

from functools import partial

from roofline.call import Call, Tensor
from roofline.device import SFU
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.lines import ledger, result
from roofline.ops.rule import Rule, Unaccountable, named
from roofline.ops.shapes import broadcast, product
from roofline.work import Entry, Ledger

BY_DEFINITION = "distances by definition, 3 flop a coordinate, though a matrix product may do it"


def cdist(call: Call) -> Ledger:
    """aten::_cdist_forward(X[...,P,D], Y[...,R,D], p): 3 a coordinate of a pair.

    p = 2: subtract, multiply, add, and a root a pair; 1 and inf: no root; another p: a power a
    coordinate and a root a pair
    """
    x, y = arguments.tensor(call, 0), arguments.tensor(call, 1)
    pairs, dim, shape = _pairs(call, x, y)
    p = arguments.number(call, 2, 2)
    sfu = pairs if p == 2 else 0 if call.arg(2) in (0, 1, "inf") else pairs * (dim + 1)
    return ledger(
        [Entry(vector_pipe(x.dtype), 3 * pairs * dim, "3 a coordinate of a pair"),
         Entry(SFU, sfu, "powers and roots")],
        reads=[("X", x), ("Y", y)],
        writes=[("distances", result(call, shape, x.dtype))],
        conventions=(BY_DEFINITION,),
    )  # fmt: skip


def cdist_backward(call: Call) -> Ledger:
    """aten::_cdist_backward(G, X, Y, p, distances): dX alone, 4 a coordinate."""
    g, x, y, d = (arguments.tensor(call, i) for i in (0, 1, 2, 4))
    pairs, dim, _ = _pairs(call, x, y)
    return ledger(
        [Entry(vector_pipe(x.dtype), 4 * pairs * dim, "4 a coordinate of a pair")],
        reads=[("grad", g), ("X", x), ("Y", y), ("distances", d)],
        writes=[("dX", Tensor(x.shape, x.dtype))],
        conventions=(BY_DEFINITION,),
    )


def pdist(backward: bool, call: Call) -> Ledger:
    """aten::_pdist_forward(X[P,D], p): P(P-1)/2 pairs; _backward(G, X, p, distances)."""
    x = arguments.tensor(call, 1 if backward else 0, 2)
    points, dim = x.shape
    pairs = points * (points - 1) // 2
    if backward:
        reads = [("grad", arguments.tensor(call, 0)), ("X", x), ("d", arguments.tensor(call, 3))]
        return ledger([Entry(vector_pipe(x.dtype), 5 * pairs * dim, "5 a coordinate of a pair")],
                      reads=reads, writes=[("dX", Tensor(x.shape, x.dtype))])  # fmt: skip
    return ledger(
        [Entry(vector_pipe(x.dtype), 3 * pairs * dim, "3 a coordinate of a pair"),
         Entry(SFU, pairs, "root of a pair")],
        reads=[("X", x)],
        writes=[("distances", Tensor((pairs,), x.dtype))],
        conventions=(BY_DEFINITION,),
    )  # fmt: skip


def cross(call: Call) -> Ledger:
    """aten::linalg_cross(x, y, dim): two multiplies and a subtract an output."""
    x, y = arguments.tensor(call, 0), arguments.tensor(call, 1)
    out = result(call, broadcast(call, (x.shape, y.shape)), x.dtype)
    return ledger(
        [Entry(vector_pipe(x.dtype), 3 * out.numel, "3 an output")],
        reads=[("x", x), ("y", y)],
        writes=[("the result", out)],
    )


def renorm(call: Call) -> Ledger:
    """aten::renorm(x, p, dim, maxnorm): square and add, then scale: 3 an element."""
    x = arguments.tensor(call, 0)
    return ledger(
        [Entry(vector_pipe(x.dtype), 3 * x.numel, "square, add, scale: 3 an element")],
        reads=[("x", x)],
        writes=[("the result", Tensor(x.shape, x.dtype))],
    )


def _pairs(call: Call, x: Tensor, y: Tensor) -> tuple[int, int, tuple[int, ...]]:
    if len(x.shape) < 2 or len(y.shape) < 2 or x.shape[-1] != y.shape[-1]:
        raise Unaccountable(f"{call.op}: points of shapes {x.shape} and {y.shape}")
    batch = broadcast(call, (x.shape[:-2], y.shape[:-2]))
    shape = (*batch, x.shape[-2], y.shape[-2])
    return product(shape), x.shape[-1], shape


RULES = (
    *named(cdist, "_cdist_forward"),
    *named(cdist_backward, "_cdist_backward"),
    Rule("aten::_pdist_forward", partial(pdist, False)),
    Rule("aten::_pdist_backward", partial(pdist, True)),
    *named(cross, "linalg_cross"),
    *named(renorm, "renorm"),
)
