"""Reductions and scans: many elements to one, or to running totals.

A reduction of n elements is counted as n combining steps (the first one too: the accumulator starts
at the neutral element), so a sum of n numbers is n flop.
"""

from dataclasses import dataclass
from functools import partial

from roofline.call import Call, Tensor
from roofline.device import SFU
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.elements.pointwise import out_of_place
from roofline.ops.elements.pointwise_table import TABLE as POINTWISE
from roofline.ops.lines import ledger, result
from roofline.ops.rule import Rule
from roofline.ops.shapes import (
    COMPLEX,
    FLOATING,
    dims_of,
    dtype_argument,
    floating,
    kind,
    product,
    reduced,
)
from roofline.work import Entry, Exactness, Ledger

STEPS = "a reduction of n elements is n steps"


@dataclass(frozen=True, slots=True)
class Reduction:
    """One row of the table: arithmetic per element read and per result written."""

    name: str
    flop: int  # per input element, on the vector pipe
    result_flop: int = 0
    result_sfu: int = 0
    sfu: int = 0
    # "same", "sum" (bool and integers become int64), "bool", "int64", "floating"
    gives: str = "same"
    keep_at: int | None = 2  # position of `keepdim` after (self, dim)
    dtype_at: int | None = None  # position of `dtype` after (self, dim, ...)


TABLE = (
    Reduction("sum", 1, gives="sum", dtype_at=3),
    Reduction("nansum", 2, gives="sum", dtype_at=3),
    Reduction("mean", 1, result_flop=1, gives="floating", dtype_at=3),
    Reduction("prod", 1, gives="sum", dtype_at=3),
    Reduction("amax", 1),
    Reduction("amin", 1),
    Reduction("any", 1, gives="bool"),
    Reduction("all", 1, gives="bool"),
    Reduction("argmax", 1, gives="int64"),
    Reduction("argmin", 1, gives="int64"),
    Reduction("count_nonzero", 1, gives="int64", keep_at=None),
    # sum; subtract, square, sum; divide a result
    Reduction("var", 4, result_flop=2, gives="floating"),
    Reduction("std", 4, result_flop=2, result_sfu=1, gives="floating"),
    # max, subtract, sum, exp on sfu; log and add a result
    Reduction("logsumexp", 3, sfu=1, result_flop=1, result_sfu=1, gives="floating"),
)
PAIRS = (
    Reduction("var_mean", 4, result_flop=2, gives="floating"),
    Reduction("std_mean", 4, result_flop=2, result_sfu=1, gives="floating"),
    Reduction("aminmax", 2),
)
SCANS = {"cumsum": 1, "cumprod": 1, "logcumsumexp": 4, "cummax": 1, "cummin": 1}
_MAXIMUM = {row.name: row for row in POINTWISE if row.name in ("maximum", "minimum")}


def reduction(row: Reduction, call: Call, results: int = 1) -> Ledger:
    """y = reduce(x over dims): x read once, y (`results` tensors of its shape) written once.

    arithmetic   flop * |x| + result_flop * |y|     sfu * |x| + result_sfu * |y|
    """
    x = arguments.tensor(call, 0)
    dims, keep = _dims(row, call, x)
    shape = reduced(x.shape, dims, keep)
    dtype = _dtype(row, call, x)
    writes = [(f"result {i + 1}", result(call, shape, dtype, i)) for i in range(results)]
    return ledger(
        _arithmetic(row, x, product(shape), dtype),
        reads=[("the input", x)],
        writes=writes,
        conventions=(STEPS,),
    )


def maximum(name: str, call: Call) -> Ledger:
    """aten::max and aten::min: of all, along one dimension, or of two tensors."""
    if arguments.optional(call, 1) is not None:
        return out_of_place(_MAXIMUM[f"{name}imum"], call)
    x = arguments.tensor(call, 0)
    row = Reduction(name, 1)
    if call.arg(1) is None:
        return reduction(row, call)
    shape = reduced(x.shape, dims_of(call, len(x.shape), (arguments.integer(call, 1),)),
                    arguments.flag(call, 2))  # fmt: skip
    return ledger(
        _arithmetic(row, x, product(shape), x.dtype),
        reads=[("the input", x)],
        writes=[("values", Tensor(shape, x.dtype)), ("indices", Tensor(shape, "int64"))],
        conventions=(STEPS,),
    )


def norm(call: Call) -> Ledger:
    """aten::linalg_vector_norm, aten::norm(x, p, dims, keepdim): |x|_p over dims.

    arithmetic   p = 2: square and add, 2 * |x|, and a root a result; p = 1: abs and add
                 p = inf: abs and max; p = 0: compare and add
                 another p: abs and add, a power on sfu, and a root a result
    """
    x = arguments.tensor(call, 0)
    p = call.arg(1, 2)
    p = 2 if p is None else p
    common = p in (0, 1, "inf", "-inf", float("inf"), float("-inf"))
    row = Reduction(
        "norm",
        2,
        sfu=0 if common or p == 2 else 1,
        result_sfu=0 if common else 1,
        gives="floating",
    )
    dims: tuple[int, ...] = ()
    keep = False
    if isinstance(call.arg(2), (int, tuple)):
        dims, keep = arguments.integers(call, 2), arguments.flag(call, 3)
    shape = reduced(x.shape, dims_of(call, len(x.shape), dims), keep)
    dtype = floating(x.dtype)
    return ledger(
        _arithmetic(row, x, product(shape), dtype),
        reads=[("the input", x)],
        writes=[("the norm", result(call, shape, dtype))],
        conventions=(STEPS,),
    )


