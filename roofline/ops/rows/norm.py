"""Layer, RMS, group and batch normalisation, forward and backward, each as one fused operator."""

from roofline.call import Call, Tensor
from roofline.errors import BadInput
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.lines import Operands, ledger
from roofline.ops.rule import Unaccountable, named
from roofline.ops.shapes import product
from roofline.work import Entry, Ledger

PER_ROW = "work done once a row or channel (divisions by n, epsilon, the root) is left out"


def layer_norm(rows: int, cols: int, dtype: str = "fp32", affine: bool = True) -> Ledger:
    """Y[rows,cols] = (X - mean) / std * gamma[cols] + beta[cols], row by row, X read once.

    arithmetic   8*rows*cols   flop   sum; subtract, square, sum; subtract, scale, gamma, beta
                                      (6 without gamma and beta)
    read         rows*cols*s   B      X
                 2*cols*s      B      gamma, beta
    write        rows*cols*s   B      Y

    Left out: divisions by cols, epsilon and the root, once a row; the statistics kept for backward.
    """
    x, cols_of = _matrix("layer_norm", rows, cols, dtype)
    parameters = [("gamma", cols_of), ("beta", cols_of)] if affine else []
    return forward(x, 8 if affine else 6, [("x", x), *parameters], [("y", x)])


def rms_norm(rows: int, cols: int, dtype: str = "fp32", affine: bool = True) -> Ledger:
    """Y[rows,cols] = X / rms(X) * gamma[cols], row by row, X read once.

    arithmetic   4*rows*cols   flop   square, sum; scale, gamma (3 without gamma)
    read         rows*cols*s   B      X
                 cols*s        B      gamma
    write        rows*cols*s   B      Y

    Left out: the division by cols, epsilon and the root, once a row.
    """
    x, cols_of = _matrix("rms_norm", rows, cols, dtype)
    return forward(x, 4 if affine else 3, [("x", x), *([("gamma", cols_of)] if affine else [])],
                    [("y", x)])  # fmt: skip


def layer(call: Call) -> Ledger:
    """aten::native_layer_norm, layer_norm(x, normalized_shape, gamma, beta, eps)."""
    x = arguments.tensor(call, 0)
    reads, flop = affine(call, x, 6, (2, "gamma"), (3, "beta"))
    rows = x.numel // max(1, product(arguments.integers(call, 1)))
    kept = call.op == "aten::native_layer_norm"
    statistics = kept_statistics(call, reads, rows, 2) if kept else []
    return forward(x, flop, reads, [("y", Tensor(x.shape, x.dtype)), *statistics])


def layer_backward(call: Call) -> Ledger:
    """aten::native_layer_norm_backward(g, x, normalized_shape, mean, rstd, gamma, beta, mask).

    dx       x^ = (x - mean) * rstd 2; sums of g and g*x^ 3; rstd*(g - s1 - x^*s2) 4   9 an element
    dgamma   g * x^, sum     2
    dbeta    sum of g        1
    gamma    g * gamma       1, where there is a gamma
    """
    g, x = arguments.tensor(call, 0), arguments.tensor(call, 1)
    statistics = [("mean", arguments.tensor(call, 3)), ("rstd", arguments.tensor(call, 4))]
    return backward(call, g, x, statistics, arguments.optional(call, 5), 7)


def rms(call: Call) -> Ledger:
    """aten::_fused_rms_norm, rms_norm(x, normalized_shape, gamma, eps)."""
    x = arguments.tensor(call, 0)
    reads, flop = affine(call, x, 3, (2, "gamma"))
    rows = x.numel // max(1, product(arguments.integers(call, 1)))
    kept = call.op == "aten::_fused_rms_norm"
    statistics = kept_statistics(call, reads, rows, 1) if kept else []
    return forward(x, flop, reads, [("y", Tensor(x.shape, x.dtype)), *statistics])


def rms_backward(call: Call) -> Ledger:
    """aten::_fused_rms_norm_backward(g, x, normalized_shape, rstd, gamma, mask).

    dx       x^ = x * rstd 1; sum of g*x^ 2; rstd*(g - x^*s) 3     6 an element
    dgamma   g * x^, sum     2
    gamma    g * gamma       1, where there is a gamma
    """
    g, x, rstd = (arguments.tensor(call, i) for i in (0, 1, 3))
    gamma = arguments.optional(call, 4)
    want_dx, want_dgamma = arguments.flags(call, 5, 2)
    want_dgamma = want_dgamma and gamma is not None
    flop = 1 + (5 if want_dx else 0) + (2 if want_dgamma else 0) + (gamma is not None and want_dx)
    return ledger(
        [each(x, flop, "gradients")],
        reads=[("grad", g), ("x", x), ("rstd", rstd), *([("gamma", gamma)] if gamma else [])],
        writes=[*([("dx", Tensor(x.shape, x.dtype))] if want_dx else []),
                *([("dgamma", Tensor(gamma.shape, gamma.dtype))] if want_dgamma and gamma else [])],
        conventions=(PER_ROW,),
    )  # fmt: skip


