"""Between real numbers and quantised integers: q = clamp(round(x / scale) + zero point)."""

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import matmul_pipe, vector_pipe
from roofline.ops.lines import Operands, ledger, result
from roofline.ops.rule import Rule, Unaccountable, named
from roofline.ops.shapes import dtype_argument
from roofline.work import Entry, Ledger

PACKED = "a packed weight is taken as int8 without a bias"
QUANTISE = "quantising is 5 an element: scale, round, shift, clamp 2"


def quantize(call: Call) -> Ledger:
    """aten::quantize_per_tensor(x, scale, zero, dtype), per channel: x read, q written.

    arithmetic   5 an element; of the dynamic form 2 more, for the least and the greatest
    """
    x = arguments.tensor(call, 0)
    at = {"aten::quantize_per_channel": 4, "aten::quantize_per_tensor_dynamic": 1}.get(call.op, 3)
    dynamic = call.op.endswith("dynamic")
    q = result(call, x.shape, dtype_argument(call, at) or "quint8")
    scales = [("scales", t) for i in (1, 2) if (t := arguments.optional(call, i)) is not None]
    return ledger(
        [Entry(vector_pipe(x.dtype), 5 * x.numel, QUANTISE),
         Entry(vector_pipe(x.dtype), 2 * x.numel * dynamic, "least and greatest, 2 an element")],
        reads=[("x", x), *scales],
        writes=[("q", q)],
        conventions=(QUANTISE,),
    )  # fmt: skip


def dequantize(call: Call) -> Ledger:
    """aten::dequantize(q): subtract the zero point, multiply: 2 an element, in fp32."""
    q = arguments.tensor(call, 0)
    y = result(call, q.shape, "fp32")
    return ledger(
        [Entry(vector_pipe(y.dtype), 2 * q.numel, "shift and scale: 2 an element")],
        reads=[("q", q)],
        writes=[("x", y)],
    )


def learnable(call: Call) -> Ledger:
    """aten::_fake_quantize_learnable_per_tensor_affine(x, scale, zero, ...): 5, and 2 back."""
    x = arguments.tensor(call, 0)
    return ledger(
        [Entry(vector_pipe(x.dtype), 7 * x.numel, "quantise 5, back 2, an element")],
        reads=[("x", x), *_scales(call, 1)],
        writes=[("y", Tensor(x.shape, x.dtype))],
        conventions=(QUANTISE,),
    )


def learnable_backward(call: Call) -> Ledger:
    """aten::_fake_quantize_learnable_..._backward(G, x, scale, zero, ...): dx, dscale, dzero.

    arithmetic   the quantised value again 7, its distance 2, and a product and a sum for scale and
                 zero point each: 13 an element
    """
    g, x = arguments.tensor(call, 0), arguments.tensor(call, 1)
    scales = _scales(call, 2)
    return ledger(
        [Entry(vector_pipe(x.dtype), 13 * x.numel, "quantise again 9, products and sums 4")],
        reads=[("G", g), ("x", x), *scales],
        writes=[("dx", Tensor(x.shape, x.dtype)),
                *((f"d{what}", Tensor(t.shape, t.dtype)) for what, t in scales)],
        conventions=(QUANTISE,),
    )  # fmt: skip


def packed_linear(call: Call) -> Ledger:
    """quantized::linear_dynamic(X[...,K], packed W), linear(X quantised, packed W, scale, zero).

    arithmetic   2*M*N*K   operations on int8
                 7*M*K     least and greatest of X, quantising it (dynamic)
                 2*M*N     scale and shift to fp32; 5*M*N to quantise instead (static)
    read         X; W[N,K] as int8; write Y[...,N]

    The packed weight is an object: its bias, its scales and its layout are not seen.
    """
    x = arguments.tensor(call, 0)
    y = call.outputs[0] if call.outputs else None
    if y is None or not y.shape or not x.shape:
        raise Unaccountable(f"{call.op}: how many features come out was not recorded")
    dynamic, k, n = "dynamic" in call.op, x.shape[-1], y.shape[-1]
    after = 2 if dynamic else 5
    return ledger(
        [Entry(matmul_pipe("int8"), 2 * y.numel * k, "multiply-add, M*N*K times"),
         Entry(vector_pipe("fp32"), 7 * x.numel * dynamic, "quantise the input"),
         Entry(vector_pipe("fp32"), after * y.numel, f"scale and shift: {after} an output")],
        reads=[("X", x), ("packed W", Tensor((n, k), "int8"))],
        writes=[("Y", Tensor(y.shape, y.dtype))],
        conventions=(PACKED,),
    )  # fmt: skip


def _scales(call: Call, at: int) -> Operands:
    names = ("scale", "zero point")
    return [(name, arguments.tensor(call, at + i)) for i, name in enumerate(names)]


PRODUCTS = tuple(
    Rule(f"quantized::linear{name}", packed_linear)
    for name in ("", "_relu", "_dynamic", "_relu_dynamic")
)
RULES = (
    *PRODUCTS,
    *named(quantize, "quantize_per_tensor", "quantize_per_channel", "quantize_per_tensor_dynamic"),
    *named(dequantize, "dequantize"),
    *named(learnable, "_fake_quantize_learnable_per_tensor_affine",
           "_fake_quantize_learnable_per_channel_affine"),
    *named(learnable_backward, "_fake_quantize_learnable_per_tensor_affine_backward",
           "_fake_quantize_learnable_per_channel_affine_backward"),
)  # fmt: skip
