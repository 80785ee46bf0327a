"""Rows picked from a table by an index, and gradients added to the rows they came from."""

from roofline.call import Call, Tensor
from roofline.errors import BadInput
from roofline.ops import arguments
from roofline.ops.dtype import nbytes, vector_pipe
from roofline.ops.lines import ROWS_ARE_COUNTED, Rows, ledger, result
from roofline.ops.rule import Unaccountable, named
from roofline.ops.shapes import dims_of, product
from roofline.work import Entry, Ledger


def embedding(
    indices: int, dim: int, rows: int, dtype: str = "fp32", index_dtype: str = "int64"
) -> Ledger:
    """Y[N,D] = W[I[N]], with N = `indices` rows picked from the W[`rows`,D] table.

    arithmetic   0
    read         N * 8            B   the indices
                 min(N,rows)*D*s  B   the rows hit: once per hit, at most the table once
    write        N*D*s            B   Y
    """
    if wrong := [x for x in (indices, dim, rows) if x < 1]:
        raise BadInput(f"embedding needs indices, dim and rows of at least 1; got {wrong[0]}")
    table, index = Tensor((rows, dim), dtype), Tensor((indices,), index_dtype)
    return _picked(table, index, 0, Tensor((indices, dim), dtype))


def embedding_call(call: Call) -> Ledger:
    """aten::embedding(W[rows,D], I, padding_idx, ...)."""
    w, index = arguments.tensor(call, 0, 2), arguments.tensor(call, 1)
    return _picked(w, index, 0, Tensor((*index.shape, w.shape[1]), w.dtype))


def embedding_dense_backward(call: Call) -> Ledger:
    """aten::embedding_dense_backward(G[...,D], I, num_weights, padding_idx, scale): dW[rows,D].

    arithmetic   |G|   one add an element; reads G and I, writes all of dW once
    """
    g, index, rows = (
        arguments.tensor(call, 0),
        arguments.tensor(call, 1),
        arguments.integer(call, 2),
    )
    if not g.shape:
        raise Unaccountable(f"{call.op}: the gradient has no dimensions")
    return ledger(
        [Entry(vector_pipe(g.dtype), g.numel, "add a gradient to its row")],
        reads=[("the gradient", g), ("the indices", index)],
        writes=[("the table's gradient", Tensor((rows, g.shape[-1]), g.dtype))],
    )


def index_select(call: Call) -> Ledger:
    """aten::index_select(x, dim, I): slices of x along `dim`."""
    x, index = arguments.tensor(call, 0), arguments.tensor(call, 2)
    (dim,) = dims_of(call, len(x.shape), (arguments.integer(call, 1),))
    shape = tuple(index.numel if i == dim else n for i, n in enumerate(x.shape))
    return _picked(x, index, dim, Tensor(shape, x.dtype))


def gather(call: Call) -> Ledger:
    """aten::gather(x, dim, I): one element of x an index."""
    x, index = arguments.tensor(call, 0), arguments.tensor(call, 2)
    size = nbytes(1, x.dtype)
    return ledger(
        reads=[("the indices", index)],
        gathered=[Rows("the elements picked", index.numel, size, x.numel)],
        writes=[("the result", result(call, index.shape, x.dtype))],
        conventions=(ROWS_ARE_COUNTED,),
    )


def _picked(table: Tensor, index: Tensor, dim: int, y: Tensor) -> Ledger:
    row = nbytes(product(table.shape[:dim]) * product(table.shape[dim + 1 :]), table.dtype)
    return ledger(
        reads=[("the indices", index)],
        gathered=[
            Rows("the rows picked", index.numel, row, table.shape[dim] if table.shape else 1)
        ],
        writes=[("the result", y)],
        conventions=(ROWS_ARE_COUNTED,),
    )


RULES = (
    *named(embedding_call, "embedding"),
    *named(embedding_dense_backward, "embedding_dense_backward"),
    *named(index_select, "index_select"),
    *named(gather, "gather"),
)
FORMULAS = (embedding,)
