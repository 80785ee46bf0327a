"""Dropout and drawing from a distribution."""

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.elements.creation import RANDOM
from roofline.ops.lines import ledger
from roofline.ops.rule import Unaccountable, named
from roofline.work import Entry, Ledger


def native_dropout(call: Call) -> Ledger:
    """aten::native_dropout(x, p, train), _fused_dropout(x, p): y = x * mask / p, and the mask.

    arithmetic   compare the random number, multiply by the mask, scale: 3 an element
    write        y, and one byte of mask an element
    """
    x = arguments.tensor(call, 0)
    return ledger(
        [Entry(vector_pipe(x.dtype), 3 * x.numel, "compare, mask, scale: 3 an element")],
        reads=[("x", x)],
        writes=[("y", Tensor(x.shape, x.dtype)), ("the mask", Tensor(x.shape, "bool"))],
        conventions=(RANDOM,),
    )


def dropout(call: Call) -> Ledger:
    """aten::dropout(x, p, train) as one operator; without training it returns x itself."""
    arguments.tensor(call, 0)
    if not arguments.flag(call, 2) or arguments.number(call, 1, 0.5) == 0:
        return ledger()
    return native_dropout(call)


def multinomial(call: Call) -> Ledger:
    """aten::multinomial(p[...,C], samples, replacement): indices drawn with the weights p.

    arithmetic   without replacement: divide by an exponential random number and compare, 2 a weight
                 with replacement: one running total a weight (the search is left out)
    """
    p, samples = arguments.tensor(call, 0), arguments.integer(call, 1)
    if not p.shape:
        raise Unaccountable(f"{call.op}: the weights have no dimensions")
    each = 1 if arguments.flag(call, 2) else 2
    return ledger(
        [Entry(vector_pipe(p.dtype), each * p.numel, f"draw: {each} a weight")],
        reads=[("the weights", p)],
        writes=[("the indices", Tensor((*p.shape[:-1], samples), "int64"))],
        conventions=(RANDOM,),
    )


RULES = (
    *named(native_dropout, "native_dropout", "_fused_dropout"),
    *named(dropout, "dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"),
    *named(multinomial, "multinomial"),
)
