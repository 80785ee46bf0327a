"""Embedding bags: rows of a table summed (or averaged, or maximised) by bag."""

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import nbytes, vector_pipe
from roofline.ops.lines import ROWS_ARE_COUNTED, Rows, ledger
from roofline.ops.rule import named
from roofline.work import Entry, Ledger

BOOKS = "which bag an index belongs to, and the size of each bag, are left out"
MEAN = 1  # 0 is sum, 2 is max


def embedding_bag(call: Call) -> Ledger:
    """aten::_embedding_bag(W[rows,D], I, offsets, scale, mode, sparse, weights, last offset, ...).

    arithmetic   an add (or a comparison) an element picked, a multiply more with weights per index;
                 a divide an output for the mean
    read         indices, offsets, weights, and the rows hit: bounded
    write        [bags,D]
    """
    w, index, offsets = (
        arguments.tensor(call, 0, 2),
        arguments.tensor(call, 1),
        arguments.tensor(call, 2),
    )
    weights, dim = arguments.optional(call, 6), w.shape[1]
    bags = offsets.numel - arguments.flag(call, 7)
    each = 1 + (weights is not None)
    mean = arguments.integer(call, 4, 0) == MEAN
    return ledger(
        [
            Entry(vector_pipe(w.dtype), each * index.numel * dim, f"{each} an element picked"),
            Entry(vector_pipe(w.dtype), bags * dim * mean, "divide, once per output"),
        ],
        reads=[("the indices", index), ("the offsets", offsets),
               *([("the weights", weights)] if weights else [])],
        gathered=[Rows("the rows picked", index.numel, nbytes(dim, w.dtype), w.shape[0])],
        writes=[("the bags", Tensor((max(0, bags), dim), w.dtype))],
        conventions=(ROWS_ARE_COUNTED, BOOKS),
    )  # fmt: skip


def embedding_bag_backward(call: Call) -> Ledger:
    """aten::_embedding_bag_backward(G[bags,D], I, offsets, bags, sizes, max, rows, ..).

    arithmetic   an add an element picked; with the mean a divide an element of G
    write        all of dW, or with sparse gradients one row an index
    """
    g, index, owner = (
        arguments.tensor(call, 0, 2),
        arguments.tensor(call, 1),
        arguments.tensor(call, 3),
    )
    mean = arguments.integer(call, 8, 0) == MEAN
    return _to_table(g, index, owner, arguments.integer(call, 6), mean, arguments.flag(call, 9))


def _to_table(
    g: Tensor, index: Tensor, owner: Tensor, rows: int, mean: bool, sparse: bool
) -> Ledger:
    dim = g.shape[1]
    written = Tensor((index.numel if sparse else rows, dim), g.dtype)
    return ledger(
        [
            Entry(vector_pipe(g.dtype), 0 if sparse else index.numel * dim, "add to a row"),
            Entry(vector_pipe(g.dtype), g.numel * mean, "divide by the bag's size"),
        ],
        reads=[("the gradient", g), ("the indices", index), ("their bags", owner)],
        writes=[("the table's gradient", written)],
    )


def dense_backward(call: Call) -> Ledger:
    """aten::_embedding_bag_dense_backward(G[bags,D], I, bags of I, sizes, max, rows, ..): dW."""
    g, index, owner = (
        arguments.tensor(call, 0, 2),
        arguments.tensor(call, 1),
        arguments.tensor(call, 2),
    )
    mean = arguments.integer(call, 7, 0) == MEAN
    return _to_table(g, index, owner, arguments.integer(call, 5), mean, False)


def weights_backward(call: Call) -> Ledger:
    """aten::_embedding_bag_per_sample_weights_backward(G, W, I, offsets, bags of I, mode, ..).

    arithmetic   a multiply and an add an element picked: the row's product with its bag's gradient
    """
    g, w = arguments.tensor(call, 0, 2), arguments.tensor(call, 1, 2)
    index, owner = arguments.tensor(call, 2), arguments.tensor(call, 4)
    dim = w.shape[1]
    return ledger(
        [Entry(vector_pipe(w.dtype), 2 * index.numel * dim, "multiply-add an element picked")],
        reads=[("the gradient", g), ("the indices", index), ("their bags", owner)],
        gathered=[Rows("the rows picked", index.numel, nbytes(dim, w.dtype), w.shape[0])],
        writes=[("the weights' gradient", Tensor(index.shape, g.dtype))],
        conventions=(ROWS_ARE_COUNTED,),
    )


def renorm(call: Call) -> Ledger:
    """aten::embedding_renorm_(W[rows,D], I, max_norm, p): rows that are too long scaled.

    arithmetic   square and add, an element picked; comparing and scaling, another: 3
    """
    w, index = arguments.tensor(call, 0, 2), arguments.tensor(call, 1)
    dim = w.shape[1]
    picked = Rows("the rows picked", index.numel, nbytes(dim, w.dtype), w.shape[0])
    return ledger(
        [Entry(vector_pipe(w.dtype), 3 * index.numel * dim, "square, add, scale")],
        reads=[("the indices", index)],
        rows_updated=[picked],
        conventions=(ROWS_ARE_COUNTED,),
    )


RULES = (
    *named(embedding_bag, "_embedding_bag", "_embedding_bag_forward_only"),
    *named(embedding_bag_backward, "_embedding_bag_backward"),
    *named(dense_backward, "_embedding_bag_dense_backward"),
    *named(weights_backward, "_embedding_bag_per_sample_weights_backward"),
    *named(renorm, "embedding_renorm_"),
)
