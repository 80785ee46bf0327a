"""Operators that compute each output element from the elements at the same place."""

from functools import partial

from roofline.call import Call, Tensor
from roofline.device import SFU, Resource
from roofline.ops import arguments
from roofline.ops.dtype import vector_pipe
from roofline.ops.elements.pointwise_table import COMPLEX as COMPLEX_COST
from roofline.ops.elements.pointwise_table import IN_PLACE, TABLE, Cost, Pointwise
from roofline.ops.lines import ledger, result
from roofline.ops.rule import Rule, Unaccountable
from roofline.ops.shapes import COMPLEX, broadcast, floating, kind, product, promote
from roofline.work import Entry, Exactness, Ledger

SCALARS = "0-dimensional operands beside larger ones are parameters, not traffic"


def out_of_place(row: Pointwise, call: Call) -> Ledger:
    """y = f(a, b, ...): every operand with dimensions read once, y written once.

    arithmetic   cost * |y|           on the vector pipe and on sfu
    read         touched bytes of a, b, ...   (stride 0 counts once, shared memory once)
    write        |y| * s
    """
    operands = _operands(row, call)
    shape = broadcast(call, [t.shape for t in operands])
    y = result(call, shape, _dtype(row, call, operands))
    return ledger(
        _arithmetic(row, call, operands, product(shape)),
        reads=_traffic(operands),
        writes=[("the result", y)],
        conventions=_words(row, call, operands),
    )


def in_place(row: Pointwise, call: Call) -> Ledger:
    """x = f(x, b, ...): x crosses twice, the other operands once."""
    x = arguments.tensor(call, 0)
    operands = _operands(row, call)
    if broadcast(call, [t.shape for t in operands]) != x.shape:
        raise Unaccountable(f"{call.op}: an operand is larger than the tensor written to")
    # What changes a single element is a parameter: a trace does not tell it from a number.
    reads = _traffic(operands)[1:] if x.shape else []
    return ledger(
        _arithmetic(row, call, operands, x.numel),
        updates=[("the tensor written to", x)],
        reads=reads,
        conventions=_words(row, call, operands),
    )


def _operands(row: Pointwise, call: Call) -> list[Tensor]:
    if row.name == "where" and call.arg(1) is None:
        raise Unaccountable(f"{call.op}: without values it returns places, and is aten::nonzero")
    first = 1 if row.name == "polygamma" and not isinstance(call.arg(0), Tensor) else 0
    places = range(first, first + row.inputs)
    found = [t for i in places if (t := arguments.optional(call, i)) is not None]
    if not found:
        raise Unaccountable(f"{call.op}: none of its first {row.inputs} arguments is a tensor")
    return found


def _traffic(operands: list[Tensor]) -> list[tuple[str, Tensor]]:
    """The operands that count: those without dimensions only when there are no others."""
    large = [t for t in operands if t.shape] or operands
    return [(f"operand {i + 1}", t) for i, t in enumerate(large)]


def _arithmetic(row: Pointwise, call: Call, operands: list[Tensor], outputs: int) -> list[Entry]:
    cost = _cost(row, call, operands)
    dtype = promote(operands)
    if row.gives == "floating" and call.arg(2) is None:
        dtype = floating(dtype)
    return [
        _flop(row, cost, vector_pipe(dtype), outputs),
        Entry(
            SFU,
            cost.sfu * outputs,
            f"{row.name}: {cost.sfu} an output element",
            function=row.name,
        ),
    ]


def _flop(row: Pointwise, cost: Cost, pipe: Resource, outputs: int) -> Entry:
    least, why = cost.flop * outputs, f"{row.name}: {cost.flop} an output element"
    if cost.most is None:
        return Entry(pipe, least, why)
    why += f" at least, {cost.most} at most"
    return Entry(pipe, least, why, None, Exactness.BOUNDED, least, cost.most * outputs)


def _cost(row: Pointwise, call: Call, operands: list[Tensor]) -> Cost:
    if any(kind(t.dtype) == COMPLEX for t in operands):
        if row.name not in COMPLEX_COST:
            raise Unaccountable(f"{call.op}: no count is known for complex elements")
        complex_cost = COMPLEX_COST[row.name]
        return complex_cost if isinstance(complex_cost, Cost) else complex_cost(call)
    return row.cost if isinstance(row.cost, Cost) else row.cost(call)


def _words(row: Pointwise, call: Call, operands: list[Tensor]) -> tuple[str, ...]:
    words = _cost(row, call, operands).words
    scalars = len({bool(t.shape) for t in operands}) == 2
    return (*([words] if words else []), *([SCALARS] if scalars else []))


def _dtype(row: Pointwise, call: Call, operands: list[Tensor]) -> str:
    if row.gives == "bool":
        return "bool"
    if row.gives == "first":
        return operands[0].dtype
    values = call.args[1:3] if row.name == "where" else call.args[: row.inputs]
    dtype = promote(values)
    if row.gives == "complex":
        return {"fp16": "complex32", "fp64": "complex128"}.get(dtype, "complex64")
    if row.gives == "real":
        return {"complex32": "fp16", "complex64": "fp32", "complex128": "fp64"}.get(dtype, dtype)
    rounds = row.name == "div" and isinstance(call.arg(2), str)
    return floating(dtype) if row.gives == "floating" and not rounds else dtype


RULES = (
    *(Rule(f"aten::{row.name}", partial(out_of_place, row)) for row in TABLE),
    *(Rule(f"aten::{row.name}_", partial(in_place, row)) for row in IN_PLACE),
)
