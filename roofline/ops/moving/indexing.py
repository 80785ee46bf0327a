"""Reading and writing elements and rows that an index picks.

Which rows are hit is data, so gathered and scattered bytes are labelled bounded: from one row
(every hit the same) to a row a hit, and never more than the table.
"""

from dataclasses import replace
from functools import partial

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import nbytes, vector_pipe
from roofline.ops.lines import ROWS_ARE_COUNTED, Operands, Rows, ledger, result
from roofline.ops.rule import Rule, Unaccountable, named
from roofline.ops.shapes import broadcast, dims_of, product
from roofline.work import Entry, Ledger

SELECTED = "how many elements a mask selects is data: from none to all of them"


def index(call: Call) -> Ledger:
    """aten::index(x, indices): x[i, j, :]; None stands for a whole dimension.

    arithmetic   0
    read         the indices; a run of the dimensions that no index picks, once a hit
    write        the result
    """
    x = arguments.tensor(call, 0)
    picked, indices = _picked(call, x)
    if not picked.least:
        result_rows = replace(picked, what="the result")
        return ledger(reads=indices, gathered=[picked], scattered=[result_rows],
                      conventions=(SELECTED,))  # fmt: skip
    return ledger(
        reads=indices,
        gathered=[picked],
        writes=[("the result", Tensor((picked.hits * picked.row_nbytes,), "uint8"))],
        conventions=(ROWS_ARE_COUNTED,),
    )


def index_put(call: Call) -> Ledger:
    """aten::index_put(x, indices, values, accumulate), index_put_: x[i, j] = values, or +=.

    arithmetic   accumulating: one add an element put
    read         the indices, the values; in place and accumulating, the rows hit; else all of x
    write        in place, the rows hit; else a copy of x
    """
    x, values = arguments.tensor(call, 0), arguments.tensor(call, 2)
    rows, indices = _picked(call, x)
    adds = arguments.flag(call, 3)
    flop = rows.hits * rows.row_nbytes // max(1, nbytes(1, x.dtype)) if adds else 0
    return _written(call, x, rows, adds, flop, [*indices, ("the values", values)])


def index_dim(flop: int, call: Call) -> Ledger:
    """aten::index_add, index_copy, index_reduce(x, dim, I, source, ...): slices of x along `dim`.

    arithmetic   index_add: one add an element of source, and a multiply where alpha is not 1
    """
    x, indices, source = (arguments.tensor(call, i) for i in (0, 2, 3))
    rows = _slices(call, x, indices)
    each = flop + (flop and "index_add" in call.op and arguments.number(call, 4, 1) != 1)
    return _written(call, x, rows, bool(flop), each * source.numel,
                    [("the indices", indices), ("the source", source)])  # fmt: skip


def index_fill(call: Call) -> Ledger:
    """aten::index_fill(x, dim, I, value): slices of x along `dim` set to one value."""
    x, indices = arguments.tensor(call, 0), arguments.tensor(call, 2)
    return _written(call, x, _slices(call, x, indices), False, 0, [("the indices", indices)])


def scatter(flop: int, call: Call) -> Ledger:
    """aten::scatter(x, dim, I, source or value), scatter_add, scatter_reduce: an element an index.

    arithmetic   one combining step an index, where it combines
    """
    x, indices = arguments.tensor(call, 0), arguments.tensor(call, 2)
    source = arguments.optional(call, 3)
    combines = flop or isinstance(call.arg(4), str)
    rows = Rows("the elements hit", indices.numel, nbytes(1, x.dtype), x.numel)
    # Only as many elements of the source are read as there are indices.
    used = [("the source", Tensor(indices.shape, source.dtype))] if source and source.shape else []
    return _written(call, x, rows, bool(combines), indices.numel * bool(combines),
                    [("the indices", indices), *used])  # fmt: skip


def take(call: Call) -> Ledger:
    """aten::take(x, I), take_along_dim(x, I, dim): one element of x an index."""
    x, indices = arguments.tensor(call, 0), arguments.tensor(call, 1)
    return ledger(
        reads=[("the indices", indices)],
        gathered=[Rows("the elements picked", indices.numel, nbytes(1, x.dtype), x.numel)],
        writes=[("the result", result(call, indices.shape, x.dtype))],
        conventions=(ROWS_ARE_COUNTED,),
    )


def put(call: Call) -> Ledger:
    """aten::put_(x, I, source, accumulate): one element of x an index."""
    x, indices, source = (arguments.tensor(call, i) for i in range(3))
    adds = arguments.flag(call, 3)
    rows = Rows("the elements hit", indices.numel, nbytes(1, x.dtype), x.numel)
    return _written(call, x, rows, adds, indices.numel * adds,
                    [("the indices", indices), ("the source", source)])  # fmt: skip


def masked_select(call: Call) -> Ledger:
    """aten::masked_select(x, mask): the elements where the mask is true, in a row."""
    x, mask = arguments.tensor(call, 0), arguments.tensor(call, 1)
    n = product(broadcast(call, (x.shape, mask.shape)))
    return ledger(
        reads=[("the mask", mask)],
        gathered=[_selected("the elements selected", n, x)],
        scattered=[_selected("the result", n, x)],
        conventions=(SELECTED,),
    )


