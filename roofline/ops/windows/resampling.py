"""Interpolation, grid sampling, and windows laid out as columns (im2col)."""

from functools import partial
from math import ceil

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import nbytes, vector_pipe
from roofline.ops.lines import ROWS_ARE_COUNTED, Rows, ledger
from roofline.ops.rule import Rule, Unaccountable, named
from roofline.ops.shapes import product
from roofline.work import Entry, Exactness, Ledger

WEIGHTS = "a result of T taps is T multiplies and T - 1 adds; weights, once a row, are left out"


def upsample(dims: int, taps: int, smooth: bool, call: Call) -> Ledger:
    """aten::upsample_bilinear2d(x, output size, ...) and its kin; `taps` a dimension.

    arithmetic   2 * taps^dims - 1 an output; nearest (1 tap) copies, 0
    read         x (nearest: only the elements picked); write the result
    """
    x = arguments.tensor(call, 0)
    out = _out(call, x, dims, 1, 2 + (call.arg(2) is not None and isinstance(call.arg(2), bool)))
    reach, label = taps, Exactness.EXACT
    if smooth:  # antialiasing widens the kernel by the factor of shrinking
        reach = max(ceil(taps * max(1.0, n / max(1, o))) for n, o in
                    zip(x.shape[-dims:], out, strict=True))  # fmt: skip
        label = Exactness.ESTIMATE
    y = Tensor((*x.shape[:-dims], *out), x.dtype)
    each = 2 * reach**dims - 1 if taps > 1 else 0
    picked = tuple(min(n, o) for n, o in zip(x.shape[-dims:], out, strict=True))
    source = x if taps > 1 or picked == x.shape[-dims:] else Tensor(
        (*x.shape[:-dims], *picked), x.dtype)  # fmt: skip
    return ledger(
        [Entry(vector_pipe(x.dtype), each * y.numel, f"taps: {each} an output", None, label)],
        reads=[("the input", source)],
        writes=[("the result", y)],
        conventions=(WEIGHTS,) if taps > 1 else (),
    )


def upsample_backward(dims: int, taps: int, smooth: bool, call: Call) -> Ledger:
    """aten::upsample_bilinear2d_backward(g, output size, input size, ...): g shared out.

    arithmetic   a multiply and an add a tap (nearest: an add) an element of g
    """
    g = arguments.tensor(call, 0)
    shape = arguments.integers(call, 2)
    if len(shape) != len(g.shape) or len(shape) <= dims:
        raise Unaccountable(f"{call.op}: an input size of {shape}")
    reach, label = taps, Exactness.EXACT
    if smooth:
        reach = max(ceil(taps * max(1.0, n / max(1, o))) for n, o in
                    zip(shape[-dims:], g.shape[-dims:], strict=True))  # fmt: skip
        label = Exactness.ESTIMATE
    each = 2 * reach**dims if taps > 1 else 1
    return ledger(
        [Entry(vector_pipe(g.dtype), each * g.numel, f"taps: {each} a gradient", None, label)],
        reads=[("grad", g)],
        writes=[("dx", Tensor(shape, g.dtype))],
        conventions=(WEIGHTS,) if taps > 1 else (),
    )


def grid_sample(dims: int, call: Call) -> Ledger:
    """aten::grid_sampler_2d(x[N,C,H,W], grid[N,H',W',2], mode, padding, align).

    arithmetic   a place: 3 a coordinate to unnormalise, and 2^dims weights of dims multiplies
                 an output: 2^dims multiplies and one add fewer (bilinear); none (nearest)
    read         grid, and the elements of x that are hit: bounded
    """
    x, grid = arguments.tensor(call, 0), arguments.tensor(call, 1)
    places, channels = _grid(call, dims, x, grid)
    taps = {0: 2**dims, 1: 1, 2: 4**dims}.get(arguments.integer(call, 2, 0), 2**dims)
    each = 2 * taps - 1 if taps > 1 else 0
    hits = places * channels
    return ledger(
        [
            Entry(
                vector_pipe(x.dtype), (3 * dims + dims * taps) * places, "coordinates and weights"
            ),
            Entry(vector_pipe(x.dtype), each * hits, f"taps: {each} an output"),
        ],
        reads=[("the grid", grid)],
        gathered=[Rows("the input", taps * hits, nbytes(1, x.dtype), x.numel)],
        writes=[("the result", Tensor((hits,), x.dtype))],
        conventions=(ROWS_ARE_COUNTED,),
    )


def grid_sample_backward(dims: int, call: Call) -> Ledger:
    """aten::grid_sampler_2d_backward(g, x, grid, mode, padding, align, mask): dx and dgrid.

    arithmetic   dx: a multiply and an add a tap; dgrid: 3 for each coordinate and tap
    """
    g, x, grid = (arguments.tensor(call, i) for i in range(3))
    places, _ = _grid(call, dims, x, grid)
    taps = {1: 1, 2: 4**dims}.get(arguments.integer(call, 3, 0), 2**dims)
    dx, dgrid = arguments.flags(call, 6, 2)
    return ledger(
        [
            Entry(vector_pipe(x.dtype), (3 * dims + dims * taps) * places, "weights"),
            Entry(vector_pipe(x.dtype), 2 * taps * g.numel * dx, "dx: share out to taps"),
            Entry(vector_pipe(x.dtype), 3 * dims * taps * g.numel * dgrid, "dgrid: sum over taps"),
        ],
        reads=[("grad", g), ("the grid", grid), *([("the input", x)] if dgrid else [])],
        writes=[*([("dx", Tensor(x.shape, x.dtype))] if dx else []),
                *([("dgrid", Tensor(grid.shape, grid.dtype))] if dgrid else [])],
    )  # fmt: skip


