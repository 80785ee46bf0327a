"""Pointwise operators: flop and special functions an element of the output, by hand.

Every row is run with 6 elements a tensor of fp32; the bytes are 24 a tensor.
"""

from itertools import product

import pytest

from roofline import ops
from roofline.call import Call, Tensor
from roofline.device import DRAM, SFU
from roofline.ops.elements import pointwise
from roofline.work import Exactness
from tests.tables.ops_golden import Row, b, check, f, h, i

# name: (tensors, flop, sfu); one of each add, multiply, divide, comparison, max, abs, negation.
COSTS = {
    "add": (2, 1, 0), "sub": (2, 1, 0), "rsub": (2, 1, 0), "mul": (2, 1, 0), "div": (2, 1, 0),
    "true_divide": (2, 1, 0),
    "floor_divide": (2, 2, 0),  # divide, floor
    "remainder": (2, 4, 0), "fmod": (2, 4, 0),  # divide, floor, multiply, subtract
    "reciprocal": (1, 1, 0), "neg": (1, 1, 0), "abs": (1, 1, 0), "sign": (1, 1, 0),
    "sgn": (1, 1, 0), "square": (1, 1, 0),
    "lerp": (3, 3, 0),  # subtract, multiply, add
    "addcmul": (3, 2, 0), "addcdiv": (3, 2, 0),
    "maximum": (2, 1, 0), "minimum": (2, 1, 0), "fmax": (2, 1, 0), "fmin": (2, 1, 0),
    "clamp_min": (2, 1, 0), "clamp_max": (2, 1, 0),
    "clamp": (3, 2, 0),  # two bounds
    "where": (3, 0, 0),  # choosing is no arithmetic
    "masked_fill": (2, 0, 0),
    "floor": (1, 1, 0), "ceil": (1, 1, 0), "round": (1, 1, 0), "trunc": (1, 1, 0),
    "frac": (1, 1, 0),
    "nan_to_num": (1, 3, 0),  # NaN, inf, -inf
    "copysign": (2, 1, 0), "heaviside": (2, 2, 0), "nextafter": (2, 1, 0),
    "deg2rad": (1, 1, 0), "rad2deg": (1, 1, 0),
    "ldexp": (2, 1, 1),  # x * 2^n
    **{n: (1, 0, 1) for n in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos",
        "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf",
        "erfc", "erfinv", "lgamma", "digamma", "sinc", "special_erfcx", "special_i0",
        "special_ndtri", "special_log_ndtr", "special_i0e", "special_i1", "special_i1e", "i0",
        "polygamma", "mvlgamma", "angle", "special_bessel_j0", "special_bessel_j1", "special_bessel_y0", "special_bessel_y1",
        "special_modified_bessel_i0", "special_modified_bessel_i1", "special_modified_bessel_k0",
        "special_modified_bessel_k1", "special_scaled_modified_bessel_k0",
        "special_scaled_modified_bessel_k1", "special_airy_ai", "special_spherical_bessel_j0")},
    **{n: (2, 0, 1) for n in ("igamma", "igammac", "special_zeta")},
    "atan2": (2, 0, 1),
    "complex": (2, 0, 0), "polar": (2, 2, 2),  # r cos, r sin
    "special_entr": (1, 2, 1),  # -x log x
    "hypot": (2, 3, 1),  # two squares, their sum, the root
    "xlogy": (2, 1, 1), "special_xlog1py": (2, 1, 1),
    "logaddexp": (2, 4, 2), "logaddexp2": (2, 4, 2),  # max, difference, 1 +, sum; exp, log
    "pow": (2, 0, 1),
    "relu": (1, 1, 0), "threshold": (1, 1, 0), "threshold_backward": (2, 1, 0),
    "relu6": (1, 2, 0), "hardtanh": (1, 2, 0), "hardtanh_backward": (2, 2, 0),
    "leaky_relu": (1, 2, 0), "leaky_relu_backward": (2, 2, 0),  # compare, multiply
    "prelu": (2, 2, 0), "_prelu_kernel": (2, 2, 0),
    "hardsigmoid": (1, 4, 0), "hardsigmoid_backward": (2, 3, 0),  # + 3, two bounds, / 6
    "hardswish": (1, 5, 0), "hardswish_backward": (2, 5, 0),
    "elu": (1, 4, 1), "elu_backward": (2, 4, 1), "celu": (1, 4, 1), "selu": (1, 4, 1),
    "hardshrink": (1, 2, 0), "hardshrink_backward": (2, 2, 0),
    "softshrink": (1, 3, 0), "softshrink_backward": (2, 2, 0),
    "rrelu_with_noise": (1, 3, 0), "rrelu_with_noise_backward": (3, 1, 0),
    "logit": (1, 2, 1), "logit_backward": (2, 3, 0),  # x / (1 - x), log
    "gelu": (1, 4, 1),  # x / sqrt 2, erf, 1 +, * x, * 0.5
    "gelu_backward": (2, 9, 2),  # cdf 3 and erf, pdf 3 and exp, x * pdf + cdf 2, * g
    "sigmoid": (1, 3, 1),  # negate, exp, 1 +, divide
    "sigmoid_backward": (2, 3, 0), "tanh_backward": (2, 3, 0),  # g * (1 - y) * y; g * (1 - y * y)
    "silu": (1, 4, 1), "silu_backward": (2, 8, 1),  # sigmoid 3, 1 - s, * x, 1 +, * s, * g
    "mish": (1, 2, 3), "mish_backward": (2, 9, 3),  # x * tanh(log(1 + exp x))
    "softplus": (1, 4, 2), "softplus_backward": (2, 5, 1),
    "native_dropout_backward": (2, 2, 0), "_masked_scale": (2, 2, 0),  # mask, scale
    "fake_quantize_per_tensor_affine": (1, 6, 0),
}  # fmt: skip
TO_BOOL = {
    **{n: (2, 1, 0) for n in ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or",
                              "logical_xor")},
    **{n: (1, 1, 0) for n in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit",
                              "logical_not")},
}  # fmt: skip
BITS = {
    **{n: (2, 1, 0) for n in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",
                              "bitwise_right_shift", "__and__", "__or__", "__xor__", "__lshift__",
                              "__rshift__")},
    "bitwise_not": (1, 1, 0),
}  # fmt: skip
COMPLEX = {"complex", "polar"}