def group(call: Call) -> Ledger:
    """aten::native_group_norm(x, gamma, beta, N, C, HxW, groups, eps); group_norm."""
    x = arguments.tensor(call, 0)
    if call.op == "aten::group_norm":
        reads, flop = affine(call, x, 6, (2, "gamma"), (3, "beta"))
        return forward(x, flop, reads, [("y", Tensor(x.shape, x.dtype))])
    reads, flop = affine(call, x, 6, (1, "gamma"), (2, "beta"))
    rows = arguments.integer(call, 3) * arguments.integer(call, 6)
    return forward(x, flop, reads, [("y", Tensor(x.shape, x.dtype)),
                                     *kept_statistics(call, reads, rows, 2)])  # fmt: skip


def group_backward(call: Call) -> Ledger:
    """aten::native_group_norm_backward(g, x, mean, rstd, gamma, N, C, HxW, groups, mask)."""
    g, x = arguments.tensor(call, 0), arguments.tensor(call, 1)
    statistics = [("mean", arguments.tensor(call, 2)), ("rstd", arguments.tensor(call, 3))]
    return backward(call, g, x, statistics, arguments.optional(call, 4), 9, channels_of(call, x))


def backward(
    call: Call,
    g: Tensor,
    x: Tensor,
    statistics: Operands,
    gamma: Tensor | None,
    mask_at: int | None,
    parameters: int | None = None,
    through_statistics: bool = True,
) -> Ledger:
    """dx, dgamma and dbeta as the mask at `mask_at` asks; without statistics dx is g * scale."""
    mask = (True,) * 3 if mask_at is None else arguments.flags(call, mask_at, 3)
    dx, dgamma, dbeta = mask[0], mask[1] and gamma is not None, mask[2] and gamma is not None
    scaled = gamma is not None and dx
    if through_statistics:
        flop = 2 * (dx or dgamma) + 7 * dx + 2 * dgamma + dbeta + scaled
    else:
        flop = 4 * dgamma + dx + dbeta + scaled
    count = parameters or (gamma.numel if gamma else 0)
    kept = Tensor((count,), gamma.dtype if gamma else x.dtype)
    return ledger(
        [each(x, flop, "gradients")],
        reads=[("grad", g), *([("x", x)] if through_statistics or dgamma else []), *statistics,
               *([("gamma", gamma)] if gamma and scaled else [])],
        writes=[*([("dx", Tensor(x.shape, x.dtype))] if dx else []),
                *([("dgamma", kept)] if dgamma else []), *([("dbeta", kept)] if dbeta else [])],
        conventions=(PER_ROW,),
    )  # fmt: skip


def forward(x: Tensor, flop: int, reads: Operands, writes: Operands) -> Ledger:
    """`flop` an element of x."""
    return ledger([each(x, flop, "normalise")], reads=reads, writes=writes, conventions=(PER_ROW,))


def each(x: Tensor, flop: int, why: str) -> Entry:
    """`flop` an element of x, on its vector pipe."""
    return Entry(vector_pipe(x.dtype), flop * x.numel, f"{why}: {flop} an element")


def affine(call: Call, x: Tensor, flop: int, *places: tuple[int, str]) -> tuple[Operands, int]:
    """Operands read and flop an element: one more for every parameter that is there."""
    found = [(what, t) for i, what in places if (t := arguments.optional(call, i)) is not None]
    return [("x", x), *found], flop + len(found)


def kept_statistics(call: Call, reads: Operands, rows: int, count: int) -> Operands:
    """What is kept for backward: as recorded, else fp32 on CUDA, the parameters' on CPU."""
    if len(call.outputs) > count:
        return [("statistics", Tensor(t.shape, t.dtype)) for t in call.outputs[1 : 1 + count]]
    widest = reads[-1][1].dtype
    dtype = "fp32" if call.device == "cuda" and widest != "fp64" else widest
    return [("statistics", Tensor((rows,), dtype))] * count


def channels_of(call: Call, x: Tensor) -> int:
    """The size of dimension 1."""
    if len(x.shape) < 2:
        raise Unaccountable(f"{call.op}: an input of shape {x.shape} has no channels")
    return x.shape[1]


def _matrix(name: str, rows: int, cols: int, dtype: str) -> tuple[Tensor, Tensor]:
    if rows < 1 or cols < 1:
        raise BadInput(f"{name} needs rows and cols of at least 1; got {rows} and {cols}")
    return Tensor((rows, cols), dtype), Tensor((cols,), dtype)


RULES = (
    *named(layer, "native_layer_norm", "layer_norm"),
    *named(layer_backward, "native_layer_norm_backward"),
    *named(rms, "_fused_rms_norm", "rms_norm"),
    *named(rms_backward, "_fused_rms_norm_backward"),
    *named(group, "native_group_norm", "group_norm"),
    *named(group_backward, "native_group_norm_backward"),
)  # fmt: skip
FORMULAS = (layer_norm, rms_norm)
