"""Losses, forward and backward."""

from dataclasses import dataclass
from functools import partial

from roofline.call import Call, Tensor
from roofline.device import SFU
from roofline.ops import arguments
from roofline.ops.dtype import nbytes, vector_pipe
from roofline.ops.lines import ROWS_ARE_COUNTED, Rows, ledger
from roofline.ops.rule import Rule, Unaccountable, named
from roofline.ops.shapes import broadcast, product, promote
from roofline.work import Entry, Ledger

NONE, MEAN = 0, 1  # ATen's Reduction numbers; 2 is sum


def nll_forward(call: Call) -> Ledger:
    """aten::nll_loss_forward(logp[N,C], target[N], weight, reduction, ignore_index), also 2d.

    arithmetic   negate and add a target, 2 more with class weights; a divide for the mean
    read         target, and one element of logp a target; the row of logp is not read
    write        the loss, and the total weight (one element)
    """
    logp, target = arguments.tensor(call, 0), arguments.tensor(call, 1)
    weight, reduction = arguments.optional(call, 2), arguments.integer(call, 3, MEAN)
    each = 1 + (reduction != NONE) + (2 if weight is not None else 0)
    loss = Tensor(target.shape if reduction == NONE else (), logp.dtype)
    picked = [Rows("the target's elements", target.numel, nbytes(1, logp.dtype), logp.numel)]
    if weight is not None:
        size = nbytes(1, weight.dtype)
        picked.append(Rows("the class weights", target.numel, size, weight.numel))
    return ledger(
        [
            Entry(vector_pipe(logp.dtype), each * target.numel, f"negative sum: {each} a target"),
            Entry(vector_pipe(logp.dtype), int(reduction == MEAN), "divide by the total weight"),
        ],
        reads=[("target", target)],
        gathered=picked,
        writes=[("loss", loss), ("total weight", Tensor((), logp.dtype))],
        conventions=(ROWS_ARE_COUNTED,),
    )


def nll_backward(call: Call) -> Ledger:
    """aten::nll_loss_backward(g, logp[N,C], target[N], weight, reduction, ignore, total weight).

    arithmetic   negate and divide an element of target; writes all of dlogp, nearly all zeros
    """
    g, logp, target = (arguments.tensor(call, i) for i in range(3))
    weight, total = arguments.optional(call, 3), arguments.optional(call, 6)
    each = 2 + (weight is not None)
    reads = [("grad", g), ("target", target), *([("total weight", total)] if total else []),
             *([("class weights", weight)] if weight else [])]  # fmt: skip
    return ledger(
        [Entry(vector_pipe(logp.dtype), each * target.numel, f"gradient: {each} a target")],
        reads=reads,
        writes=[("dlogp", Tensor(logp.shape, logp.dtype))],
    )


def cross_entropy(call: Call) -> Ledger:
    """aten::cross_entropy_loss(x[N,C], target[N], weight, reduction, ...), fused.

    arithmetic   max, subtract, sum, and exp on sfu: 4 an element of x; 3 a target
    read         x once, target; write the loss
    """
    x, target = arguments.tensor(call, 0), arguments.tensor(call, 1)
    if not x.shape:
        raise Unaccountable(f"{call.op}: the input has no classes")
    reduction = arguments.integer(call, 3, MEAN)
    loss = Tensor(target.shape if reduction == NONE else (), x.dtype)
    weight = arguments.optional(call, 2)
    return ledger(
        [
            Entry(vector_pipe(x.dtype), 3 * x.numel, "max, subtract, sum: 3 an element"),
            Entry(SFU, x.numel, "exp: 1 an element"),
            Entry(vector_pipe(x.dtype), 3 * target.numel, "subtract, negate, add: 3 a target"),
        ],
        reads=[("x", x), ("target", target), *([("class weights", weight)] if weight else [])],
        writes=[("loss", loss)],
    )


