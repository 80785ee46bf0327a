"""Convolutions of one to three dimensions: grouped, depthwise, dilated, transposed, and backward.

N batches, Cin and Cout channels, g groups.  Taps that fall on padding are counted: libraries
execute them as multiplications with zero, and the count then depends on shapes alone.
"""

from dataclasses import dataclass

from roofline.call import Math, Tensor
from roofline.errors import BadInput
from roofline.ops.dtype import matmul_pipe, vector_pipe
from roofline.ops.lines import Operands, ledger
from roofline.ops.rule import Unaccountable
from roofline.ops.shapes import product
from roofline.work import Entry, Ledger

FEWER = "a library may run fewer flop: Winograd, Fourier transforms, no taps on padding"
PER_GROUP = (
    "every group is a small product of its own: what a library pads its channels with, to fill "
    "tiles or vectors, is not known and not counted"
)
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
    more: tuple[int, ...] = ()  # padding at the far end beyond `padding`; () is none


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
    return convolved("conv2d", x, w, b, moved, math)


def _has_shortcuts(w: Tensor, dtype: str, math: Math) -> bool:
    """Libraries have algorithms with fewer flop for fp32 and kernels of more than one tap."""
    return dtype == "fp32" and math == "ieee" and any(size > 1 for size in w.shape[2:])


def reached(size: int, out: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Positions of an input of `size` that some tap of `out` outputs falls on.

    >>> reached(8, 4, 1, 2, 0, 1), reached(8, 8, 3, 1, 1, 1)
    (4, 8)
    """
    if dilation == 1 and stride <= kernel:  # no gaps between the first tap and the last
        return max(0, min(size, (out - 1) * stride - padding + kernel))
    taps = {o * stride + k * dilation - padding for o in range(out) for k in range(kernel)}
    return sum(0 <= tap < size for tap in taps)


def convolved(
    op: str,
    x: Tensor,
    w: Tensor,
    bias: Tensor | None,
    moved: Geometry,
    math: Math,
    after: int = 0,
    added: Operands = (),
) -> Ledger:
    """Y = X * W + bias, then `after` elementwise steps an output, one of them with `added`."""
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
            Entry(matmul_pipe(x.dtype, math), flop(x if moved.transposed else y, w),
                  "multiply-add, a kernel's weights at every place"),
            *extra,
            Entry(vector_pipe(x.dtype), after * y.numel, f"{after} elementwise steps an output"),
        ],
        reads=[_input(x, w, out, moved), ("W", w), *([("bias", bias)] if bias else []), *added],
        writes=[("Y", y)],
        conventions=(
            TAPS,
            *([PER_GROUP] if moved.groups > 1 else []),
            *([FEWER] if _has_shortcuts(w, x.dtype, math) else []),
        ),
    )  # fmt: skip


def flop(places: Tensor, w: Tensor) -> int:
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
    far = moved.more or (0,) * len(size)
    for i, k, s, p, d, more, f in zip(size, kernel, moved.stride, moved.padding, moved.dilation,
                                      moved.output_padding, far, strict=True):  # fmt: skip
        if s < 1:
            raise Unaccountable(f"{op}: a stride of {s}")
        n = (i - 1) * s - 2 * p + d * (k - 1) + more + 1 if moved.transposed else (
            i + 2 * p + f - d * (k - 1) - 1) // s + 1  # fmt: skip
        out.append(n)
    if min(out) < 0:
        raise Unaccountable(f"{op}: a kernel {kernel} is larger than its padded input {size}")
    return tuple(out)


FORMULAS = (conv2d,)
