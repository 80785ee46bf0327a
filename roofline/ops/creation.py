"""Operators that write a tensor from nothing: fills, constants, random numbers, ranges."""

from collections.abc import Callable
from functools import partial
from math import ceil

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.lines import ledger, result
from roofline.ops.rule import Rule, Unaccountable, named
from roofline.ops.shapes import dtype_argument
from roofline.work import Ledger

RANDOM = "drawing a random number is no flop: the generator's integer work is left out"


def fill(words: str, call: Call) -> Ledger:
    """aten::fill_, zero_, bernoulli_, normal_, ... (y, ...): y written once, nothing read."""
    y = arguments.tensor(call, 0)
    return ledger(writes=[("the tensor written to", y)], conventions=(words,) if words else ())


def like(words: str, call: Call) -> Ledger:
    """aten::zeros_like, full_like, rand_like(x, ...): a new tensor of x's shape written once."""
    x = arguments.tensor(call, 0)
    value = 2 if call.op == "aten::full_like" else 1
    y = result(call, x.shape, dtype_argument(call, value) or x.dtype)
    return ledger(writes=[("the result", y)], conventions=(words,) if words else ())


def made(shape_at: int | None, dtype_at: int, words: str, call: Call) -> Ledger:
    """aten::zeros, full, rand, ... (shape, ...): a new tensor written once, fp32 unless said."""
    shape = () if shape_at is None else arguments.integers(call, shape_at)
    source = arguments.optional(call, 0)
    dtype = "fp32" if source is None else source.dtype
    if call.op == "aten::full" and not isinstance(call.arg(1), float):
        dtype = "bool" if isinstance(call.arg(1), bool) else "int64"
    y = result(call, shape, dtype_argument(call, dtype_at) or dtype)
    return ledger(writes=[("the result", y)], conventions=(words,) if words else ())


def bernoulli(call: Call) -> Ledger:
    """aten::bernoulli(p): a 0 or 1 an element, with the probabilities read once."""
    p = arguments.tensor(call, 0)
    return ledger(
        reads=[("the probabilities", p)],
        writes=[("the result", Tensor(p.shape, p.dtype))],
        conventions=(RANDOM,),
    )


def randint(call: Call) -> Ledger:
    """aten::randint([low,] high, shape, ...), randint_like(x, ...): written once, mostly int64."""
    source = arguments.optional(call, 0)
    places = [i for i, a in enumerate(call.args) if isinstance(a, tuple)]
    if source is None and not places and not call.outputs:
        raise Unaccountable(f"{call.op}: the record has no shape")
    if call.outputs:
        shape = call.outputs[0].shape
    else:
        shape = source.shape if source else arguments.integers(call, places[0])
    said = [dtype_argument(call, i) for i in (2, 3, 4) if isinstance(call.arg(i), str)]
    dtype = next((d for d in said if d), source.dtype if source else "int64")
    return ledger(writes=[("the result", result(call, shape, dtype))], conventions=(RANDOM,))


def arange(call: Call) -> Ledger:
    """aten::arange([start,] end [, step], dtype, layout, device, pin): written once, no flop."""
    options = 4  # after the numbers
    if call.outputs:
        y = Tensor(call.outputs[0].shape, call.outputs[0].dtype)
        return ledger(writes=[("the result", y)])
    bounds = [arguments.number(call, i, 0) for i in range(max(1, len(call.args) - options))]
    start, end, step = {1: (0, *bounds, 1), 2: (*bounds, 1)}.get(len(bounds), tuple(bounds))[:3]
    if not step:
        raise Unaccountable(f"{call.op}: the record does not say how far it counts")
    dtype = "fp32" if any(isinstance(b, float) for b in bounds) else "int64"
    dtype = dtype_argument(call, len(bounds)) or dtype
    return ledger(writes=[("the result", Tensor((max(0, ceil((end - start) / step)),), dtype))])


def _rules(make: Callable[[str, Call], Ledger], words: str, *names: str) -> tuple[Rule, ...]:
    return tuple(Rule(f"aten::{name}", partial(make, words)) for name in names)


RULES = (
    *_rules(fill, "", "fill_", "zero_", "eye_"),
    *_rules(
        fill,
        RANDOM,
        "bernoulli_",
        "normal_",
        "uniform_",
        "random_",
        "exponential_",
        "geometric_",
        "cauchy_",
        "log_normal_",
    ),
    *_rules(like, "", "zeros_like", "ones_like", "full_like"),
    *_rules(like, RANDOM, "rand_like", "randn_like"),
    *(Rule(f"aten::{name}", partial(made, 0, 1, "")) for name in ("zeros", "ones")),
    Rule("aten::full", partial(made, 0, 2, "")),
    Rule("aten::scalar_tensor", partial(made, None, 1, "")),
    *(Rule(f"aten::{name}", partial(made, 1, 2, "")) for name in ("new_zeros", "new_ones")),
    Rule("aten::new_full", partial(made, 1, 3, "")),
    *(Rule(f"aten::{name}", partial(made, 0, 1, RANDOM)) for name in ("rand", "randn")),
    *named(bernoulli, "bernoulli"),
    *named(randint, "randint", "randint_like"),
    *named(arange, "arange"),
)
