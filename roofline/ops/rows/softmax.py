"""Softmax and its logarithm, forward and backward, each as one fused operator."""

from functools import partial

from roofline.call import Call, Tensor
from roofline.device import SFU
from roofline.errors import BadInput
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.lines import ledger, result
from roofline.ops.rule import Rule
from roofline.ops.shapes import dtype_argument, floating
from roofline.work import Entry, Ledger

PER_ROW = "work done once a row (reciprocal of the sum, logarithm of it) is left out"


def softmax(rows: int, cols: int, dtype: str = "fp32") -> Ledger:
    """Y[rows,cols] = exp(X - max X) / sum exp(X - max X), row by row, in one pass each way.

    arithmetic   4*rows*cols   flop   max, subtract, sum, multiply
                 1*rows*cols   flop   exp, on sfu
    read         rows*cols*s   B      X
    write        rows*cols*s   B      Y

    Left out: the reciprocal of each row's sum.
    """
    if rows < 1 or cols < 1:
        raise BadInput(f"softmax needs rows and cols of at least 1; got {rows} and {cols}")
    x = Tensor((rows, cols), dtype)
    return _forward(x, x)


def forward(call: Call) -> Ledger:
    """aten::_softmax, _log_softmax(x, dim, half_to_float); softmax, log_softmax(x, dim, dtype).

    Both are 5 an element: max, subtract, exp, sum, and a multiply or one more subtract.
    """
    x = arguments.tensor(call, 0)
    if call.op in ("aten::_softmax", "aten::_log_softmax"):
        dtype = "fp32" if arguments.flag(call, 2) else x.dtype
    else:
        dtype = dtype_argument(call, 2) or floating(x.dtype)
    return _forward(x, result(call, x.shape, dtype))


def masked(call: Call) -> Ledger:
    """aten::_masked_softmax(x, mask, dim, mask_type): the mask read as well, and 5 an element."""
    x, mask = arguments.tensor(call, 0), arguments.tensor(call, 1)
    return ledger(
        _arithmetic(x, 4, 1, "max, subtract, sum, scale"),
        reads=[("x", x), ("mask", mask)],
        writes=[("y", Tensor(x.shape, x.dtype))],
        conventions=(PER_ROW,),
    )


def masked_backward(call: Call) -> Ledger:
    """aten::_masked_softmax_backward(g, y, mask, dim): the mask read as well, and 4 an element."""
    g, y, mask = (arguments.tensor(call, i) for i in range(3))
    return ledger(
        _arithmetic(g, 4, 0, "gradient"),
        reads=[("grad", g), ("y", y), ("mask", mask)],
        writes=[("dx", Tensor(g.shape, g.dtype))],
    )


def backward(log: bool, call: Call) -> Ledger:
    """aten::_softmax_backward_data, _log_softmax_backward_data(g, y, dim, input_dtype).

    softmax      y * (g - sum(g * y)):        multiply, sum, subtract, multiply   4 flop an element
    log softmax  g - exp(y) * sum(g):         sum, exp on sfu, multiply, subtract
    """
    g, y = arguments.tensor(call, 0), arguments.tensor(call, 1)
    dx = result(call, g.shape, dtype_argument(call, 3) or g.dtype)
    flop, sfu = (3, 1) if log else (4, 0)
    return ledger(
        _arithmetic(g, flop, sfu, "gradient"), reads=[("grad", g), ("y", y)], writes=[("dx", dx)]
    )


def _forward(x: Tensor, y: Tensor) -> Ledger:
    return ledger(
        _arithmetic(x, 4, 1, "max, subtract, sum, scale"),
        reads=[("x", x)],
        writes=[("y", y)],
        conventions=(PER_ROW,),
    )


def _arithmetic(x: Tensor, flop: int, sfu: int, why: str) -> list[Entry]:
    return [
        Entry(vector_pipe(x.dtype), flop * x.numel, f"{why}: {flop} an element"),
        Entry(SFU, sfu * x.numel, f"exp: {sfu} an element"),
    ]


RULES = (
    *(Rule(f"aten::{name}", forward)
      for name in ("_softmax", "_log_softmax", "softmax", "log_softmax", "_safe_softmax")),
    Rule("aten::_masked_softmax", masked),
    Rule("aten::_masked_softmax_backward", masked_backward),
    Rule("aten::_softmax_backward_data", partial(backward, False)),
    Rule("aten::_log_softmax_backward_data", partial(backward, True)),
)  # fmt: skip
FORMULAS = (softmax,)
