"""Optimizer steps: lists of tensors in one call (foreach), and whole updates (fused)."""

from dataclasses import replace
from functools import partial

from roofline.call import Argument, Call, Tensor
from roofline.device import SFU
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.elements.pointwise import in_place, out_of_place
from roofline.ops.elements.pointwise_table import TABLE, Pointwise
from roofline.ops.lines import Operands, ledger
from roofline.ops.rows import reduce
from roofline.ops.rule import Rule, Unaccountable, named
from roofline.work import Count, Entry, Ledger

FOREACH = {
    "add", "sub", "mul", "div", "addcmul", "addcdiv", "lerp", "sqrt", "rsqrt", "exp", "log",
    "neg", "abs", "reciprocal", "pow", "maximum", "minimum", "clamp_min", "clamp_max", "sign",
    "sigmoid", "tanh", "sin", "cos", "floor", "ceil", "round", "trunc", "erf", "erfc", "log1p",
    "log2", "log10", "expm1", "acos", "asin", "atan", "cosh", "frac", "lgamma", "sinh", "tan",
}  # fmt: skip


def foreach(row: Pointwise, writes_in_place: bool, call: Call) -> Ledger:
    """aten::_foreach_NAME(lists, numbers, ...): NAME of the first of every list, the second, ..."""
    total: Ledger | None = None
    for member in _members(call):
        part = (in_place if writes_in_place else out_of_place)(row, member)
        total = part if total is None else _merged(total, part)
    return total or ledger()


def foreach_norm(call: Call) -> Ledger:
    """aten::_foreach_norm(tensors, ord, dtype): the norm of each."""
    total = ledger()
    for x in arguments.tensors(call, 0):
        total = _merged(
            total, reduce.norm(Call("aten::norm", (x, call.arg(1, 2)), (), call.device))
        )
    return total


def foreach_max(call: Call) -> Ledger:
    """aten::_foreach_max(tensors): the largest element of each."""
    total = ledger()
    for x in arguments.tensors(call, 0):
        total = _merged(total, reduce.maximum("max", Call("aten::max", (x,), (), call.device)))
    return total


def foreach_clone(call: Call) -> Ledger:
    """aten::_foreach_clone(tensors): every tensor read once, and written anew."""
    given = arguments.tensors(call, 0)
    return ledger(
        reads=[("the tensors", t) for t in given],
        writes=[("the copies", Tensor(t.shape, t.dtype)) for t in given],
    )


def foreach_copy(call: Call) -> Ledger:
    """aten::_foreach_copy_(targets, sources): every source read once, every target written once."""
    targets, sources = arguments.tensors(call, 0), arguments.tensors(call, 1)
    return ledger(
        reads=[("the sources", t) for t in sources], writes=[("the targets", t) for t in targets]
    )


def foreach_zero(call: Call) -> Ledger:
    """aten::_foreach_zero_(tensors): every tensor written once."""
    return ledger(writes=[("the tensors", t) for t in arguments.tensors(call, 0)])


def adam(decoupled: bool, call: Call) -> Ledger:
    """aten::_fused_adamw_, _fused_adam_(p, g, m, v, max v, steps, lr, betas, decay, eps, ...).

    decay        p *= 1 - lr*decay 1 (AdamW), g += decay*p 2 (Adam), where decay is not 0
    m            m += (1 - beta1) * (g - m)                3
    v            v = beta2*v + (1 - beta2)*g*g             4
    p            p -= step * m / (sqrt(v)/c + eps)         5, and sqrt on sfu
    amsgrad      max v = max(max v, v)                     1
    read         p, g, m, v (max v); write p, m, v (max v)
    """
    p, g, m, v, peak = (arguments.tensors(call, i) for i in range(5))
    decay, amsgrad = arguments.number(call, 9, 1) != 0, arguments.flag(call, 11)
    flop = 12 + (decay and (1 if decoupled else 2)) + amsgrad
    if not len(p) == len(g) == len(m) == len(v):
        raise Unaccountable(f"{call.op}: its lists differ in length")
    kept = [("parameters", p), ("first moments", m), ("second moments", v), ("peak moments", peak)]
    return _fused(p, flop, 1, kept, [("gradients", t) for t in g])


def sgd(call: Call) -> Ledger:
    """aten::_fused_sgd_(p, g, buffers, weight_decay, momentum, lr, dampening, nesterov, ...).

    decay        g += decay*p                2, where decay is not 0
    momentum     b = momentum*b + g          2 (3 with dampening), where there is momentum
    nesterov     g += momentum*b             2
    p            p -= lr*g                   2
    """
    p, g, b = (arguments.tensors(call, i) for i in range(3))
    decay, momentum = arguments.number(call, 3, 0) != 0, arguments.number(call, 4, 0) != 0
    dampening, nesterov = arguments.number(call, 6, 0) != 0, arguments.flag(call, 7)
    flop = 2 + 2 * decay + momentum * (2 + dampening) + 2 * nesterov
    kept = [("parameters", p), *([("momentum", b)] if momentum else [])]
    return _fused(p, flop, 0, kept, [("gradients", t) for t in g])