def rows():
    """Every name out of place and in place: n tensors read and one written, 24 B each."""
    made = []
    for table, dtype, out in ((COSTS, "fp32", 4), (TO_BOOL, "fp32", 1), (BITS, "int32", 4)):
        for name, (n, flop, sfu) in table.items():
            args = tuple(Tensor((2, 3), dtype) for _ in range(n))
            written = 6 * (8 if name in COMPLEX else out)
            made.append(Row(name, args, 6 * flop, 24 * n, written, 6 * sfu))
            # In place the first tensor is read and written; no kernel of that name may exist.
            made.append(Row(f"{name}_", args, 6 * flop, 24 * n, 24, 6 * sfu))
    return made


ROWS = [row for row in rows() if f"aten::{row.op}" in ops.BY_OP]

SPECIAL = [
    # alpha, value: a factor that is not 1 is one multiply more
    Row("add", (f(6), f(6), 2.0), 12, 48, 24),
    Row("add", (f(6), f(6), 1), 6, 48, 24),
    Row("addcmul", (f(6), f(6), f(6), 0.5), 18, 72, 24),
    Row("addcdiv_", (f(6), f(6), f(6), -0.1), 18, 72, 24),
    # a number instead of a tensor; a 0-dimensional tensor is a parameter
    Row("mul", (f(6), 3), 6, 24, 24),
    Row("mul", (f(6), Tensor((), "fp64")), 6, 24, 24, words="parameters"),
    Row("mul", (f(), f()), 1, 8, 4),
    Row("mul_", (f(), f()), 1, 4, 4),  # in place it may be a number: a trace does not tell
    Row("add_", (f(6), f()), 6, 24, 24),
    # rounding modes: divide and round
    Row("div", (f(6), f(6), "floor"), 12, 48, 24),
    Row("div", (i(6), i(6), None), 6, 96, 24),  # integers divide to fp32
    Row("div", (i(6), i(6), "trunc"), 12, 96, 48),
    # one bound
    Row("clamp", (f(6), 0, None), 6, 24, 24),
    Row("clamp", (f(6), 0.0, 1.0), 12, 24, 24),
    # powers
    Row("pow", (f(6), 2), 6, 24, 24),
    Row("pow", (f(6), 3.0), 12, 24, 24),
    Row("pow", (f(6), 0.5), 0, 24, 24, 6),
    Row("pow", (f(6), -1), 6, 24, 24),
    Row("pow", (f(6), 2.5), 0, 24, 24, 6),
    # GELU's tanh form: 10 by convention
    Row("gelu", (f(6), "tanh"), 54, 24, 24, 6, words="10 flop by convention"),
    Row("gelu", (f(6), "none"), 24, 24, 24, 6, words="erf form"),
    Row("gelu_backward", (f(6), f(6), "tanh"), 108, 48, 24, 6),
    # broadcasting: (2,3,4) * (4): 24 flop, 96 + 16 + 96 B; (8) * (2,8): 16 flop
    Row("mul", (f(2, 3, 4), f(4)), 24, 112, 96),
    Row("mul", (f(8), f(2, 8)), 16, 96, 64),
    # an expanded operand is read once: (4,1) to (4,1024) is 16 B
    Row("add", (f(4, 1024), f(4, 1024, strides=(1, 0))), 4096, 16384 + 16, 16384),
    # the same memory twice is read once
    Row("mul", (f(6, storage=1), f(6, storage=1)), 6, 24, 24),
    Row("mul_", (f(6, strides=(1,), storage=1), f(6, strides=(1,), storage=1)), 6, 24, 24),
    # two halves of one block, and two that overlap by 2 of 4
    Row("add", (f(4, storage=1), f(4, storage=1, offset=4)), 4, 32, 16),
    Row("add", (f(4, storage=1), f(4, storage=1, offset=2)), 4, 24, 16),
    # types: half and single give single; an int tensor and a float number give fp32; bool masks
    Row("add", (h(6), f(6)), 6, 36, 24),
    Row("mul", (i(6), 2.5), 6, 48, 24),
    Row("where", (b(6), f(6), f(6)), 0, 54, 24),
    Row("masked_fill_", (f(6), b(6), 0.0), 0, 30, 24),
    Row("add_", (f(1_000_000), 1), 1_000_000, 4_000_000, 4_000_000),  # 8 MB
    # complex: real flop
    Row("add", (Tensor((6,), "complex64"),) * 2, 12, 96, 48),
    Row("mul", (Tensor((6,), "complex64"),) * 2, 36, 96, 48),
    Row("div", (Tensor((6,), "complex64"),) * 2, 66, 96, 48),
    Row("abs", (Tensor((6,), "complex64"),), 18, 48, 24, 6),
    # exp(b log a): 3 and 3, multiply 6, 2 and 3
    Row("pow", (Tensor((6,), "complex64"),) * 2, 6 * 11, 96, 48, 36),
    Row("pow", (Tensor((6,), "complex64"), 2), 36, 48, 48),
    *(Row(name, (Tensor((6,), "complex64"),), 24, 48, 48, 24) for name in ("sin", "cos", "sinh", "cosh")),
    *(Row(name, (Tensor((6,), "complex64"),), 6 * 19, 48, 48, 48) for name in ("tan", "tanh")),
    Row("tanh_backward", (Tensor((6,), "complex64"),) * 2, 90, 96, 48),
    # the order comes first
    Row("polygamma", (1, f(6)), 0, 24, 24, 6),
    # of a zero: two abs and a comparison; lcm: is it 0, divide, multiply, abs
    *(Row(f"gcd{at}", (i(6), i(6)), 6 * 3, 96, 48, words="is data") for at in ("", "_")),
    *(Row(f"lcm{at}", (i(6), i(6)), 6 * 7, 96, 48, words="is data") for at in ("", "_")),
    # exponent and scale; a mantissa of 4 B and an exponent of 4 B each
    Row("frexp", (f(6),), 12, 24, 24 + 24, words="2 flop by convention"),
    Row("frexp", (h(6),), 12, 12, 12 + 24),
    # activations with two results or another shape
    Row("glu", (f(2, 6), -1), 24, 48, 24, 6),
    Row("glu_backward", (f(2, 3), f(2, 6), -1), 48, 24 + 48, 48, 6),
    Row("_prelu_kernel_backward", (f(6), f(6), f(1)), 18, 24 + 24 + 4, 48),
    Row("log_sigmoid_forward", (f(6),), 24, 24, 48, 12),
    Row("log_sigmoid_forward", (f(6),), 24, 24, 24, 12, device="cuda"),
    Row("log_sigmoid_backward", (f(6), f(6), f(6)), 30, 72, 24),
    Row("log_sigmoid_backward", (f(6), f(6), f(0)), 30, 48, 24, 6),
    Row("fake_quantize_per_tensor_affine_cachemask", (f(6), 1.0, 0, 0, 255), 36, 24, 30),
    Row("fake_quantize_per_channel_affine_cachemask", (f(6), f(6), i(6), 0, 0, 255), 36, 24, 30),
    Row("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", (f(6), f(1), i(1), i(1), 0, 255), 36, 24, 30),
    # scale, round, shift, clamp 2; a byte each is written
    Row("quantize_per_tensor", (f(6), 0.1, 10, "quint8"), 30, 24, 6, words="5 an element"),
    Row("quantize_per_tensor", (f(6), f(), i(), "qint32"), 30, 24 + 4 + 8, 24),
    Row("quantize_per_channel", (f(2, 3), f(2), i(2), 0, "qint8"), 30, 24 + 8 + 16, 6),
    Row("quantize_per_tensor_dynamic", (f(6), "quint8", False), 42, 24, 6),
    Row("dequantize", (Tensor((6,), "quint8"),), 12, 6, 24),
    *(Row(f"_fake_quantize_learnable_{name}_affine", (f(6), f(1), f(1), *axis, 0, 255, 1.0), 42, 32, 24)
      for name, axis in (("per_tensor", ()), ("per_channel", (0,)))),
    *(Row(f"_fake_quantize_learnable_{name}_affine_backward", (f(6), f(6), f(1), f(1), *axis, 0, 255, 1.0),
          78, 56, 32) for name, axis in (("per_tensor", ()), ("per_channel", (0,)))),
]  # fmt: skip
ROWS += SPECIAL


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    """Amounts equal the row."""
    check(row)


