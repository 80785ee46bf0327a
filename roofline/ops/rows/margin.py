"""Losses over classes and over alignments, forward and backward: margins and CTC."""

from functools import partial

from roofline.call import Argument, Call, Tensor
from roofline.device import SFU
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.lines import ledger
from roofline.ops.rows.loss import MEAN, NONE
from roofline.ops.rule import Rule, Unaccountable, named
from roofline.work import Entry, Exactness, Ledger

ALIGNMENT = "CTC is counted as 8 flop and 4 on sfu for every state and step: two sums of logarithms"


def multi_margin(call: Call) -> Ledger:
    """aten::multi_margin_loss(x[N,C], target[N], p, margin, weight, reduction).

    arithmetic   margin - x_y + x: 2, compare, add: 4 an element of x (p = 2: a square more)
    """
    x, target = arguments.tensor(call, 0), arguments.tensor(call, 1)
    weight = arguments.optional(call, 4)
    each = 4 + (arguments.number(call, 2, 1) == 2) + (weight is not None)
    return _loss(call, x, target, weight, each, arguments.integer(call, 5, MEAN))


def multi_margin_backward(call: Call) -> Ledger:
    """aten::multi_margin_loss_backward(g, x, target, p, margin, weight, ..): 5 an element."""
    g, x, target = (arguments.tensor(call, i) for i in range(3))
    weight = arguments.optional(call, 5)
    each = 5 + (weight is not None)
    return ledger(
        [Entry(vector_pipe(x.dtype), each * x.numel, f"gradient: {each} an element")],
        reads=[("grad", g), ("input", x), ("target", target),
               *([("weights", weight)] if weight else [])],
        writes=[("dx", Tensor(x.shape, x.dtype))],
    )  # fmt: skip


def multilabel_margin(backward: bool, call: Call) -> Ledger:
    """aten::multilabel_margin_loss_forward(x[N,C], target[N,C], reduction), _backward(g, x, ...).

    arithmetic   4 for every pair of a target class and another one; how many classes are targets is
                 data: from none to C*C/4 pairs a row
    """
    first = 1 if backward else 0
    x, target = arguments.tensor(call, first), arguments.tensor(call, first + 1)
    classes = x.shape[-1] if x.shape else 1
    most = 4 * x.numel * classes // 4
    pairs = Entry(vector_pipe(x.dtype), most, "4 a pair of a target class and another", None,
                  Exactness.BOUNDED, 0, most)  # fmt: skip
    if backward:
        reads = [("grad", arguments.tensor(call, 0)), ("input", x), ("target", target)]
        reads += [("is target", t) for t in (arguments.optional(call, 4),) if t is not None]
        return ledger([pairs], reads=reads, writes=[("dx", Tensor(x.shape, x.dtype))])
    reduction = arguments.integer(call, 2, MEAN)
    loss = Tensor(x.shape[:-1] if reduction == NONE else (), x.dtype)
    return ledger(
        [pairs],
        reads=[("input", x), ("target", target)],
        writes=[("loss", loss), ("is target", Tensor(target.shape, x.dtype))],
    )


def ctc(backward: bool, call: Call) -> Ledger:
    """aten::_ctc_loss(logp[T,N,C], targets, input lengths, target lengths), _backward.

    arithmetic   for every step of T and every state of 2S + 1: 8 flop and 4 on sfu; backward:
                 twice, and one an element of logp; lengths are taken to be full: an estimate
    """
    first = 1 if backward else 0
    logp, targets = arguments.tensor(call, first), arguments.tensor(call, first + 1)
    if len(logp.shape) != 3:
        raise Unaccountable(f"{call.op}: log probabilities of shape {logp.shape}")
    steps, batch, _ = logp.shape
    states = steps * _states(call.arg(first + 3), targets, batch)
    alpha = Tensor((states,), logp.dtype)
    passes = 2 if backward else 1
    arithmetic = [
        Entry(vector_pipe(logp.dtype), 8 * passes * states, "8 a state", None, Exactness.ESTIMATE),
        Entry(SFU, 4 * passes * states, "4 a state", None, Exactness.ESTIMATE),
    ]
    if backward:
        return ledger(
            [*arithmetic, Entry(vector_pipe(logp.dtype), logp.numel, "scale an element")],
            reads=[("log probabilities", logp), ("targets", targets), ("alpha", alpha)],
            writes=[("dlogp", Tensor(logp.shape, logp.dtype))],
            conventions=(ALIGNMENT,),
        )
    return ledger(
        arithmetic,
        reads=[("log probabilities", logp), ("targets", targets)],
        writes=[("loss", Tensor((batch,), logp.dtype)), ("alpha", alpha)],
        conventions=(ALIGNMENT,),
    )


def _states(lengths: Argument, targets: Tensor, batch: int) -> int:
    """States of all batches a step: a blank around every label, 2S + 1."""
    if isinstance(lengths, tuple) and all(type(n) is int for n in lengths):
        return sum(2 * n + 1 for n in lengths if isinstance(n, int))
    return 2 * targets.numel + batch


def _loss(
    call: Call, x: Tensor, target: Tensor, weight: Tensor | None, each: int, reduction: int
) -> Ledger:
    loss = Tensor(target.shape if reduction == NONE else (), x.dtype)
    return ledger(
        [Entry(vector_pipe(x.dtype), each * x.numel, f"loss: {each} an element")],
        reads=[("input", x), ("target", target), *([("weights", weight)] if weight else [])],
        writes=[("loss", loss)],
    )


RULES = (
    *named(multi_margin, "multi_margin_loss"),
    *named(multi_margin_backward, "multi_margin_loss_backward"),
    Rule("aten::multilabel_margin_loss_forward", partial(multilabel_margin, False)),
    Rule("aten::multilabel_margin_loss_backward", partial(multilabel_margin, True)),
    Rule("aten::_ctc_loss", partial(ctc, False)),
    Rule("aten::_cudnn_ctc_loss", partial(ctc, False)),
    Rule("aten::_ctc_loss_backward", partial(ctc, True)),
)