@dataclass(frozen=True, slots=True)
class Pairwise:
    """A loss element by element: arithmetic before reducing, and of the gradient."""

    name: str
    flop: int
    backward: int
    sfu: int = 0
    backward_sfu: int = 0
    reduction_at: int = 2


PAIRWISE = (
    Pairwise("mse_loss", 2, 2),  # subtract, square
    Pairwise("l1_loss", 2, 2),  # subtract, abs
    Pairwise("smooth_l1_loss", 5, 5),  # subtract, abs, compare, and a square and scale
    Pairwise("huber_loss", 5, 5),
    # -(t log x + (1 - t) log(1 - x)): 1 - x, 1 - t, two multiplies, add, negate; two logs
    # backward: g (x - t) / ((1 - x) x): two subtracts, two multiplies, a divide
    Pairwise("binary_cross_entropy", 6, 5, 2, reduction_at=3),
    # (1 - t) x - log sigmoid(x): subtract, multiply, log sigmoid 4, subtract; exp and log
    Pairwise("binary_cross_entropy_with_logits", 7, 0, 2, reduction_at=4),
    Pairwise("soft_margin_loss", 3, 6, 2, 1),  # multiply, negate, 1 +; exp, log
)


def pairwise(row: Pairwise, call: Call) -> Ledger:
    """aten::mse_loss and its kin(x, y, weights, reduction): a function of both, then a reduction.

    mse_loss     subtract, square, and an add to reduce: 3 an element; weights are a multiply each
    """
    x, y = arguments.tensor(call, 0), arguments.tensor(call, 1)
    shape = broadcast(call, (x.shape, y.shape))
    weights = [("weights", t) for i in range(2, row.reduction_at)
               if (t := arguments.optional(call, i)) is not None]  # fmt: skip
    reduction = arguments.integer(call, row.reduction_at, MEAN)
    n, dtype = product(shape), promote((x, y))
    each = row.flop + len(weights) + (reduction != NONE)
    return ledger(
        [
            Entry(vector_pipe(dtype), each * n, f"loss, sum: {each} an element"),
            Entry(SFU, row.sfu * n, f"loss: {row.sfu} an element"),
            Entry(vector_pipe(dtype), int(reduction == MEAN), "divide by the number of elements"),
        ],
        reads=[("input", x), ("target", y), *weights],
        writes=[("loss", Tensor(shape if reduction == NONE else (), dtype))],
    )


def pairwise_backward(row: Pairwise, call: Call) -> Ledger:
    """aten::mse_loss_backward and its kin(g, x, y, reduction): dx, with g folded into a factor.

    mse_loss     subtract, and multiply by 2 g / n: 2 an element
    """
    g, x, y = (arguments.tensor(call, i) for i in range(3))
    shape, dtype = broadcast(call, (x.shape, y.shape)), promote((x, y))
    weight = arguments.optional(call, 3) if row.reduction_at > 2 else None
    flop, n = row.backward + (weight is not None), product(shape)
    return ledger(
        [
            Entry(vector_pipe(dtype), flop * n, f"gradient: {flop} an element"),
            Entry(SFU, row.backward_sfu * n, f"gradient: {row.backward_sfu} an element"),
        ],
        reads=[
            ("grad", g),
            ("input", x),
            ("target", y),
            *([("weights", weight)] if weight else []),
        ],
        writes=[("dx", Tensor(shape, dtype))],
    )


RULES = (
    *named(nll_forward, "nll_loss_forward", "nll_loss2d_forward"),
    *named(nll_backward, "nll_loss_backward", "nll_loss2d_backward"),
    *named(cross_entropy, "cross_entropy_loss"),
    *(Rule(f"aten::{row.name}", partial(pairwise, row)) for row in PAIRWISE),
    *(Rule(f"aten::{row.name}_backward", partial(pairwise_backward, row))
      for row in PAIRWISE if row.backward and row.name != "l1_loss"),
)  # fmt: skip
