"""The table of pointwise operators: what each costs an element of its output.

Flop on the vector pipe, and results on `sfu`.  An add, multiply, divide, comparison, max, min, abs,
negation or rounding is one flop; a transcendental function is one on `sfu`; choosing, masking and
copying are none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from roofline.call import Call
from roofline.ops import arguments
from roofline.ops.dtype import size

GELU_TANH = (
    "GELU in tanh form is 10 flop by convention: x^3 2, inner polynomial 3, outer product 3, "
    "scaling tanh's argument 1, and tanh on sfu 1"
)
GELU_ERF = "GELU in erf form is 4 flop and erf on sfu"
SIGMOID = "a sigmoid is 1 / (1 + exp(-x)): 3 flop and exp on sfu"
EUCLID = (
    "how many steps Euclid's algorithm takes is data: counted is the least, an operand of 0; at "
    "most are those of neighbouring Fibonacci numbers"
)
POWER = "a power is multiplications for 2 and 3, a root for 1/2, otherwise one result on sfu"


@dataclass(frozen=True, slots=True)
class Cost:
    """Per element of the output."""

    flop: int
    sfu: int = 0
    words: str = ""  # the convention, where one was chosen
    most: int | None = None  # flop at most, where data decide; `flop` is then the least


@dataclass(frozen=True, slots=True)
class Pointwise:
    """One row of the table."""

    name: str
    inputs: int  # leading arguments that may be tensors
    cost: Cost | Callable[[Call], Cost]
    gives: str = "promoted"  # "promoted", "bool", "floating" (integers become fp32), "real", ...


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


def _euclid(more: int) -> Callable[[Call], Cost]:
    """Euclid's algorithm: two abs, then a comparison a step and one more, 4 a remainder."""

    def cost(call: Call) -> Cost:
        steps = _steps(max(_greatest(t.dtype) for t in call.tensors))
        return Cost(3 + more, words=EUCLID, most=3 + 5 * steps + more)

    return cost


def _greatest(dtype: str) -> int:
    """The greatest size of an integer of `dtype`; of a signed one that of its least, -2^(n-1).

    >>> _greatest("uint8"), _greatest("int8")
    (255, 128)
    """
    bits = round(8 * size(dtype))
    return (1 << bits) - 1 if dtype.startswith("uint") else 1 << (bits - 1)


def _steps(greatest: int) -> int:
    """Divisions that Euclid's algorithm takes at most on two numbers up to `greatest`.

    Lame: neighbours among Fibonacci's numbers take longest, and one more in the wrong order.

    >>> _steps(128), _steps(255), _steps(2**63)
    (10, 12, 91)
    """
    low, high, steps = 1, 2, 1
    while low + high <= greatest:
        low, high, steps = high, low + high, steps + 1
    return steps + 1


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
    Pointwise("isposinf", 1, ONE, "bool"),
    Pointwise("isneginf", 1, ONE, "bool"),
    Pointwise("signbit", 1, ONE, "bool"),
    Pointwise("where", 3, NONE),
    Pointwise("masked_fill", 3, NONE, "first"),
    # rounding
    *(Pointwise(name, 1, ONE) for name in ("floor", "ceil", "round", "trunc", "frac")),
    Pointwise("nan_to_num", 1, Cost(3)),
    Pointwise("copysign", 2, ONE, "floating"),
    Pointwise("heaviside", 2, Cost(2)),
    Pointwise("nextafter", 2, ONE),
    Pointwise("deg2rad", 1, ONE, "floating"),
    Pointwise("rad2deg", 1, ONE, "floating"),
    Pointwise("ldexp", 2, Cost(1, 1), "floating"),  # x * 2^n
    # bits and truth values: integer operations
    *(Pointwise(f"bitwise_{name}", 2, ONE) for name in
      ("and", "or", "xor", "left_shift", "right_shift")),
    *(Pointwise(name, 2, ONE) for name in
      ("__and__", "__or__", "__xor__", "__lshift__", "__rshift__")),
    Pointwise("bitwise_not", 1, ONE),
    *(Pointwise(f"logical_{name}", 2, ONE, "bool") for name in ("and", "or", "xor")),
    Pointwise("logical_not", 1, ONE, "bool"),
    Pointwise("gcd", 2, _euclid(0)),
    Pointwise("lcm", 2, _euclid(4)),  # is it 0, a / gcd, * b, abs
    # transcendental functions: one result on sfu
    *(Pointwise(name, 1, SPECIAL, "floating") for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos",
        "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
        "erf", "erfc", "erfinv", "lgamma", "digamma", "sinc", "special_erfcx", "special_i0",
        "special_ndtri", "special_log_ndtr", "special_i0e", "special_i1", "special_i1e", "i0",
        "polygamma", "mvlgamma", "special_bessel_j0", "special_bessel_j1", "special_bessel_y0",
        "special_bessel_y1",
        "special_modified_bessel_i0", "special_modified_bessel_i1", "special_modified_bessel_k0",
        "special_modified_bessel_k1", "special_scaled_modified_bessel_k0",
        "special_scaled_modified_bessel_k1", "special_airy_ai", "special_spherical_bessel_j0",
    )),
    *(Pointwise(name, 2, SPECIAL, "floating") for name in ("igamma", "igammac", "special_zeta")),
    Pointwise("atan2", 2, SPECIAL, "floating"),
    Pointwise("angle", 1, SPECIAL, "real"),
    Pointwise("complex", 2, NONE, "complex"),
    Pointwise("polar", 2, Cost(2, 2), "complex"),  # r cos, r sin
    Pointwise("special_entr", 1, Cost(2, 1), "floating"),  # -x log x
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
    Pointwise("silu", 1, Cost(4, 1, SIGMOID)),
    Pointwise("silu_backward", 2, Cost(8, 1, SIGMOID)),  # s 3, 1 - s, * x, 1 +, * s, * g
    Pointwise("celu", 1, Cost(4, 1)),
    Pointwise("selu", 1, Cost(4, 1)),
    Pointwise("prelu", 2, Cost(2)),
    Pointwise("hardshrink", 1, Cost(2)),
    Pointwise("hardshrink_backward", 2, Cost(2)),
    Pointwise("softshrink", 1, Cost(3)),  # two comparisons, a shift
    Pointwise("softshrink_backward", 2, Cost(2)),
    Pointwise("rrelu_with_noise", 1, Cost(3)),  # compare, draw in a range, scale
    Pointwise("rrelu_with_noise_backward", 3, ONE),
    Pointwise("logit", 1, Cost(2, 1)),  # x / (1 - x), log
    Pointwise("logit_backward", 2, Cost(3)),
    Pointwise("mish", 1, Cost(2, 3)),  # x * tanh(log(1 + exp(x)))
    Pointwise("mish_backward", 2, Cost(9, 3)),
    Pointwise("softplus", 1, Cost(4, 2)),  # scale, compare, 1 +, unscale; exp, log
    Pointwise("softplus_backward", 2, Cost(5, 1)),
    Pointwise("fake_quantize_per_tensor_affine", 1, Cost(6)),  # scale, round, clamp 2, shift 2
    # masks from dropout
    Pointwise("native_dropout_backward", 2, Cost(2), "first"),  # times mask, times scale
    Pointwise("_masked_scale", 2, Cost(2), "first"),
)  # fmt: skip

