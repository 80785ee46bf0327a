"""Losses, forward and backward."""

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


# name -> flop an element: forward (before reducing) and backward
PAIRWISE = {"mse_loss": (2, 2), "l1_loss": (2, 2), "smooth_l1_loss": (5, 5), "huber_loss": (5, 5)}


def pairwise(flop: int, call: Call) -> Ledger:
    """aten::mse_loss and its kin(x, y, reduction): a function of the difference, then a reduction.

    mse_loss     subtract, square, and an add to reduce: 3 an element
    """
    x, y = arguments.tensor(call, 0), arguments.tensor(call, 1)
    shape = broadcast(call, (x.shape, y.shape))
    reduction = arguments.integer(call, 2, MEAN)
    n, dtype = product(shape), promote((x, y))
    return ledger(
        [
            Entry(
                vector_pipe(dtype), (flop + (reduction != NONE)) * n, "difference, function, sum"
            ),
            Entry(vector_pipe(dtype), int(reduction == MEAN), "divide by the number of elements"),
        ],
        reads=[("input", x), ("target", y)],
        writes=[("loss", Tensor(shape if reduction == NONE else (), dtype))],
    )


def pairwise_backward(flop: int, call: Call) -> Ledger:
    """aten::mse_loss_backward and its kin(g, x, y, reduction): dx, with g folded into a factor.

    mse_loss     subtract, and multiply by 2 g / n: 2 an element
    """
    g, x, y = (arguments.tensor(call, i) for i in range(3))
    shape, dtype = broadcast(call, (x.shape, y.shape)), promote((x, y))
    return ledger(
        [Entry(vector_pipe(dtype), flop * product(shape), f"gradient: {flop} an element")],
        reads=[("grad", g), ("input", x), ("target", y)],
        writes=[("dx", Tensor(shape, dtype))],
    )


RULES = (
    *named(nll_forward, "nll_loss_forward", "nll_loss2d_forward"),
    *named(nll_backward, "nll_loss_backward", "nll_loss2d_backward"),
    *named(cross_entropy, "cross_entropy_loss"),
    *(Rule(f"aten::{name}", partial(pairwise, cost[0])) for name, cost in PAIRWISE.items()),
    *(Rule(f"aten::{name}_backward", partial(pairwise_backward, cost[1]))
      for name, cost in PAIRWISE.items() if name != "l1_loss"),
)  # fmt: skip
