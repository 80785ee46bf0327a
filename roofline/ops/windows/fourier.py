"""Fourier transforms."""

from collections.abc import Callable
from math import ceil, log2

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.lines import ledger
from roofline.ops.rule import Unaccountable, named
from roofline.ops.shapes import dims_of, product
from roofline.work import Entry, Exactness, Ledger

FFT = "a complex transform of n points is 5 n log2 n flop, one from or to real numbers half of it"

_COMPLEX = {"fp16": "complex32", "fp32": "complex64", "fp64": "complex128"}
_REAL = {dtype: real for real, dtype in _COMPLEX.items()}


def c2c(call: Call) -> Ledger:
    """aten::_fft_c2c(x, dims, normalisation, forward): 5 n log2 n, n points in all."""
    x, dims = arguments.tensor(call, 0), arguments.integers(call, 1)
    return _transform(call, x, dims, x.shape, x.shape, x.dtype, 5.0)


def r2c(call: Call) -> Ledger:
    """aten::_fft_r2c(x, dims, normalisation, onesided): half the work; n/2 + 1 of the last dim."""
    x, dims = arguments.tensor(call, 0), arguments.integers(call, 1)
    if x.dtype not in _COMPLEX or not dims:
        raise Unaccountable(f"{call.op}: a transform of {x.dtype} over dimensions {dims}")
    shape = x.shape
    if arguments.flag(call, 3):
        shape = _resized(call, shape, dims[-1], lambda n: n // 2 + 1)
    return _transform(call, x, dims, x.shape, shape, _COMPLEX[x.dtype], 2.5)


def c2r(call: Call) -> Ledger:
    """aten::_fft_c2r(x, dims, normalisation, last size): half the work; real, of the size given."""
    x, dims = arguments.tensor(call, 0), arguments.integers(call, 1)
    last = arguments.integer(call, 3)
    if x.dtype not in _REAL or not dims:
        raise Unaccountable(f"{call.op}: a transform of {x.dtype} over dimensions {dims}")
    shape = _resized(call, x.shape, dims[-1], lambda _: last)
    return _transform(call, x, dims, shape, shape, _REAL[x.dtype], 2.5)


def _transform(
    call: Call,
    x: Tensor,
    dims: tuple[int, ...],
    points: tuple[int, ...],
    shape: tuple[int, ...],
    dtype: str,
    each: float,
) -> Ledger:
    if dims and not points:
        raise Unaccountable(f"{call.op}: a tensor without dimensions has no transform")
    over = dims_of(call, len(points), dims) if dims else ()
    n = product(points[d] for d in over)
    batch = product(points) // max(1, n)
    flop = ceil(each * batch * n * log2(n)) if n > 1 else 0
    return ledger(
        [
            Entry(
                vector_pipe(x.dtype), flop, f"{each:g} n log2 n, n = {n}", None, Exactness.ESTIMATE
            )
        ],
        reads=[("the input", x)],
        writes=[("the result", Tensor(shape, dtype))],
        conventions=(FFT,),
    )


def _resized(
    call: Call, shape: tuple[int, ...], dim: int, new: Callable[[int], int]
) -> tuple[int, ...]:
    (at,) = dims_of(call, len(shape), (dim,))
    return tuple(new(n) if i == at else n for i, n in enumerate(shape))


RULES = (*named(c2c, "_fft_c2c"), *named(r2c, "_fft_r2c"), *named(c2r, "_fft_c2r"))
