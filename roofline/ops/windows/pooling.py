"""Pooling, forward and backward: one combining step for every element of every window.

As in convolutions, the elements of a window that fall on padding are counted.
"""

from functools import partial
from math import ceil

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.lines import ledger
from roofline.ops.rule import Rule, Unaccountable
from roofline.ops.shapes import product
from roofline.ops.windows.conv import reached
from roofline.work import Entry, Ledger

WINDOWS = "every element of a window is one step, padding included"


def max_pool(dims: int, kept: bool, call: Call) -> Ledger:
    """aten::max_pool2d(x, kernel, stride, padding, dilation, ceil): a comparison a window element.

    write        the largest, and with `_with_indices` its int64 place
    """
    x = arguments.tensor(call, 0)
    kernel = _each(call, 1, dims, None)
    out = _out(call, x, dims, kernel, padding_at=3, dilation_at=4, ceil_at=5)
    y = Tensor((*x.shape[:-dims], *out), x.dtype)
    places = [("the places", Tensor(y.shape, "int64"))] if kept else []
    return _pooled(_reached(call, x, out, kernel, 3, 4), y, product(kernel), 0, places)


def avg_pool(dims: int, call: Call) -> Ledger:
    """aten::avg_pool2d(x, kernel, stride, padding, ceil, ...): an add an element, a divide."""
    x = arguments.tensor(call, 0)
    kernel = _each(call, 1, dims, None)
    out = _out(call, x, dims, kernel, padding_at=3, dilation_at=None, ceil_at=4)
    y = Tensor((*x.shape[:-dims], *out), x.dtype)
    return _pooled(_reached(call, x, out, kernel, 3, None), y, product(kernel), 1)


def adaptive(dims: int, maximum: bool, call: Call) -> Ledger:
    """aten::adaptive_avg_pool2d(x, output size), adaptive_max_pool2d: windows that differ in size.

    Window o of n over a size s reaches from floor(o*s/n) to ceil((o+1)*s/n).
    """
    x = arguments.tensor(call, 0)
    if len(x.shape) < dims:
        raise Unaccountable(f"{call.op}: an input of shape {x.shape}")
    sizes = x.shape[-dims:]
    given = call.arg(1)
    wanted = given if isinstance(given, tuple) and len(given) == dims else (given,) * dims
    out = tuple(n if w is None else w for n, w in zip(sizes, wanted, strict=True)
                if isinstance(w, int) or w is None)  # fmt: skip
    if len(out) != dims or min(out) < 1:
        raise Unaccountable(f"{call.op}: an output size of {given!r}")
    y = Tensor((*x.shape[:-dims], *out), x.dtype)
    steps = _windows(sizes, out) * product(x.shape[:-dims])
    places = [("the places", Tensor(y.shape, "int64"))] if maximum else []
    return ledger(
        [
            Entry(vector_pipe(x.dtype), steps, "a step for every element of every window"),
            Entry(vector_pipe(x.dtype), 0 if maximum else y.numel, "divide, once per output"),
        ],
        reads=[("the input", x)],
        writes=[("the result", y), *places],
        conventions=(WINDOWS,),
    )


def fractional(dims: int, call: Call) -> Ledger:
    """aten::fractional_max_pool2d(x, kernel, output size, random samples)."""
    x, samples = arguments.tensor(call, 0), arguments.tensor(call, 3)
    y = Tensor((*x.shape[:-dims], *_each(call, 2, dims, None)), x.dtype)
    kernel = product(_each(call, 1, dims, None))
    return ledger(
        [Entry(vector_pipe(x.dtype), kernel * y.numel, f"compare: {kernel} per output")],
        reads=[("the input", x), ("the random samples", samples)],
        writes=[("the result", y), ("the places", Tensor(y.shape, "int64"))],
        conventions=(WINDOWS,),
    )


def max_backward(indices_at: int, call: Call) -> Ledger:
    """aten::max_pool2d_with_indices_backward(g, x, ..., places): g added where each maximum was."""
    g, x = arguments.tensor(call, 0), arguments.tensor(call, 1)
    places = arguments.tensor(call, indices_at)
    return ledger(
        [Entry(vector_pipe(g.dtype), g.numel, "add a gradient to its place")],
        reads=[("grad", g), ("the places", places)],
        writes=[("dx", Tensor(x.shape, x.dtype))],
    )


def avg_backward(dims: int, call: Call) -> Ledger:
    """aten::avg_pool2d_backward(g, x, kernel, ...): g divided, and added to its whole window."""
    g, x = arguments.tensor(call, 0), arguments.tensor(call, 1)
    return _spread(g, x, product(_each(call, 2, dims, None)) * g.numel)


def adaptive_backward(dims: int, call: Call) -> Ledger:
    """aten::_adaptive_avg_pool2d_backward(g, x): g divided, and added to its whole window."""
    g, x = arguments.tensor(call, 0), arguments.tensor(call, 1)
    if not dims <= len(g.shape) == len(x.shape) or min(g.shape[-dims:]) < 1:
        raise Unaccountable(f"{call.op}: a gradient {g.shape} for an input {x.shape}")
    steps = _windows(x.shape[-dims:], g.shape[-dims:]) * product(g.shape[:-dims])
    return _spread(g, x, steps)


def unpool(dims: int, call: Call) -> Ledger:
    """aten::max_unpool2d(x, places, output size): zeros, with x put back in its places."""
    x, places = arguments.tensor(call, 0), arguments.tensor(call, 1)
    shape = (*x.shape[:-dims], *_each(call, 2, dims, None))
    return ledger(
        reads=[("the input", x), ("the places", places)],
        writes=[("the result", Tensor(shape, x.dtype))],
    )


