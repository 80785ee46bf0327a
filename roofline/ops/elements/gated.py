"""Activations whose output is not the shape of their input, or that have two results."""

from roofline.call import Call, Tensor
from roofline.device import SFU
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.elements.pointwise_table import SIGMOID
from roofline.ops.lines import ledger
from roofline.ops.rule import Unaccountable, named
from roofline.ops.shapes import dims_of
from roofline.work import Entry, Ledger

FREXP = "frexp is 2 flop by convention: the exponent taken out, the rest scaled"


def glu(call: Call) -> Ledger:
    """aten::glu(x[...,2n,...], dim): a * sigmoid(b), half of x each: 4 flop and exp an output."""
    x = arguments.tensor(call, 0)
    (dim,) = dims_of(call, len(x.shape), (arguments.integer(call, 1, -1),))
    if not x.shape or x.shape[dim] % 2:
        raise Unaccountable(f"{call.op}: dimension {dim} of {x.shape} has no two halves")
    y = Tensor(tuple(n // 2 if i == dim else n for i, n in enumerate(x.shape)), x.dtype)
    return ledger(
        _each(x, 4, 1, y.numel),
        reads=[("x", x)],
        writes=[("y", y)],
        conventions=(SIGMOID,),
    )


def glu_backward(call: Call) -> Ledger:
    """aten::glu_backward(g, x, dim): sigmoid 3, g s, g a s (1 - s): 8 and exp an element."""
    g, x = arguments.tensor(call, 0), arguments.tensor(call, 1)
    return ledger(
        _each(x, 8, 1, g.numel),
        reads=[("grad", g), ("x", x)],
        writes=[("dx", Tensor(x.shape, x.dtype))],
        conventions=(SIGMOID,),
    )


def prelu_backward(call: Call) -> Ledger:
    """aten::_prelu_kernel_backward(g, x, w): dx = g or w g 2, dw = g x where x < 0 1."""
    g, x, w = (arguments.tensor(call, i) for i in range(3))
    return ledger(
        _each(x, 3, 0, g.numel),
        reads=[("grad", g), ("x", x), ("w", w)],
        writes=[("dx", Tensor(x.shape, x.dtype)), ("dw, not yet summed", Tensor(x.shape, w.dtype))],
    )


def log_sigmoid(call: Call) -> Ledger:
    """aten::log_sigmoid_forward(x): 4 flop, exp and log; a buffer on the CPU."""
    x = arguments.tensor(call, 0)
    y = Tensor(x.shape, x.dtype)
    buffer = [("the buffer", y)] if call.device == "cpu" else []
    return ledger(_each(x, 4, 2, x.numel), reads=[("x", x)], writes=[("y", y), *buffer])


def log_sigmoid_backward(call: Call) -> Ledger:
    """aten::log_sigmoid_backward(g, x, buffer): 5 flop; exp again unless the buffer is there."""
    g, x, buffer = arguments.tensor(call, 0), arguments.tensor(call, 1), arguments.optional(call, 2)
    kept = [("the buffer", buffer)] if buffer and buffer.numel else []
    return ledger(
        _each(x, 5, 0 if kept else 1, g.numel),
        reads=[("grad", g), ("x", x), *kept],
        writes=[("dx", Tensor(x.shape, x.dtype))],
    )


def frexp(call: Call) -> Ledger:
    """aten::frexp(x): the mantissa and an int32 exponent: taken out, the rest scaled: 2."""
    x = arguments.tensor(call, 0)
    parts = [("the mantissa", Tensor(x.shape, x.dtype)), ("the exponent", Tensor(x.shape, "int32"))]
    return ledger(_each(x, 2, 0, x.numel), reads=[("x", x)], writes=parts, conventions=(FREXP,))


def fake_quantize(call: Call) -> Ledger:
    """aten::fake_quantize_per_tensor_affine_cachemask(x, ...), per channel: y and the mask.

    arithmetic   scale, round, shift twice, clamp twice: 6 an element
    """
    x = arguments.tensor(call, 0)
    return ledger(
        _each(x, 6, 0, x.numel),
        reads=[("x", x)],
        writes=[("y", Tensor(x.shape, x.dtype)), ("the mask", Tensor(x.shape, "bool"))],
    )


def _each(x: Tensor, flop: int, sfu: int, n: int) -> list[Entry]:
    return [
        Entry(vector_pipe(x.dtype), flop * n, f"{flop} an element"),
        Entry(SFU, sfu * n, f"{sfu} an element"),
    ]


RULES = (
    *named(glu, "glu"),
    *named(glu_backward, "glu_backward"),
    *named(prelu_backward, "_prelu_kernel_backward"),
    *named(log_sigmoid, "log_sigmoid_forward"),
    *named(log_sigmoid_backward, "log_sigmoid_backward"),
    *named(frexp, "frexp"),
    *named(fake_quantize, "fake_quantize_per_tensor_affine_cachemask",
           "fake_quantize_per_channel_affine_cachemask",
           "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"),
)  # fmt: skip
