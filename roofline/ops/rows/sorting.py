"""Sorting, selecting and searching.

How many comparisons a sort takes depends on its algorithm, and a radix sort takes none: the count
of comparisons is labelled an estimate, the bytes are exact.
"""

from functools import partial
from math import ceil, log2

from roofline.call import Call, Tensor
from roofline.device import VECTOR_INT32
from roofline.ops import arguments
from roofline.ops.dtype import nbytes, vector_pipe
from roofline.ops.lines import Rows, ledger
from roofline.ops.rule import Rule, Unaccountable, named
from roofline.ops.shapes import dims_of, reduced
from roofline.work import Entry, Exactness, Ledger

SORTING = "a sort of n is n * ceil(log2 n) comparisons, choosing the k best of n is n: an estimate"
SEARCH = "a search among n is ceil(log2(n + 1)) comparisons, each reading an element"
DISTINCT = "how many values are different is data: from one to all of them"


def sort(call: Call) -> Ledger:
    """aten::sort, argsort, msort(x, ...): values and int64 places of a sorted dimension.

    arithmetic   n * ceil(log2 n) comparisons a row of n, an estimate
    """
    x = arguments.tensor(call, 0)
    whole = call.op == "aten::msort"
    # sort.stable(x, stable, dim, descending) has one more argument in front of dim.
    stable = len(call.args) > 3
    (dim,) = dims_of(call, len(x.shape), (0 if whole else arguments.integer(call, 1 + stable, -1),))
    n = x.shape[dim] if x.shape else 1
    places = [("the places", Tensor(x.shape, "int64"))] if not whole else []
    values = [("the values", Tensor(x.shape, x.dtype))] if call.op != "aten::argsort" else []
    return ledger(
        [_compared(x, x.numel * ceil(log2(max(n, 1))))],
        reads=[("the input", x)],
        writes=[*values, *places],
        conventions=(SORTING,),
    )


def topk(call: Call) -> Ledger:
    """aten::topk(x, k, dim, largest, sorted): the k best of a dimension, and their places."""
    x, k = arguments.tensor(call, 0), arguments.integer(call, 1)
    (dim,) = dims_of(call, len(x.shape), (arguments.integer(call, 2, -1),))
    shape = tuple(k if i == dim else n for i, n in enumerate(x.shape))
    return _chosen(x, shape)


def select(number_at: int, call: Call) -> Ledger:
    """aten::kthvalue(x, k, dim, keep), median, nanmedian, mode(x, dim, keep)."""
    x = arguments.tensor(call, 0)
    if len(call.args) == 1:
        return _chosen(x, (), places=False)
    dim = arguments.integer(call, number_at, -1)
    shape = reduced(
        x.shape, dims_of(call, len(x.shape), (dim,)), arguments.flag(call, number_at + 1)
    )
    return _chosen(x, shape)


def search(call: Call) -> Ledger:
    """aten::searchsorted(sorted, values, ...), bucketize(values, sorted, ...): a place each."""
    first = call.op == "aten::searchsorted"
    table = arguments.tensor(call, 0 if first else 1)
    values = arguments.optional(call, 1 if first else 0)
    count, n = values.numel if values else 1, table.shape[-1] if table.shape else 1
    steps = ceil(log2(n + 1))
    small = arguments.flag(call, 2)
    shape = values.shape if values else ()
    return ledger(
        [Entry(vector_pipe(table.dtype), steps * count, f"compare: {steps} a value")],
        reads=[("the values", values)] if values else [],
        gathered=[Rows("the sorted values", count * steps, nbytes(1, table.dtype), table.numel)],
        writes=[("the places", Tensor(shape, "int32" if small else "int64"))],
        conventions=(SEARCH,),
    )


