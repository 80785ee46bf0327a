"""Segments and histograms: many elements of the input fall into one of the output."""

from math import ceil, log2

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.lines import Operands, ledger, result
from roofline.ops.rule import Unaccountable, named
from roofline.ops.shapes import product
from roofline.work import Entry, Exactness, Ledger

SEARCHED = "a bin is searched for: ceil(log2 bins) comparisons, an estimate"


def segment_reduce(call: Call) -> Ledger:
    """aten::segment_reduce(x, reduce, lengths, indices, offsets, axis, ...): a step an element."""
    x = arguments.tensor(call, 0)
    bounds = _bounds(call, (2, 3, 4))
    if not call.outputs:
        raise Unaccountable(f"{call.op}: how many segments there are was not recorded")
    y = Tensor(call.outputs[0].shape, x.dtype)
    divides = y.numel * (call.arg(1) == "mean")
    return ledger(
        [Entry(vector_pipe(x.dtype), x.numel + divides, "combine, once an element")],
        reads=[("x", x), *bounds],
        writes=[("the result", y)],
    )


def segment_reduce_backward(call: Call) -> Ledger:
    """aten::_segment_reduce_backward(G, y, x, reduce, lengths, offsets, ...): dx, one step each."""
    g, y, x = (arguments.tensor(call, i) for i in range(3))
    reads = [("G", g), *([] if call.arg(3) in ("sum", "mean") else [("y", y), ("x", x)])]
    return ledger(
        [Entry(vector_pipe(x.dtype), x.numel, "scale or select, once an element")],
        reads=[*reads, *_bounds(call, (4, 5))],
        writes=[("dx", Tensor(x.shape, x.dtype))],
    )


def histogram(call: Call) -> Ledger:
    """aten::histogram(x, bins, ..., weight, ...): a bin found and counted, an element."""
    x = arguments.tensor(call, 0)
    edges = arguments.optional(call, 1)
    bins = edges.numel - 1 if edges is not None else arguments.integer(call, 1, 100)
    weights = [("weights", t) for i in (2, 3) if (t := arguments.optional(call, i)) is not None]
    return ledger(
        [_found(x, x.numel, bins)],
        reads=[("x", x), *weights, *([] if edges is None else [("edges", edges)])],
        writes=[("the counts", Tensor((bins,), x.dtype)), ("edges", Tensor((bins + 1,), x.dtype))],
        conventions=(SEARCHED,),
    )


def histogram_of_points(call: Call) -> Ledger:
    """aten::_histogramdd_from_bin_cts(x[N,D], bins, ...): a bin a dimension of each of N points."""
    x, bins = arguments.tensor(call, 0), arguments.integers(call, 1)
    weights = [("weights", t)] if (t := arguments.optional(call, 3)) is not None else []
    return ledger(
        [_found(x, x.numel, max(bins, default=1))],
        reads=[("x", x), *weights],
        writes=[("the counts", Tensor((product(bins),), x.dtype))],
        conventions=(SEARCHED,),
    )


def edges_of_points(call: Call) -> Ledger:
    """aten::_histogramdd_bin_edges(x[N,D], bins, range, ...): least and greatest; edges."""
    x, bins = arguments.tensor(call, 0), arguments.integers(call, 1)
    given = isinstance(call.arg(2), tuple)
    edges = sum(n + 1 for n in bins)
    return ledger(
        [Entry(vector_pipe(x.dtype), 2 * x.numel * (not given), "least and greatest"),
         Entry(vector_pipe(x.dtype), 2 * edges, "scale and shift, an edge")],
        reads=[] if given else [("x", x)],
        writes=[("edges", Tensor((edges,), x.dtype))],
    )  # fmt: skip


def distance(call: Call) -> Ledger:
    """aten::dist(x, y, p): the norm of x - y: subtract, power, sum: 3 an element."""
    x, y = arguments.tensor(call, 0), arguments.tensor(call, 1)
    shape = result(call, (), x.dtype)
    return ledger(
        [Entry(vector_pipe(x.dtype), 3 * max(x.numel, y.numel), "subtract, power, sum")],
        reads=[("x", x), ("y", y)],
        writes=[("the distance", shape)],
    )


def _found(x: Tensor, n: int, bins: int) -> Entry:
    each = ceil(log2(max(bins, 2))) + 1
    return Entry(vector_pipe(x.dtype), each * n, f"search and count: {each} an element", None,
                 Exactness.ESTIMATE)  # fmt: skip


def _bounds(call: Call, places: tuple[int, ...]) -> Operands:
    found = [t for i in places if (t := arguments.optional(call, i)) is not None]
    return [("where segments end", t) for t in found]


RULES = (
    *named(segment_reduce, "segment_reduce"),
    *named(segment_reduce_backward, "_segment_reduce_backward"),
    *named(histogram, "histogram"),
    *named(histogram_of_points, "_histogramdd_from_bin_cts"),
    *named(edges_of_points, "_histogramdd_bin_edges"),
    *named(distance, "dist"),
)