def test_every_pointwise_rule_has_a_row():
    """And every name in the tables here has a rule."""
    names = {f"aten::{name}" for name in (*COSTS, *TO_BOOL, *BITS)}

    assert names - set(ops.BY_OP) == set()
    assert {rule.op for rule in pointwise.RULES} - {row.call.op for row in ROWS} == set()


@pytest.mark.parametrize(
    ("dtype", "a", "b", "steps"),
    [("int8", 89, 55, 10), ("int32", 1_836_311_903, 1_134_903_170, 45)],
)
def test_the_steps_of_euclid_are_bounded_by_those_of_fibonacci_s_numbers(dtype, a, b, steps):
    """The largest two below 2^7 and 2^31 take the most: 5 ops each, beside 3 whatever the data."""
    (line, *_) = ops.account(Call("aten::gcd", (Tensor((6,), dtype),) * 2)).entries
    taken = 0
    while a:
        a, b, taken = b % a, a, taken + 1

    assert (line.exactness, line.low, line.amount) == (Exactness.BOUNDED, 18, 18)
    assert line.high == 6 * (3 + 5 * steps)
    assert taken == steps


@pytest.mark.parametrize(
    ("dtypes", "longest", "bound"),
    [
        (("int4", "int4"), 5, 5),  # -8 and 5: the size of the least number is one of Fibonacci's
        (("int8", "int8"), 10, 10),
        (("uint8", "uint8"), 12, 12),
        (("uint8", "int8"), 11, 12),  # of two types the wider one bounds
        (("int8", "uint8"), 10, 12),
    ],
)
def test_no_two_numbers_take_more_steps_of_euclid_than_are_counted_at_most(dtypes, longest, bound):
    """All pairs that the types can hold."""
    (line, *_) = ops.account(Call("aten::gcd", tuple(Tensor((1,), d) for d in dtypes))).entries
    sizes = {"int4": range(9), "int8": range(129), "uint8": range(256)}
    most = 0
    for left, right in product(*(sizes[dtype] for dtype in dtypes)):
        a, other, taken = left, right, 0
        while a:
            a, other, taken = other % a, a, taken + 1
        most = max(most, taken)

    assert most == longest
    assert line.high == 3 + 5 * bound


def test_complex_without_a_count_is_named():
    """A function nobody counted for complex numbers is a gap."""
    ledger = ops.account(Call("aten::lgamma", (Tensor((6,), "complex64"),)))

    assert ledger.unaccounted == ("aten::lgamma",)


def test_fp16_computes_in_fp32():
    """The vector pipe of half types is fp32's."""
    names = {r.name for r in ops.account(Call("aten::relu", (h(6),))).demand()}

    assert names == {"vector-fp32", DRAM.name}
    assert SFU.name not in names
