"""Convolutions of one to three dimensions: grouped, depthwise, dilated, transposed, and backward.

N batches, Cin and Cout channels, g groups.  Taps that fall on padding are counted: libraries
execute them as multiplications with zero, and the count then depends on shapes alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from roofline.call import Call, Math, Tensor
from roofline.errors import BadInput
from roofline.ops import arguments
from roofline.ops.dtype import matmul_pipe, vector_pipe
from roofline.ops.lines import Operands, ledger
from roofline.ops.rule import Rule, Unaccountable
from roofline.ops.shapes import product
from roofline.work import Entry, Ledger

TAPS = "a multiply-add is 2 flop; taps on padding are counted"


@dataclass(frozen=True, slots=True)
class Geometry:
    """How a kernel moves over its input, a number a spatial dimension."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    output_padding: tuple[int, ...]
    groups: int
    transposed: bool


def conv2d(
    batch: int,
    channels_in: int,
    channels_out: int,
    height: int,
    width: int,
    kernel: int,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    transposed: bool = False,
    bias: bool = False,
    dtype: str = "fp32",
    math: Math = "ieee",
) -> Ledger:
    """Y[N,Cout,H',W'] = X[N,Cin,H,W] * W[Cout,Cin/g,K,K] + b[Cout], taps on padding counted.

    arithmetic   2*N*Cout*H'*W'*(Cin/g)*K*K   flop   transposed: 2*N*Cin*H*W*(Cout/g)*K*K
                 N*Cout*H'*W'                 flop   add the bias, once per output
    read         the part of X that a tap reaches, W and b, once each
    write        N*Cout*H'*W'*s               B      Y
    """
    sizes = {"batch": batch, "channels_in": channels_in, "channels_out": channels_out,
             "height": height, "width": width, "kernel": kernel, "stride": stride,
             "dilation": dilation, "groups": groups}  # fmt: skip
    if wrong := [f"{name}={value}" for name, value in sizes.items() if value < 1]:
        raise BadInput(f"conv2d needs sizes of at least 1; got {', '.join(wrong)}")
    if padding < 0 or channels_in % groups or channels_out % groups:
        raise BadInput(f"conv2d: {groups} groups must divide {channels_in} and {channels_out} "
                       f"channels, and padding be 0 or more")  # fmt: skip
    out, into = (channels_in, channels_out) if transposed else (channels_out, channels_in)
    x = Tensor((batch, channels_in, height, width), dtype)
    w = Tensor((out, into // groups, kernel, kernel), dtype)
    moved = Geometry((stride,) * 2, (padding,) * 2, (dilation,) * 2, (0, 0), groups, transposed)
    b = Tensor((channels_out,), dtype) if bias else None
    return _forward("conv2d", x, w, b, moved, math)


@dataclass(frozen=True, slots=True)
class Places:
    """Where an entry point keeps its arguments; None is "it has no such argument"."""

    stride: int
    padding: int
    dilation: int | None = None
    groups: int | None = None
    bias: int | None = 2
    transposed: bool | int = False  # always so, or where it says so
    output_padding: int | None = None
    depthwise: bool = False
    after: int = 0  # elementwise steps an output in the same kernel: relu, add
    added: int | None = None  # a tensor added to the result


def forward(at: Places, call: Call) -> Ledger:
    """Y = X * W + b; arguments 0 and 1 are X[N,Cin,...] (or without N) and W."""
    x, w = arguments.tensor(call, 0), arguments.tensor(call, 1)
    bias = None if at.bias is None else arguments.optional(call, at.bias)
    spatial = len(w.shape) - 2
    if spatial < 1 or len(x.shape) not in (spatial + 1, spatial + 2):
        raise Unaccountable(f"{call.op}: an input {x.shape} does not fit a kernel {w.shape}")
    moved = _geometry(at, call, w)
    added = [] if at.added is None else [("the tensor added", arguments.tensor(call, at.added))]
    return _forward(call.op, x, w, bias, moved, call.math, at.after, added)


def backward(call: Call) -> Ledger:
    """aten::convolution_backward(dY, X, W, bias sizes, stride, ..., groups, mask).

    dX and dW are each as many flop as the forward; the bias gradient is an add an element of dY.
    """
    dy, x, w = (arguments.tensor(call, i) for i in range(3))
    at = Places(4, 5, 6, 9, None, 7, 8)
    spatial = len(w.shape) - 2
    if spatial < 1 or not len(dy.shape) == len(x.shape) in (spatial + 1, spatial + 2):
        raise Unaccountable(f"{call.op}: shapes {dy.shape}, {x.shape} and {w.shape} do not fit")
    moved = _geometry(at, call, w)
    dx, dw, db = arguments.flags(call, 10, 3)
    flop = _flop(x if moved.transposed else dy, w)
    pipe = matmul_pipe(x.dtype, call.math)
    channels = w.shape[1] * moved.groups if moved.transposed else w.shape[0]
    writes = [
        *([("dX", Tensor(x.shape, x.dtype))] if dx else []),
        *([("dW", Tensor(w.shape, w.dtype))] if dw else []),
        *([("dbias", Tensor((channels,), w.dtype))] if db else []),
    ]
    return ledger(
        [
            Entry(pipe, flop * dx, "dX: as many as the forward"),
            Entry(pipe, flop * dw, "dW: as many as the forward"),
            Entry(vector_pipe(dy.dtype), dy.numel * db, "dbias: sum of dY"),
        ],
        reads=[("dY", dy), *([("X", x)] if dw else []), *([("W", w)] if dx else [])],
        writes=writes,
        conventions=(TAPS,),
    )


def reached(size: int, out: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Positions of an input of `size` that some tap of `out` outputs falls on.

    >>> reached(8, 4, 1, 2, 0, 1), reached(8, 8, 3, 1, 1, 1)
    (4, 8)
    """
    if dilation == 1 and stride <= kernel:  # no gaps between the first tap and the last
        return max(0, min(size, (out - 1) * stride - padding + kernel))
    taps = {o * stride + k * dilation - padding for o in range(out) for k in range(kernel)}
    return sum(0 <= tap < size for tap in taps)


def _forward(
    op: str,
    x: Tensor,
    w: Tensor,
    bias: Tensor | None,
    moved: Geometry,
    math: Math,
    after: int = 0,
    added: Operands = (),
) -> Ledger:
    spatial = len(w.shape) - 2
    channels_in = w.shape[0] if moved.transposed else w.shape[1] * moved.groups
    channels_out = w.shape[1] * moved.groups if moved.transposed else w.shape[0]
    if x.shape[-spatial - 1] != channels_in:
        raise Unaccountable(f"{op}: {x.shape[-spatial - 1]} channels do not fit a kernel {w.shape}")
    out = _out(op, x.shape[-spatial:], w.shape[2:], moved)
    y = Tensor((*x.shape[: -spatial - 1], channels_out, *out), x.dtype)
    extra = [] if bias is None else [
        Entry(vector_pipe(bias.dtype), y.numel, "add bias, once per output")]  # fmt: skip
    return ledger(
        [
            Entry(matmul_pipe(x.dtype, math), _flop(x if moved.transposed else y, w),
                  "multiply-add, a kernel's weights at every place"),
            *extra,
            Entry(vector_pipe(x.dtype), after * y.numel, f"{after} elementwise steps an output"),
        ],
        reads=[_input(x, w, out, moved), ("W", w), *([("bias", bias)] if bias else []), *added],
        writes=[("Y", y)],
        conventions=(TAPS,),
    )  # fmt: skip


def _flop(places: Tensor, w: Tensor) -> int:
    """2 * N * places * |W|: every weight is used once at every place of every batch.

    The places are the outputs', or the inputs' of a transposed convolution.
    """
    spatial = len(w.shape) - 2
    batch = places.shape[0] if len(places.shape) == spatial + 2 else 1
    return 2 * batch * product(places.shape[-spatial:]) * w.numel


def _input(x: Tensor, w: Tensor, out: tuple[int, ...], moved: Geometry) -> tuple[str, Tensor]:
    """X, or the part of it that taps reach when the kernel skips some."""
    spatial = len(out)
    if moved.transposed:
        return "X", x
    touched = tuple(
        reached(*sizes)
        for sizes in zip(
            x.shape[-spatial:], out, w.shape[2:], moved.stride, moved.padding, moved.dilation,
            strict=True,
        )
    )  # fmt: skip
    if touched == x.shape[-spatial:]:
        return "X", x
    return "the part of X that taps reach", Tensor((*x.shape[:-spatial], *touched), x.dtype)


def _out(
    op: str, size: tuple[int, ...], kernel: tuple[int, ...], moved: Geometry
) -> tuple[int, ...]:
    out = []
    for i, k, s, p, d, more in zip(size, kernel, moved.stride, moved.padding, moved.dilation,
                                   moved.output_padding, strict=True):  # fmt: skip
        if s < 1:
            raise Unaccountable(f"{op}: a stride of {s}")
        n = (i - 1) * s - 2 * p + d * (k - 1) + more + 1 if moved.transposed else (
            i + 2 * p - d * (k - 1) - 1) // s + 1  # fmt: skip
        out.append(n)
    if min(out) < 0:
        raise Unaccountable(f"{op}: a kernel {kernel} is larger than its padded input {size}")
    return tuple(out)


def _geometry(at: Places, call: Call, w: Tensor) -> Geometry:
    spatial, kernel = len(w.shape) - 2, w.shape[2:]
    dilation = _each(call, at.dilation, spatial, 1)
    padding = call.arg(at.padding)
    if isinstance(padding, str):
        # "same" pads by half the reach in all; an odd reach pads one more on one side.
        if padding not in ("same", "valid"):
            raise Unaccountable(f"{call.op}: padding {padding!r}")
        reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        if padding == "same" and any(r % 2 for r in reach):
            raise Unaccountable(f"{call.op}: 'same' padding of an even kernel is uneven")
        pad = tuple(r // 2 if padding == "same" else 0 for r in reach)
    else:
        pad = _each(call, at.padding, spatial, 0)
    transposed = at.transposed
    if not isinstance(transposed, bool):
        transposed = arguments.flag(call, transposed)
    groups = w.shape[0] if at.depthwise else 1
    if at.groups is not None:
        groups = arguments.integer(call, at.groups, 1)
    return Geometry(
        _each(call, at.stride, spatial, 1), pad, dilation,
        _each(call, at.output_padding, spatial, 0), groups, transposed,
    )  # fmt: skip


def _each(call: Call, index: int | None, spatial: int, default: int) -> tuple[int, ...]:
    if index is None or call.arg(index) is None:
        return (default,) * spatial
    given = arguments.integers(call, index)
    if len(given) == 1:
        return given * spatial
    if len(given) != spatial:
        raise Unaccountable(f"{call.op}: argument {index} should hold {spatial} numbers")
    return given


_PLAIN = Places(3, 4, 5, 8, 2, 6, 7)
_NAMED = Places(3, 4, 5, 6)
_TRANSPOSE = Places(3, 4, 7, 6, transposed=True, output_padding=5)
_KERNEL = Places(4, 5, 6, None, 3)  # (x, w, kernel_size, bias, stride, padding, dilation)
FORWARD: Mapping[str, Places] = {
    "convolution": _PLAIN,
    "_convolution": _PLAIN,
    "convolution_overrideable": _PLAIN,
    **{f"conv{n}d": _NAMED for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": _TRANSPOSE for n in (1, 2, 3)},
    "cudnn_convolution": Places(3, 2, 4, 5, None),
    "cudnn_convolution_transpose": Places(4, 2, 5, 6, None, True, 3),
    "cudnn_convolution_relu": Places(3, 4, 5, 6, 2, after=1),
    "cudnn_convolution_add_relu": Places(5, 6, 7, 8, 4, after=2, added=2),
    "miopen_convolution": Places(4, 3, 5, 6),
    "miopen_convolution_relu": Places(3, 4, 5, 6, 2, after=1),
    "miopen_convolution_transpose": Places(5, 3, 6, 7, transposed=True, output_padding=4),
    "miopen_depthwise_convolution": Places(4, 3, 5, 6),
    "mkldnn_convolution": Places(4, 3, 5, 6),
    **{
        name: Places(4, 5, None, None, 3)
        for name in ("thnn_conv2d", "_slow_conv2d_forward", "slow_conv3d", "slow_conv3d_forward")
    },
    "slow_conv_dilated2d": _KERNEL,
    "slow_conv_dilated3d": _KERNEL,
    "_conv_depthwise2d": Places(4, 5, 6, None, 3, depthwise=True),
    "conv_depthwise3d": Places(4, 5, 6, None, 3, depthwise=True),
    "slow_conv_transpose2d": Places(4, 5, 7, None, 3, True, 6),
    "slow_conv_transpose3d": Places(4, 5, 7, None, 3, True, 6),
}

RULES = (
    *(Rule(f"aten::{name}", partial(forward, at)) for name, at in FORWARD.items()),
    Rule("aten::convolution_backward", backward),
)
FORMULAS = (conv2d,)