def masked_scatter(call: Call) -> Ledger:
    """aten::masked_scatter(x, mask, source), masked_scatter_: the next of source."""
    x, mask, source = (arguments.tensor(call, i) for i in range(3))
    rows = _selected("the elements selected", x.numel, x)
    if call.op.endswith("_"):
        return ledger(
            reads=[("the mask", mask)],
            gathered=[_selected("the source", min(x.numel, source.numel), x)],
            scattered=[rows],
            conventions=(SELECTED,),
        )
    return ledger(
        reads=[("the tensor", x), ("the mask", mask)],
        gathered=[_selected("the source", min(x.numel, source.numel), x)],
        writes=[("the result", Tensor(x.shape, x.dtype))],
        conventions=(SELECTED,),
    )


def masked_scatter_backward(call: Call) -> Ledger:
    """aten::masked_scatter_backward(G, mask, sizes): the selected of G, then zeros."""
    g, mask = arguments.tensor(call, 0), arguments.tensor(call, 1)
    return ledger(
        reads=[("the mask", mask)],
        gathered=[_selected("the selected of G", g.numel, g)],
        writes=[("the result", Tensor(arguments.integers(call, 2), g.dtype))],
        conventions=(SELECTED,),
    )


def nonzero(call: Call) -> Ledger:
    """aten::nonzero(x), argwhere: the places of nonzero elements, an int64 a dimension each.

    arithmetic   one comparison an element
    """
    x = arguments.tensor(call, 0)
    place = nbytes(max(1, len(x.shape)), "int64")
    return ledger(
        [Entry(vector_pipe(x.dtype), x.numel, "compare with zero, once an element")],
        reads=[("the input", x)],
        scattered=[_selected("the places", x.numel, x, place)],
        conventions=(SELECTED,),
    )


def _selected(what: str, n: int, x: Tensor, row: int | None = None) -> Rows:
    return Rows(what, n, nbytes(1, x.dtype) if row is None else row, n, least=0)


def _written(
    call: Call, x: Tensor, rows: Rows, reads_rows: bool, flop: int, reads: Operands
) -> Ledger:
    arithmetic = [Entry(vector_pipe(x.dtype), flop, "combine, once an element put")]
    words = (ROWS_ARE_COUNTED,)
    if not call.op.endswith("_"):
        result_of = [("the result", Tensor(x.shape, x.dtype))]
        return ledger(arithmetic, reads=[("the tensor", x), *reads], writes=result_of,
                      conventions=words)  # fmt: skip
    if reads_rows:
        return ledger(arithmetic, reads=reads, rows_updated=[rows], conventions=words)
    return ledger(arithmetic, reads=reads, scattered=[rows], conventions=words)


def _slices(call: Call, x: Tensor, indices: Tensor) -> Rows:
    (dim,) = dims_of(call, len(x.shape), (arguments.integer(call, 1),))
    size = x.shape[dim] if x.shape else 1
    row = nbytes(x.numel // max(1, size), x.dtype)
    return Rows("the slices hit", indices.numel, row, size)


def _picked(call: Call, x: Tensor) -> tuple[Rows, Operands]:
    """The rows that a list of index tensors picks, and the index tensors as operands."""
    given = call.arg(1)
    if not isinstance(given, tuple) or not any(isinstance(t, Tensor) for t in given):
        raise Unaccountable(f"{call.op}: argument 1 should be a list with a tensor in it")
    sizes = list(x.shape)
    kept: list[int] = []
    shapes, selected = [], 1
    for t in given:
        if not isinstance(t, Tensor):
            kept += sizes[:1]
            sizes = sizes[1:]
        elif t.dtype in ("bool", "uint8"):
            selected *= t.numel
            sizes = sizes[len(t.shape) :]
        else:
            shapes.append(t.shape)
            sizes = sizes[1:]
    hits = product(broadcast(call, shapes)) if shapes else selected
    run = product(kept) * product(sizes)
    indices = [("an index", t) for t in given if isinstance(t, Tensor)]
    row = nbytes(run, x.dtype)
    masked = selected != 1 or not shapes
    return Rows("the rows picked", hits, row, x.numel // max(1, run), 0 if masked else 1), indices


RULES = (
    *named(index, "index", "_unsafe_index"),
    *named(index_put, "index_put", "index_put_", "_unsafe_index_put", "_index_put_impl_"),
    *(Rule(f"aten::{name}", partial(index_dim, flop))
      for name, flop in (("index_add", 1), ("index_add_", 1), ("index_copy", 0),
                         ("index_copy_", 0), ("index_reduce", 1), ("index_reduce_", 1))),
    *named(index_fill, "index_fill", "index_fill_"),
    *(Rule(f"aten::{name}", partial(scatter, flop))
      for name, flop in (("scatter", 0), ("scatter_", 0), ("scatter_add", 1), ("scatter_add_", 1),
                         ("scatter_reduce", 1), ("scatter_reduce_", 1))),
    *named(take, "take", "take_along_dim"),
    *named(put, "put_", "put"),
    *named(masked_select, "masked_select"),
    *named(masked_scatter, "masked_scatter", "masked_scatter_"),
    *named(masked_scatter_backward, "masked_scatter_backward"),
    *named(nonzero, "nonzero", "argwhere"),
)  # fmt: skip