def unique(call: Call) -> Ledger:
    """aten::_unique2, _unique, unique_consecutive, unique_dim(x, ...): different values.

    arithmetic   a sort of all elements (unique_consecutive: one comparison an element)
    write        the values; return_inverse: an int64 an element; return_counts: an int64 each
    """
    x = arguments.tensor(call, 0)
    consecutive = call.op == "aten::unique_consecutive"
    inverse_at = {"aten::unique_consecutive": 1, "aten::unique_dim": 3}.get(call.op, 2)
    inverse, counts = arguments.flag(call, inverse_at), arguments.flag(call, inverse_at + 1)
    steps = 1 if consecutive else ceil(log2(max(x.numel, 1)))
    size = nbytes(1, x.dtype) + (8 if counts and call.op != "aten::_unique" else 0)
    return ledger(
        [_compared(x, steps * x.numel)],
        reads=[("the input", x)],
        scattered=[Rows("the different values", x.numel, size, x.numel)],
        writes=[("the inverse", Tensor(x.shape, "int64"))] if inverse else [],
        conventions=(SORTING, DISTINCT),
    )


def isin(call: Call) -> Ledger:
    """aten::isin(x, y, ...): whether each of x is in y, by sorting y and searching it."""
    x, y = arguments.optional(call, 0), arguments.optional(call, 1)
    if x is None and y is None:
        raise Unaccountable(f"{call.op}: neither argument is a tensor")
    n, m = x.numel if x else 1, y.numel if y else 1
    known = x or y
    steps = (n + m) * ceil(log2(m + 1))
    return ledger(
        [_compared(known, steps)] if known else [],
        reads=[(name, t) for name, t in (("the elements", x), ("the set", y)) if t],
        writes=[("the result", Tensor(x.shape if x else (), "bool"))],
        conventions=(SORTING,),
    )


def bincount(call: Call) -> Ledger:
    """aten::bincount(x, weights, minlength): counts of small integers; the output is recorded."""
    x, weights = arguments.tensor(call, 0), arguments.optional(call, 1)
    if not call.outputs:
        raise Unaccountable(f"{call.op}: the length of the result is data, and is not recorded")
    y = Tensor(call.outputs[0].shape, call.outputs[0].dtype)
    pipe = VECTOR_INT32 if weights is None else vector_pipe(weights.dtype)
    return ledger(
        [Entry(pipe, x.numel, "add, once an element")],
        reads=[("the input", x), *([("the weights", weights)] if weights else [])],
        writes=[("the counts", y)],
    )


def histc(call: Call) -> Ledger:
    """aten::histc(x, bins, min, max): two bounds, subtract, divide, add: 5 an element."""
    x, bins = arguments.tensor(call, 0), arguments.integer(call, 1, 100)
    return ledger(
        [Entry(vector_pipe(x.dtype), 5 * x.numel, "bounds 2, bin 2, add 1: 5 an element")],
        reads=[("the input", x)],
        writes=[("the counts", Tensor((bins,), x.dtype))],
    )


def _chosen(x: Tensor, shape: tuple[int, ...], places: bool = True) -> Ledger:
    return ledger(
        [_compared(x, x.numel)],
        reads=[("the input", x)],
        writes=[("the values", Tensor(shape, x.dtype)),
                *([("the places", Tensor(shape, "int64"))] if places else [])],
        conventions=(SORTING,),
    )  # fmt: skip


def _compared(x: Tensor, comparisons: int) -> Entry:
    return Entry(vector_pipe(x.dtype), comparisons, "compare", exactness=Exactness.ESTIMATE)


RULES = (
    *named(sort, "sort", "argsort", "msort"),
    *named(topk, "topk"),
    Rule("aten::kthvalue", partial(select, 2)),
    *(Rule(f"aten::{name}", partial(select, 1)) for name in ("median", "nanmedian", "mode")),
    *named(search, "searchsorted", "bucketize"),
    *named(unique, "_unique2", "_unique", "unique_consecutive", "unique_dim"),
    *named(isin, "isin"),
    *named(bincount, "bincount"),
    *named(histc, "histc"),
)