def affine_grid(call: Call) -> Ledger:
    """aten::affine_grid_generator(theta[N,d,d+1], size, align): d+1 products a coordinate."""
    theta, size = arguments.tensor(call, 0, 3), arguments.integers(call, 1)
    places, dims = product(size[2:]) * theta.shape[0], theta.shape[1]
    return ledger(
        [Entry(vector_pipe(theta.dtype), 2 * (dims + 1) * places * dims, "multiply-add a term")],
        reads=[("theta", theta)],
        writes=[("the grid", Tensor((places, dims), theta.dtype))],
    )


def im2col(call: Call) -> Ledger:
    """aten::im2col(x, kernel, dilation, padding, stride): every window as a column; a copy."""
    x = arguments.tensor(call, 0)
    kernel, dilation, padding, stride = (_pair(call, i) for i in range(1, 5))
    if len(x.shape) not in (3, 4) or min(stride) < 1:
        raise Unaccountable(f"{call.op}: an input of shape {x.shape}")
    out = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in
           zip(x.shape[-2:], kernel, dilation, padding, stride, strict=True)]  # fmt: skip
    y = Tensor((*x.shape[:-2], product(kernel) * product(out)), x.dtype)
    return ledger(reads=[("the input", x)], writes=[("the columns", y)])


def col2im(call: Call) -> Ledger:
    """aten::col2im(columns, output size, kernel, ...): columns added back to their places."""
    x, size, kernel = arguments.tensor(call, 0), _pair(call, 1), product(_pair(call, 2))
    if len(x.shape) not in (2, 3) or x.shape[-2] % max(1, kernel):
        raise Unaccountable(f"{call.op}: columns of shape {x.shape}")
    shape = (*x.shape[:-2], x.shape[-2] // max(1, kernel), *size)
    return ledger(
        [Entry(vector_pipe(x.dtype), x.numel, "add an element to its place")],
        reads=[("the columns", x)],
        writes=[("the result", Tensor(shape, x.dtype))],
    )


def _grid(call: Call, dims: int, x: Tensor, grid: Tensor) -> tuple[int, int]:
    if len(x.shape) != dims + 2 or len(grid.shape) != dims + 2:
        raise Unaccountable(f"{call.op}: an input {x.shape} and a grid {grid.shape}")
    return product(grid.shape[:-1]), x.shape[1]


def _out(call: Call, x: Tensor, dims: int, size_at: int, scales_at: int) -> tuple[int, ...]:
    if len(x.shape) <= dims:
        raise Unaccountable(f"{call.op}: an input of shape {x.shape}")
    if isinstance(call.arg(size_at), (int, tuple)):
        size = arguments.integers(call, size_at)
        if len(size) == dims:
            return size
    scales = call.arg(scales_at)
    if isinstance(scales, tuple):
        factors = [s for s in scales if isinstance(s, (int, float)) and s > 0]
        if len(factors) == len(scales) == dims:
            return tuple(int(n * s) for n, s in zip(x.shape[-dims:], factors, strict=True))
    raise Unaccountable(f"{call.op}: the record has neither the output's size nor its scale")


def _pair(call: Call, index: int) -> tuple[int, int]:
    given = arguments.integers(call, index)
    if len(given) not in (1, 2):
        raise Unaccountable(f"{call.op}: argument {index} should hold two numbers")
    return given[0], given[-1]


_MODES = (
    *((f"upsample_nearest{n}d", n, 1) for n in (1, 2, 3)),
    *((f"_upsample_nearest_exact{n}d", n, 1) for n in (1, 2, 3)),
    ("upsample_linear1d", 1, 2),
    ("upsample_bilinear2d", 2, 2),
    ("upsample_trilinear3d", 3, 2),
    ("upsample_bicubic2d", 2, 4),
    ("_upsample_bilinear2d_aa", 2, 2),
    ("_upsample_bicubic2d_aa", 2, 4),
)
RULES = (
    *(Rule(f"aten::{name}", partial(upsample, n, taps, name.endswith("aa")))
      for name, n, taps in _MODES),
    *(Rule(f"aten::{name}_backward", partial(upsample_backward, n, taps, name.endswith("aa")))
      for name, n, taps in _MODES),
    *(Rule(f"aten::grid_sampler_{n}d", partial(grid_sample, n)) for n in (2, 3)),
    *(Rule(f"aten::grid_sampler_{n}d_backward", partial(grid_sample_backward, n)) for n in (2, 3)),
    *named(affine_grid, "affine_grid_generator"),
    *named(im2col, "im2col"),
    *named(col2im, "col2im"),
)  # fmt: skip