# PyTorch has most of them in place too, under the same name with an underscore; not these.
_ONLY_OUT_OF_PLACE = frozenset((
    "rsub", "maximum", "minimum", "fmax", "fmin", "isnan", "isinf", "isfinite", "isposinf",
    "isneginf", "signbit", "where", "angle", "complex", "polar", "prelu", "logaddexp",
    "logaddexp2", "hardshrink", "softshrink", "softplus", "fake_quantize_per_tensor_affine",
))  # fmt: skip
IN_PLACE = tuple(
    row
    for row in TABLE
    if row.name not in _ONLY_OUT_OF_PLACE
    and not row.name.startswith(("native_", "special_", "_"))
    and not row.name.endswith("_backward")
)


def _complex_power(call: Call) -> Cost:
    """A square and a cube are multiplies; else exp(b log a): 3 and 3, multiply 6, 2 and 3."""
    exponent = arguments.number(call, 1, 0)
    return Cost(6) if exponent == 2 else Cost(12) if exponent == 3 else Cost(11, 6)


# The same for complex elements, in real flop.  What is not here is not known.
COMPLEX: Mapping[str, Cost | Callable[[Call], Cost]] = {
    "add": Cost(2), "sub": Cost(2), "rsub": Cost(2), "neg": Cost(2), "where": NONE,
    "masked_fill": NONE, "isnan": Cost(2), "isfinite": Cost(2), "eq": Cost(2), "ne": Cost(2),
    "mul": Cost(6),  # four multiplies, two adds
    "div": Cost(11),  # times the conjugate 6, its squared size 3, two divides
    "true_divide": Cost(11),
    "reciprocal": Cost(5),  # squared size 3, two divides
    "square": Cost(6),
    "abs": Cost(3, 1),  # squared size 3, the root
    "sgn": Cost(5, 1),  # abs, two divides
    "angle": Cost(0, 1),
    "exp": Cost(2, 3),  # exp of the real part, times cos and sin
    "log": Cost(3, 3),  # squared size 3, its root and logarithm, the angle
    "sqrt": Cost(5, 3),  # squared size 3 and root; the two parts, a divide and a root each
    "lerp": Cost(10),  # subtract 2, multiply 6, add 2
    "addcmul": Cost(8),
    "addcdiv": Cost(13),
    # exp of either side of the imaginary part, its halves added; sine and cosine of the real part
    "sin": Cost(4, 4), "cos": Cost(4, 4), "sinh": Cost(4, 4), "cosh": Cost(4, 4),
    "tan": Cost(19, 8), "tanh": Cost(19, 8),  # sine over cosine: twice 4, divide 11
    "tanh_backward": Cost(15),  # square 6, 1 -, conjugate, multiply 6
    "pow": _complex_power,
    "sigmoid": Cost(10, 3),  # negate 2, exp 2 and 3, 1 +, reciprocal 5
}  # fmt: skip
