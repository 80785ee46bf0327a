"""Operators that compute each output element from the elements at the same place.

The table says, per element of the output, the flop on the vector pipe and the results on `sfu`.
An add, multiply, divide, comparison, max, min, abs, negation or rounding is one flop; a
transcendental function is one on `sfu`; choosing, masking and copying are none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from roofline.call import Call, Tensor
from roofline.device import SFU
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.lines import ledger, result
from roofline.ops.rule import Rule, Unaccountable
from roofline.ops.shapes import broadcast, floating, kind, product, promote
from roofline.work import Entry, Ledger

GELU_TANH = (
    "GELU in tanh form is 10 flop by convention: x^3 2, inner polynomial 3, outer product 3, "
    "scaling tanh's argument 1, and tanh on sfu 1"
)
GELU_ERF = "GELU in erf form is 4 flop and erf on sfu"
SIGMOID = "a sigmoid is 1 / (1 + exp(-x)): 3 flop and exp on sfu"
POWER = "a power is multiplications for 2 and 3, a root for 1/2, otherwise one result on sfu"
SCALARS = "0-dimensional operands beside larger ones are parameters, not traffic"


@dataclass(frozen=True, slots=True)
class Cost:
    """Per element of the output."""

    flop: int
    sfu: int = 0
    words: str = ""  # the convention, where one was chosen


@dataclass(frozen=True, slots=True)
class Pointwise:
    """One row of the table."""

    name: str
    inputs: int  # leading arguments that may be tensors
    cost: Cost | Callable[[Call], Cost]
    gives: str = (
        "promoted"  # "promoted", "bool", "floating" (integers become fp32), "real", "first"
    )


def _scaled(flop: int, at: int) -> Callable[[Call], Cost]:
    """`flop`, and one more where the factor in argument `at` is not 1."""

    def cost(call: Call) -> Cost:
        return Cost(flop + (arguments.number(call, at, 1) != 1))

    return cost


def _division(call: Call) -> Cost:
    return Cost(2 if isinstance(call.arg(2), str) else 1)  # a rounding mode rounds


def _power(call: Call) -> Cost:
    cheap = {0: Cost(0), 1: Cost(0), 2: Cost(1), 3: Cost(2), 0.5: Cost(0, 1),
             -1: Cost(1), -2: Cost(2), -0.5: Cost(0, 1)}  # fmt: skip
    exponent = call.arg(1)
    known = isinstance(exponent, (int, float)) and exponent in cheap
    cost = cheap[exponent] if known else Cost(0, 1)  # type: ignore[index]
    return Cost(cost.flop, cost.sfu, POWER)


def _clamp(call: Call) -> Cost:
    return Cost(sum(call.arg(i) is not None for i in (1, 2)))


def _gelu(call: Call) -> Cost:
    return Cost(9, 1, GELU_TANH) if call.arg(1) == "tanh" else Cost(4, 1, GELU_ERF)


def _gelu_backward(call: Call) -> Cost:
    return Cost(18, 1, GELU_TANH) if call.arg(2) == "tanh" else Cost(9, 2, GELU_ERF)


ONE, NONE, SPECIAL = Cost(1), Cost(0), Cost(0, 1)

TABLE = (
    # arithmetic; a factor (alpha, value) other than 1 is one multiply more
    Pointwise("add", 2, _scaled(1, 2)),
    Pointwise("sub", 2, _scaled(1, 2)),
    Pointwise("rsub", 2, _scaled(1, 2)),
    Pointwise("mul", 2, ONE),
    Pointwise("div", 2, _division, "floating"),
    Pointwise("true_divide", 2, ONE, "floating"),
    Pointwise("floor_divide", 2, Cost(2)),
    Pointwise("remainder", 2, Cost(4)),  # divide, floor, multiply, subtract
    Pointwise("fmod", 2, Cost(4)),
    Pointwise("reciprocal", 1, ONE, "floating"),
    Pointwise("neg", 1, ONE),
    Pointwise("abs", 1, ONE, "real"),
    Pointwise("sign", 1, ONE),
    Pointwise("sgn", 1, ONE),
    Pointwise("square", 1, ONE),
    Pointwise("lerp", 3, Cost(3)),  # subtract, multiply, add
    Pointwise("addcmul", 3, _scaled(2, 3)),
    Pointwise("addcdiv", 3, _scaled(2, 3)),
    # comparisons and choices
    Pointwise("maximum", 2, ONE),
    Pointwise("minimum", 2, ONE),
    Pointwise("fmax", 2, ONE),
    Pointwise("fmin", 2, ONE),
    Pointwise("clamp", 3, _clamp),
    Pointwise("clamp_min", 2, ONE),
    Pointwise("clamp_max", 2, ONE),
    *(Pointwise(name, 2, ONE, "bool") for name in ("eq", "ne", "lt", "le", "gt", "ge")),
    Pointwise("isnan", 1, ONE, "bool"),
    Pointwise("isinf", 1, ONE, "bool"),
    Pointwise("isfinite", 1, ONE, "bool"),
    Pointwise("signbit", 1, ONE, "bool"),
    Pointwise("where", 3, NONE),
    Pointwise("masked_fill", 3, NONE, "first"),
    # rounding
    *(Pointwise(name, 1, ONE) for name in ("floor", "ceil", "round", "trunc", "frac")),
    # bits and truth values: integer operations
    *(Pointwise(f"bitwise_{name}", 2, ONE) for name in
      ("and", "or", "xor", "left_shift", "right_shift")),
    *(Pointwise(name, 2, ONE) for name in
      ("__and__", "__or__", "__xor__", "__lshift__", "__rshift__")),
    Pointwise("bitwise_not", 1, ONE),
    *(Pointwise(f"logical_{name}", 2, ONE, "bool") for name in ("and", "or", "xor")),
    Pointwise("logical_not", 1, ONE, "bool"),
    # transcendental functions: one result on sfu
    *(Pointwise(name, 1, SPECIAL, "floating") for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos",
        "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
        "erf", "erfc", "erfinv", "lgamma", "digamma", "sinc", "special_erfcx", "special_i0",
        "special_ndtri", "special_log_ndtr",
    )),
    Pointwise("atan2", 2, SPECIAL, "floating"),
    Pointwise("hypot", 2, Cost(3, 1), "floating"),  # two squares, their sum, the root
    Pointwise("xlogy", 2, Cost(1, 1), "floating"),
    Pointwise("special_xlog1py", 2, Cost(1, 1), "floating"),
    Pointwise("logaddexp", 2, Cost(4, 2), "floating"),  # max, difference, 1 +, sum; exp, log
    Pointwise("logaddexp2", 2, Cost(4, 2), "floating"),
    Pointwise("pow", 2, _power),
    # activations, forward and backward
    Pointwise("relu", 1, ONE),
    Pointwise("relu6", 1, Cost(2)),
    Pointwise("threshold", 1, ONE),
    Pointwise("threshold_backward", 2, ONE),
    Pointwise("leaky_relu", 1, Cost(2)),
    Pointwise("leaky_relu_backward", 2, Cost(2)),
    Pointwise("_prelu_kernel", 2, Cost(2)),
    Pointwise("hardtanh", 1, Cost(2)),
    Pointwise("hardtanh_backward", 2, Cost(2)),
    Pointwise("hardsigmoid", 1, Cost(4)),  # + 3, two bounds, / 6
    Pointwise("hardsigmoid_backward", 2, Cost(3)),
    Pointwise("hardswish", 1, Cost(5)),
    Pointwise("hardswish_backward", 2, Cost(5)),
    Pointwise("elu", 1, Cost(4, 1)),  # compare, - 1, two scales; exp
    Pointwise("elu_backward", 2, Cost(4, 1)),
    Pointwise("gelu", 1, _gelu),
    Pointwise("gelu_backward", 2, _gelu_backward),
    Pointwise("sigmoid", 1, Cost(3, 1, SIGMOID), "floating"),
    Pointwise("sigmoid_backward", 2, Cost(3)),  # g * (1 - y) * y
    Pointwise("tanh_backward", 2, Cost(3)),  # g * (1 - y * y)
    Pointwise("log_sigmoid_forward", 1, Cost(4, 2)),  # min, -abs, 1 +, subtract; exp, log
    Pointwise("log_sigmoid_backward", 2, Cost(5, 1)),
    Pointwise("silu", 1, Cost(4, 1, SIGMOID)),
    Pointwise("silu_backward", 2, Cost(8, 1, SIGMOID)),  # s 3, 1 - s, * x, 1 +, * s, * g
    Pointwise("mish", 1, Cost(2, 3)),  # x * tanh(log(1 + exp(x)))
    Pointwise("mish_backward", 2, Cost(9, 3)),
    Pointwise("softplus", 1, Cost(4, 2)),  # scale, compare, 1 +, unscale; exp, log
    Pointwise("softplus_backward", 2, Cost(5, 1)),
    # masks from dropout
    Pointwise("native_dropout_backward", 2, Cost(2), "first"),  # times mask, times scale
    Pointwise("_masked_scale", 2, Cost(2), "first"),
)  # fmt: skip

# Where PyTorch writes into the first argument under the same name with an underscore.
IN_PLACE = tuple(row for row in TABLE if not row.name.startswith(("log_sigmoid", "native", "_")))


def out_of_place(row: Pointwise, call: Call) -> Ledger:
    """y = f(a, b, ...): every operand with dimensions read once, y written once.

    arithmetic   cost * |y|           on the vector pipe and on sfu
    read         touched bytes of a, b, ...   (stride 0 counts once, shared memory once)
    write        |y| * s
    """
    operands = _operands(row, call)
    shape = broadcast(call, [t.shape for t in operands])
    y = result(call, shape, _dtype(row, call, operands))
    return ledger(
        _arithmetic(row, call, operands, product(shape)),
        reads=_traffic(operands),
        writes=[("the result", y)],
        conventions=_words(row, call, operands),
    )


def in_place(row: Pointwise, call: Call) -> Ledger:
    """x = f(x, b, ...): x crosses twice, the other operands once."""
    x = arguments.tensor(call, 0)
    operands = _operands(row, call)
    if broadcast(call, [t.shape for t in operands]) != x.shape:
        raise Unaccountable(f"{call.op}: an operand is larger than the tensor written to")
    reads = [(what, t) for what, t in _traffic(operands) if t is not x]
    return ledger(
        _arithmetic(row, call, operands, x.numel),
        updates=[("the tensor written to", x)],
        reads=reads,
        conventions=_words(row, call, operands),
    )


def _operands(row: Pointwise, call: Call) -> list[Tensor]:
    found = [t for i in range(row.inputs) if (t := arguments.optional(call, i)) is not None]
    if not found:
        raise Unaccountable(f"{call.op}: none of its first {row.inputs} arguments is a tensor")
    return found


def _traffic(operands: list[Tensor]) -> list[tuple[str, Tensor]]:
    large = [t for t in operands if t.shape] or operands
    return [(f"operand {i + 1}", t) for i, t in enumerate(large)]


def _arithmetic(row: Pointwise, call: Call, operands: list[Tensor], outputs: int) -> list[Entry]:
    cost = _cost(row, call)
    dtype = promote(operands)
    if row.gives == "floating" and call.arg(2) is None:
        dtype = floating(dtype)
    each = f"{row.name}: {{}} an output element"
    parts = 1
    if kind(dtype) == 3 and row.name in ("add", "sub", "rsub", "neg"):
        parts = 2  # real and imaginary part
    elif kind(dtype) == 3 and (row.name not in ("where", "masked_fill")):
        if row.name != "mul":
            raise Unaccountable(f"{call.op}: no count is known for complex elements")
        parts = 6  # four multiplies, two adds
    return [
        Entry(vector_pipe(dtype), parts * cost.flop * outputs, each.format(parts * cost.flop)),
        Entry(SFU, parts * cost.sfu * outputs, each.format(cost.sfu)),
    ]


def _cost(row: Pointwise, call: Call) -> Cost:
    return row.cost if isinstance(row.cost, Cost) else row.cost(call)


def _words(row: Pointwise, call: Call, operands: list[Tensor]) -> tuple[str, ...]:
    words = _cost(row, call).words
    scalars = len({bool(t.shape) for t in operands}) == 2
    return (*([words] if words else []), *([SCALARS] if scalars else []))


def _dtype(row: Pointwise, call: Call, operands: list[Tensor]) -> str:
    if row.gives == "bool":
        return "bool"
    if row.gives == "first":
        return operands[0].dtype
    values = call.args[1:3] if row.name == "where" else call.args[: row.inputs]
    dtype = promote(values)
    if row.gives == "real":
        return {"complex32": "fp16", "complex64": "fp32", "complex128": "fp64"}.get(dtype, dtype)
    rounds = row.name == "div" and isinstance(call.arg(2), str)
    return floating(dtype) if row.gives == "floating" and not rounds else dtype


RULES = (
    *(Rule(f"aten::{row.name}", partial(out_of_place, row)) for row in TABLE),
    *(Rule(f"aten::{row.name}_", partial(in_place, row)) for row in IN_PLACE),
)