def adagrad(call: Call) -> Ledger:
    """aten::_fused_adagrad_(p, g, sums, steps, lr, lr_decay, weight_decay, eps, ...).

    decay        g += decay*p 2, where decay is not 0
    sums         s += g*g     2
    p            p -= lr * g / (sqrt(s) + eps)     4, and sqrt on sfu
    """
    p, g, sums = (arguments.tensors(call, i) for i in range(3))
    flop = 6 + 2 * (arguments.number(call, 6, 0) != 0)
    return _fused(p, flop, 1, [("parameters", p), ("sums", sums)], [("gradients", t) for t in g])


def unscale(call: Call) -> Ledger:
    """aten::_amp_foreach_non_finite_check_and_unscale_(g, found, scale): compare, multiply."""
    g = arguments.tensors(call, 0)
    return _fused(g, 2, 0, [("gradients", g)], [])


def update_scale(call: Call) -> Ledger:
    """aten::_amp_update_scale_(scale, tracker, found, ...): three numbers: 3 flop."""
    scale, tracker, found = (arguments.tensor(call, i) for i in range(3))
    return ledger(
        [Entry(vector_pipe(scale.dtype), 3, "compare, count, scale")],
        updates=[("the scale", scale), ("the tracker", tracker)],
        reads=[("found", found)],
    )


def _fused(
    p: tuple[Tensor, ...],
    flop: int,
    sfu: int,
    kept: list[tuple[str, tuple[Tensor, ...]]],
    reads: Operands,
) -> Ledger:
    n = sum(t.numel for t in p)
    dtype = p[0].dtype if p else "fp32"
    return ledger(
        [
            Entry(vector_pipe(dtype), flop * n, f"update: {flop} a parameter"),
            Entry(SFU, sfu * n, f"update: {sfu} root a parameter"),
        ],
        updates=[(what, t) for what, group in kept for t in group],
        reads=reads,
    )


def _members(call: Call) -> list[Call]:
    """The call of one operator for every place of the lists; numbers are repeated."""
    first = arguments.tensors(call, 0)

    def at(argument: Argument, i: int) -> Argument:
        if not isinstance(argument, tuple):
            return argument
        if len(argument) != len(first):
            raise Unaccountable(f"{call.op}: its lists differ in length")
        member: Argument = argument[i]
        return member

    return [
        replace(call, args=tuple(at(argument, i) for argument in call.args), outputs=())
        for i in range(len(first))
    ]


def _merged(a: Ledger, b: Ledger) -> Ledger:
    """The sum, with lines of the same resource, reason, direction and label put together."""
    lines: dict[tuple[object, ...], Entry] = {}
    for entry in (*a.entries, *b.entries):
        key = (entry.resource, entry.why, entry.access, entry.exactness)
        lines[key] = _summed(lines[key], entry) if key in lines else entry
    words = tuple(dict.fromkeys((*a.conventions, *b.conventions)))
    return Ledger(
        Count.ALGORITHMIC,
        tuple(lines.values()),
        conventions=words,
        footprint=(a.footprint or 0) + (b.footprint or 0),
    )


def _summed(a: Entry, b: Entry) -> Entry:
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return replace(a, amount=a.amount + b.amount)
    return replace(a, amount=a.amount + b.amount, low=a.low + b.low, high=a.high + b.high)


RULES = (
    *(Rule(f"aten::_foreach_{row.name}", partial(foreach, row, False))
      for row in TABLE if row.name in FOREACH),
    *(Rule(f"aten::_foreach_{row.name}_", partial(foreach, row, True))
      for row in TABLE if row.name in FOREACH),
    *named(foreach_norm, "_foreach_norm"),
    *named(foreach_max, "_foreach_max"),
    *named(foreach_clone, "_foreach_clone"),
    *named(foreach_copy, "_foreach_copy_"),
    *named(foreach_zero, "_foreach_zero_"),
    Rule("aten::_fused_adamw_", partial(adam, True)),
    Rule("aten::_fused_adam_", partial(adam, False)),
    *named(sgd, "_fused_sgd_"),
    *named(adagrad, "_fused_adagrad_"),
    *named(unscale, "_amp_foreach_non_finite_check_and_unscale_"),
    *named(update_scale, "_amp_update_scale_"),
)  # fmt: skip
