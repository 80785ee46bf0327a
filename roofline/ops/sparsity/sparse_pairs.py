"""Elementwise operators of two tensors of which one is sparse, or both."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import nbytes, vector_pipe
from roofline.ops.elements import pointwise
from roofline.ops.lines import ROWS_ARE_COUNTED, Rows, ledger
from roofline.ops.rule import Unaccountable
from roofline.ops.sparsity.sparse import INDICES, on_values, parts, places
from roofline.work import Entry, Exactness, Ledger

UNION = "elements at the same place are added; how many that are is data where it was not recorded"

Dense = Callable[[Call], Ledger]


def add(call: Call) -> Ledger:
    """aten::add(x, y, alpha), sub: onto a dense tensor the elements held, of two sparse the union.

    arithmetic   E, and as many to scale by alpha
    """
    if not arguments.is_sparse(call, 1):
        raise Unaccountable(f"{call.op}: a dense tensor added to a sparse one")
    scaled = 2 if abs(arguments.number(call, 2, 1)) != 1 else 1
    y = arguments.sparse(call, 1)
    if arguments.is_sparse(call, 0):
        return _union(call, arguments.sparse(call, 0), y, scaled - 1)
    x, held = arguments.tensor(call, 0), y.stored or 0
    arithmetic = [Entry(vector_pipe(x.dtype), scaled * held, f"add: {scaled} an element held")]
    if not call.op.endswith("_"):
        return ledger(arithmetic, reads=[("x", x), *parts("S", y)],
                      writes=[("the result", Tensor(x.shape, x.dtype))],
                      conventions=(INDICES,))  # fmt: skip
    each = held // max(places(y), 1)
    return ledger(
        arithmetic,
        reads=parts("S", y),
        rows_updated=[Rows("the places named", places(y), nbytes(each, x.dtype),
                           x.numel // max(each, 1))],
        conventions=(INDICES, ROWS_ARE_COUNTED),
    )  # fmt: skip


def _union(call: Call, x: Tensor, y: Tensor, scaled: int) -> Ledger:
    of_x, of_y = x.stored or 0, y.stored or 0
    made = call.outputs[0] if call.outputs else None
    if made is None or made.stored is None or call.op.endswith("_"):
        raise Unaccountable(f"{call.op}: how many elements the sum holds was not recorded")
    met = max(0, of_x + of_y - made.stored)
    return ledger(
        [Entry(vector_pipe(x.dtype), met + scaled * of_y, "add, where both hold an element")],
        reads=[*parts("x", x), *parts("y", y)],
        writes=parts("the result", replace(made, storage=None)),
        conventions=(INDICES, UNION),
    )


def mul(dense: Dense, call: Call) -> Ledger:
    """aten::mul(x, y), div: by a number on the elements held; else where both hold one."""
    x, y = call.arg(0), call.arg(1)
    numbers = [t for t in (x, y) if not isinstance(t, Tensor) or not t.shape]
    if numbers:
        return on_values(dense, call)
    made = call.outputs[0] if call.outputs else None
    if arguments.is_sparse(call, 0) and arguments.is_sparse(call, 1):
        a, b = arguments.sparse(call, 0), arguments.sparse(call, 1)
        if made is None or made.stored is None:
            least = min(a.stored or 0, b.stored or 0)
            each = Entry(vector_pipe(a.dtype), least, "multiply, where both hold an element", None,
                         Exactness.BOUNDED, 0, least)  # fmt: skip
            made = a if least == (a.stored or 0) else b
        else:
            each = Entry(vector_pipe(a.dtype), made.stored, "multiply, where both hold an element")
        return ledger([each], reads=[*parts("x", a), *parts("y", b)],
                      writes=parts("the result", replace(made, storage=None)),
                      conventions=(INDICES, UNION))  # fmt: skip
    at = 0 if arguments.is_sparse(call, 0) else 1
    s, d = arguments.sparse(call, at), arguments.tensor(call, 1 - at)
    held = s.stored or 0
    return ledger(
        [Entry(vector_pipe(s.dtype), held, "multiply, once an element held")],
        reads=parts("S", s),
        gathered=[Rows("the elements there", held, nbytes(1, d.dtype), d.numel)],
        writes=parts("the result", replace(s, storage=None)),
        conventions=(INDICES, ROWS_ARE_COUNTED),
    )


_MULTIPLY = {rule.op: rule.account for rule in pointwise.RULES
             if rule.op in ("aten::mul", "aten::mul_", "aten::div", "aten::div_")}  # fmt: skip
# Operators with a rule for dense tensors, when an argument is sparse.
OF_SPARSE: Mapping[str, Callable[[Call], Ledger]] = {
    **{f"aten::{name}": add for name in ("add", "add_", "sub", "sub_")},
    **{op: partial(mul, dense) for op, dense in _MULTIPLY.items()},
}
