"""Operators that write a tensor from nothing: fills, constants, random numbers, ranges."""

from collections.abc import Callable
from functools import partial
from math import ceil

from roofline.call import Call, Tensor
from roofline.device import SFU
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.lines import ledger, result
from roofline.ops.rule import Rule, Unaccountable, named
from roofline.ops.shapes import below, broadcast, dtype_argument
from roofline.work import Entry, Ledger

RANDOM = "drawing a random number is no flop: the generator's integer work is left out"


def fill(words: str, call: Call) -> Ledger:
    """aten::fill_, zero_, bernoulli_, normal_, ... (y, ...): y written once, nothing read."""
    y = arguments.tensor(call, 0)
    return ledger(writes=[("the tensor written to", y)], conventions=(words,) if words else ())


def like(words: str, call: Call) -> Ledger:
    """aten::zeros_like, full_like, fill, uniform(x, ...): a tensor of x's shape written."""
    x = arguments.tensor(call, 0)
    at = 2 if call.op == "aten::full_like" else 1
    said = dtype_argument(call, at) if call.op.endswith("_like") else None
    y = result(call, x.shape, said or x.dtype)
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


def sequence(call: Call) -> Ledger:
    """aten::linspace, logspace(start, end, steps), randperm(n), hann_window(n), ...: `n` written.

    linspace is a multiply and an add an element, logspace a power on sfu more, a window a cosine.
    """
    name = call.op.removeprefix("aten::")
    n = arguments.integer(call, 2 if name.endswith("space") else 0)
    costs = {"linspace": (2, 0), "logspace": (2, 1), "randperm": (0, 0), "fft_fftfreq": (2, 0)}
    flop, sfu = costs.get(name, (3, 1))
    y = result(call, (n,), "int64" if name == "randperm" else "fp32")
    return ledger(
        [Entry(vector_pipe(y.dtype), flop * n, f"{flop} an element"),
         Entry(SFU, sfu * n, f"{sfu} an element")],
        writes=[("the result", y)],
        conventions=(RANDOM,) if name == "randperm" else (),
    )  # fmt: skip


def eye(call: Call) -> Ledger:
    """aten::eye(n, m): n * m elements written (m = n when there is none)."""
    n = arguments.integer(call, 0)
    square = len(call.args) < 6  # eye.m(n, m, dtype, layout, device, pin)
    shape = (n, n if square else arguments.integer(call, 1))
    return ledger(writes=[("the result", result(call, shape, "fp32"))])


def triangle_places(call: Call) -> Ledger:
    """aten::tril_indices, triu_indices(rows, cols, offset): two int64 an element kept."""
    rows, cols = arguments.integer(call, 0), arguments.integer(call, 1)
    offset, lower = arguments.integer(call, 2, 0), call.op == "aten::tril_indices"
    kept = below(rows, cols, offset) if lower else rows * cols - below(rows, cols, offset - 1)
    return ledger(writes=[("the places", result(call, (2, kept), "int64"))])


def drawn(call: Call) -> Ledger:
    """aten::normal(mean, std), poisson(rate), binomial(n, p): parameters read, a number drawn each.

    normal: a multiply and an add an element to scale
    """
    given = [t for i in (0, 1) if (t := arguments.optional(call, i)) is not None]
    shape = broadcast(call, [t.shape for t in given]) if given else arguments.integers(call, 2)
    y = result(call, shape, given[0].dtype if given else "fp32")
    flop = 2 if call.op == "aten::normal" else 0
    return ledger(
        [Entry(vector_pipe(y.dtype), flop * y.numel, "scale and shift: 2 an element")],
        reads=[("a parameter", t) for t in given],
        writes=[("the result", y)],
        conventions=(RANDOM,),
    )


def half_sequence(call: Call) -> Ledger:
    """aten::fft_rfftfreq(n, d, ...): n/2 + 1 frequencies, a multiply and a divide each."""
    y = result(call, (arguments.integer(call, 0) // 2 + 1,), "fp32")
    return ledger([Entry(vector_pipe(y.dtype), 2 * y.numel, "2 an element")],
                  writes=[("the result", y)])  # fmt: skip


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
    if not all(isinstance(call.arg(i), (int, float)) for i in range(len(bounds))):
        raise Unaccountable(f"{call.op}: the record does not say how far it counts")
    start, end, step = {1: (0, *bounds, 1), 2: (*bounds, 1)}.get(len(bounds), tuple(bounds))[:3]
    if not step:
        raise Unaccountable(f"{call.op}: the record does not say how far it counts")
    dtype = "fp32" if any(isinstance(b, float) for b in bounds) else "int64"
    dtype = dtype_argument(call, len(bounds)) or dtype
    return ledger(writes=[("the result", Tensor((max(0, ceil((end - start) / step)),), dtype))])


def _rules(make: Callable[[str, Call], Ledger], words: str, *names: str) -> tuple[Rule, ...]:
    return tuple(Rule(f"aten::{name}", partial(make, words)) for name in names)


RULES = (
    *_rules(fill, "", "fill_", "zero_"),
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
    *_rules(like, "", "zeros_like", "ones_like", "full_like", "fill"),
    *_rules(
        like,
        RANDOM,
        "rand_like",
        "randn_like",
        "uniform",
        "exponential",
        "geometric",
        "random",
        "log_normal",
        "cauchy",
        "normal_functional",
    ),
    *(Rule(f"aten::{name}", partial(made, 0, 1, "")) for name in ("zeros", "ones")),
    Rule("aten::full", partial(made, 0, 2, "")),
    Rule("aten::scalar_tensor", partial(made, None, 1, "")),
    *(Rule(f"aten::{name}", partial(made, 1, 2, "")) for name in ("new_zeros", "new_ones")),
    Rule("aten::new_full", partial(made, 1, 3, "")),
    *(Rule(f"aten::{name}", partial(made, 0, 1, RANDOM)) for name in ("rand", "randn")),
    *named(bernoulli, "bernoulli"),
    *named(
        sequence,
        "linspace",
        "logspace",
        "randperm",
        "hann_window",
        "hamming_window",
        "blackman_window",
        "bartlett_window",
        "kaiser_window",
        "fft_fftfreq",
    ),
    *named(half_sequence, "fft_rfftfreq"),
    *named(eye, "eye"),
    *named(triangle_places, "tril_indices", "triu_indices"),
    *named(drawn, "normal", "poisson", "binomial", "_standard_gamma", "_sample_dirichlet"),
    *named(randint, "randint", "randint_like"),
    *named(arange, "arange"),
)