def _pooled(
    x: Tensor, y: Tensor, window: int, divide: int, places: list[tuple[str, Tensor]] | None = None
) -> Ledger:
    return ledger(
        [
            Entry(
                vector_pipe(x.dtype), window * y.numel, f"a step an element: {window} per output"
            ),
            Entry(vector_pipe(x.dtype), divide * y.numel, "divide, once per output"),
        ],
        reads=[("the input", x)],
        writes=[("the result", y), *(places or [])],
        conventions=(WINDOWS,),
    )


def _reached(
    call: Call,
    x: Tensor,
    out: tuple[int, ...],
    kernel: tuple[int, ...],
    padding_at: int,
    dilation_at: int | None,
) -> Tensor:
    """The input, or the part of it that windows reach when they skip some."""
    dims = len(out)
    stride = kernel if call.arg(2) in (None, ()) else _each(call, 2, dims, None)
    padding = _each(call, padding_at, dims, 0)
    dilation = (1,) * dims if dilation_at is None else _each(call, dilation_at, dims, 1)
    sizes = zip(x.shape[-dims:], out, kernel, stride, padding, dilation, strict=True)
    touched = tuple(reached(*each) for each in sizes)
    if touched == x.shape[-dims:]:
        return x
    return Tensor((*x.shape[:-dims], *touched), x.dtype)


def _spread(g: Tensor, x: Tensor, adds: int) -> Ledger:
    return ledger(
        [
            Entry(vector_pipe(g.dtype), g.numel, "divide a gradient"),
            Entry(vector_pipe(g.dtype), adds, "add it to every element of its window"),
        ],
        reads=[("grad", g)],
        writes=[("dx", Tensor(x.shape, x.dtype))],
        conventions=(WINDOWS,),
    )


def _windows(sizes: tuple[int, ...], out: tuple[int, ...]) -> int:
    """Elements in all windows together; dimensions are independent, so their counts multiply."""
    return product(
        sum(ceil((o + 1) * size / n) - o * size // n for o in range(n))
        for size, n in zip(sizes, out, strict=True)
    )


def _out(
    call: Call,
    x: Tensor,
    dims: int,
    kernel: tuple[int, ...],
    padding_at: int,
    dilation_at: int | None,
    ceil_at: int,
) -> tuple[int, ...]:
    """Outputs of a dimension; with ceil_mode the last window may start inside, not beyond."""
    if len(x.shape) not in (dims + 1, dims + 2):
        raise Unaccountable(f"{call.op}: an input of shape {x.shape}")
    given = call.arg(2)
    stride = kernel if given in (None, ()) else _each(call, 2, dims, None)
    padding = _each(call, padding_at, dims, 0)
    dilation = (1,) * dims if dilation_at is None else _each(call, dilation_at, dims, 1)
    up = arguments.flag(call, ceil_at)
    out = []
    for size, k, s, p, d in zip(x.shape[-dims:], kernel, stride, padding, dilation, strict=True):
        if s < 1:
            raise Unaccountable(f"{call.op}: a stride of {s}")
        n = (size + 2 * p - d * (k - 1) - 1 + (s - 1 if up else 0)) // s + 1
        if up and (n - 1) * s >= size + p:
            n -= 1
        out.append(n)
    if min(out) < 0:
        raise Unaccountable(f"{call.op}: a window {kernel} is larger than its input {x.shape}")
    return tuple(out)


def _each(call: Call, index: int, dims: int, default: int | None) -> tuple[int, ...]:
    if call.arg(index) is None and default is not None:
        return (default,) * dims
    given = arguments.integers(call, index)
    if len(given) not in (1, dims):
        raise Unaccountable(f"{call.op}: argument {index} should hold {dims} numbers")
    return given * dims if len(given) == 1 else given


RULES = (
    *(Rule(f"aten::max_pool{n}d", partial(max_pool, n, False)) for n in (1, 2, 3)),
    *(Rule(f"aten::mkldnn_max_pool{n}d", partial(max_pool, n, False)) for n in (2, 3)),
    *(Rule(f"aten::max_pool{n}d_with_indices", partial(max_pool, n, True)) for n in (1, 2, 3)),
    *(Rule(f"aten::avg_pool{n}d", partial(avg_pool, n)) for n in (1, 2, 3)),
    *(Rule(f"aten::adaptive_avg_pool{n}d", partial(adaptive, n, False)) for n in (1, 2, 3)),
    *(Rule(f"aten::_adaptive_avg_pool{n}d", partial(adaptive, n, False)) for n in (2, 3)),
    Rule("aten::mkldnn_adaptive_avg_pool2d", partial(adaptive, 2, False)),
    Rule("aten::mkldnn_adaptive_avg_pool2d_backward", partial(adaptive_backward, 2)),
    *(Rule(f"aten::adaptive_max_pool{n}d", partial(adaptive, n, True)) for n in (1, 2, 3)),
    *(Rule(f"aten::fractional_max_pool{n}d", partial(fractional, n)) for n in (2, 3)),
    *(Rule(f"aten::max_pool{n}d_with_indices_backward", partial(max_backward, 7)) for n in (2, 3)),
    *(Rule(f"aten::adaptive_max_pool{n}d_backward", partial(max_backward, 2)) for n in (2, 3)),
    *(Rule(f"aten::fractional_max_pool{n}d_backward", partial(max_backward, 4)) for n in (2, 3)),
    *(Rule(f"aten::avg_pool{n}d_backward", partial(avg_backward, n)) for n in (2, 3)),
    *(
        Rule(f"aten::_adaptive_avg_pool{n}d_backward", partial(adaptive_backward, n))
        for n in (2, 3)
    ),
    *(Rule(f"aten::max_unpool{n}d", partial(unpool, n)) for n in (2, 3)),
)