def trace(call: Call) -> Ledger:
    """aten::trace(x[m,n]): an add for each of the min(m, n) elements read."""
    x = arguments.tensor(call, 0, 2)
    n = min(x.shape)
    return ledger(
        [Entry(vector_pipe(x.dtype), n, "add, once a diagonal element")],
        reads=[("the diagonal", Tensor((n,), x.dtype))],
        writes=[("the sum", result(call, (), _totals(x.dtype)))],
        conventions=(STEPS,),
    )


def equal(call: Call) -> Ledger:
    """aten::equal(x, y), allclose: one comparison an element (allclose: 5).

    A difference may end it early: from one comparison to all.
    """
    x, y = arguments.tensor(call, 0), arguments.tensor(call, 1)
    each = 1 if call.op == "aten::equal" else 5
    arithmetic = Entry(vector_pipe(x.dtype), each * x.numel, f"compare: {each} an element", None,
                       Exactness.BOUNDED, min(each, each * x.numel), each * x.numel)  # fmt: skip
    return ledger([arithmetic], reads=[("x", x), ("y", y)])


def scan(flop: int, call: Call) -> Ledger:
    """y = running totals of x along one dimension: x read once, y written once."""
    x = arguments.tensor(call, 0)
    indexed = call.op.removesuffix("_") in ("aten::cummax", "aten::cummin")
    dtype = x.dtype if indexed else dtype_argument(call, 2) or _totals(x.dtype)
    sfu = 2 if "logcumsumexp" in call.op else 0
    in_place = call.op.endswith("_")
    writes = [] if in_place else [("the totals", result(call, x.shape, dtype))]
    if indexed:
        writes.append(("the indices", Tensor(x.shape, "int64")))
    return ledger(
        [
            Entry(vector_pipe(dtype), flop * x.numel, f"running total: {flop} an element"),
            Entry(SFU, sfu * x.numel, f"running total: {sfu} an element"),
        ],
        updates=[("the tensor written to", x)] if in_place else [],
        reads=[] if in_place else [("the input", x)],
        writes=writes,
        conventions=(STEPS,),
    )


def _arithmetic(row: Reduction, x: Tensor, results: int, dtype: str) -> list[Entry]:
    parts = 2 if kind(x.dtype) == COMPLEX else 1  # real and imaginary part
    pipe = vector_pipe(x.dtype if kind(dtype) < FLOATING else dtype)
    return [
        Entry(pipe, parts * row.flop * x.numel, f"{row.name}: {row.flop} an input element"),
        Entry(pipe, parts * row.result_flop * results, f"{row.name}: {row.result_flop} a result"),
        Entry(SFU, row.sfu * x.numel, f"{row.name}: {row.sfu} an input element"),
        Entry(SFU, row.result_sfu * results, f"{row.name}: {row.result_sfu} a result"),
    ]


def _dims(row: Reduction, call: Call, x: Tensor) -> tuple[tuple[int, ...], bool]:
    """The dimensions reduced and `keepdim`; without a `dim` argument it is all of them."""
    rank = len(x.shape)
    given = call.arg(1)
    # The overloads that reduce everything have a dtype, a flag or nothing after the input.
    whole = len(call.args) <= 2 and row.dtype_at is not None and not isinstance(given, tuple)
    if given is None or isinstance(given, (bool, str)) or whole:
        # var.correction(x, None, correction, keepdim) and its like may still keep dimensions.
        keep = given is None and row.keep_at is not None and call.arg(_keep_at(row, call)) is True
        return tuple(range(rank)), keep
    keep = row.keep_at is not None and arguments.flag(call, _keep_at(row, call))
    return dims_of(call, rank, arguments.integers(call, 1)), keep


def _keep_at(row: Reduction, call: Call) -> int:
    # var(x, dim, unbiased or correction, keepdim)
    return 3 if row.name.startswith(("var", "std")) else row.keep_at or 2


def _dtype(row: Reduction, call: Call, x: Tensor) -> str:
    if row.gives in ("bool", "int64"):
        return row.gives
    if row.dtype_at is not None:
        at = row.dtype_at if len(call.args) > 2 else 1
        named = None if isinstance(call.arg(at), tuple) else dtype_argument(call, at)
        if named:
            return named
    if row.gives == "sum":
        return _totals(x.dtype)
    return floating(x.dtype) if row.gives == "floating" else x.dtype


def _totals(dtype: str) -> str:
    return "int64" if kind(dtype) < FLOATING else dtype


RULES = (
    *(Rule(f"aten::{row.name}", partial(reduction, row)) for row in TABLE),
    *(Rule(f"aten::{row.name}", partial(reduction, row, results=2)) for row in PAIRS),
    *(Rule(f"aten::{name}", partial(maximum, name)) for name in ("max", "min")),
    Rule("aten::norm", norm),
    Rule("aten::linalg_vector_norm", norm),
    Rule("aten::trace", trace),
    Rule("aten::equal", equal),
    Rule("aten::allclose", equal),
    *(Rule(f"aten::{name}", partial(scan, flop)) for name, flop in SCANS.items()),
    *(Rule(f"aten::{name}_", partial(scan, SCANS[name])) for name in ("cumsum", "cumprod")),
)
