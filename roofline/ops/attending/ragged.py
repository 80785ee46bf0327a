"""What only nested tensors are given to: the backward of their products, questions about masks."""

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import matmul_pipe, vector_pipe
from roofline.ops.lines import ledger
from roofline.ops.products.matmul import FMA
from roofline.ops.rule import Unaccountable, named
from roofline.work import Entry, Ledger


def matmul_backward(call: Call) -> Ledger:
    """aten::matmul_backward(G[...,M,N], A[...,M,K], B[...,K,N], mask): dA = G B^T, dB = A^T G.

    arithmetic   2*M*N*K a product, in all batches
    """
    g, a, b = (arguments.tensor(call, i) for i in range(3))
    da, db = arguments.flags(call, 3, 2)
    if not a.shape or not g.shape:
        raise Unaccountable(f"{call.op}: shapes {g.shape} and {a.shape} have no product")
    each = 2 * g.numel * a.shape[-1]
    pipe = matmul_pipe(a.dtype, call.math)
    return ledger(
        [Entry(pipe, each * da, "multiply-add: dA = G B^T"),
         Entry(pipe, each * db, "multiply-add: dB = A^T G")],
        reads=[("G", g), *([("A", a)] if db else []), *([("B", b)] if da else [])],
        writes=[*([("dA", Tensor(a.shape, a.dtype))] if da else []),
                *([("dB", Tensor(b.shape, b.dtype))] if db else [])],
        conventions=(FMA,),
    )  # fmt: skip


def left_aligned(call: Call) -> Ledger:
    """aten::_nested_tensor_from_mask_left_aligned(x, mask): is each row true, then false?

    arithmetic   a sum and a comparison an element of the mask
    """
    mask = arguments.tensor(call, 1)
    return ledger(
        [Entry(vector_pipe("int64"), 2 * mask.numel, "sum and compare, an element of the mask")],
        reads=[("the mask", mask)],
    )


RULES = (
    *named(matmul_backward, "matmul_backward"),
    *named(left_aligned, "_nested_tensor_from_mask_left_aligned"),
)
