"""PyTorch's entry points to convolution: which argument stands where."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import matmul_pipe, vector_pipe
from roofline.ops.lines import ledger
from roofline.ops.rule import Rule, Unaccountable
from roofline.ops.windows.conv import PER_GROUP, TAPS, Geometry, convolved, flop
from roofline.work import Entry, Ledger


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
    return convolved(call.op, x, w, bias, moved, call.math, at.after, added)


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
    each = flop(x if moved.transposed else dy, w)
    pipe = matmul_pipe(x.dtype, call.math)
    channels = w.shape[1] * moved.groups if moved.transposed else w.shape[0]
    writes = [
        *([("dX", Tensor(x.shape, x.dtype))] if dx else []),
        *([("dW", Tensor(w.shape, w.dtype))] if dw else []),
        *([("dbias", Tensor((channels,), w.dtype))] if db else []),
    ]
    return ledger(
        [
            Entry(pipe, each * dx, "dX: as many as the forward"),
            Entry(pipe, each * dw, "dW: as many as the forward"),
            Entry(vector_pipe(dy.dtype), dy.numel * db, "dbias: sum of dY"),
        ],
        reads=[("dY", dy), *([("X", x)] if dw else []), *([("W", w)] if dx else [])],
        writes=writes,
        conventions=(TAPS, *([PER_GROUP] if moved.groups > 1 else [])),
    )


def _geometry(at: Places, call: Call, w: Tensor) -> Geometry:
    spatial, kernel = len(w.shape) - 2, w.shape[2:]
    dilation = _each(call, at.dilation, spatial, 1)
    pad, more = _padding(at, call, dilation, kernel)
    transposed = at.transposed
    if not isinstance(transposed, bool):
        transposed = arguments.flag(call, transposed)
    groups = w.shape[0] if at.depthwise else 1
    if at.groups is not None:
        groups = arguments.integer(call, at.groups, 1)
    return Geometry(
        _each(call, at.stride, spatial, 1), pad, dilation,
        _each(call, at.output_padding, spatial, 0), groups, transposed, more,
    )  # fmt: skip


def _padding(
    at: Places, call: Call, dilation: tuple[int, ...], kernel: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Padding at either end of each dimension, and what more there is at the far one.

    "same" pads by the reach of the kernel in all: of an odd one, the far end by one more.
    """
    padding = call.arg(at.padding)
    if not isinstance(padding, str):
        return _each(call, at.padding, len(kernel), 0), ()
    if padding not in ("same", "valid"):
        raise Unaccountable(f"{call.op}: padding {padding!r}")
    if padding == "valid":
        return (0,) * len(kernel), ()
    reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    return tuple(r // 2 for r in reach), tuple(r % 2 for r in reach)


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
