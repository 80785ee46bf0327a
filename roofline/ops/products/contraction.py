"""Products over named or listed dimensions: einsum, tensordot, inner, and sums of three factors."""

from collections.abc import Sequence
from math import prod

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import matmul_pipe, vector_pipe
from roofline.ops.lines import ledger, result
from roofline.ops.products.matmul import FMA
from roofline.ops.rule import Unaccountable, named
from roofline.ops.shapes import COMPLEX, broadcast, kind, product
from roofline.work import Entry, Exactness, Ledger

PATH = "a product of several operands is taken two at a time, along the path given or from the left"
_ELLIPSIS = "0123456789"  # no letter of an equation


def einsum(call: Call) -> Ledger:
    """aten::einsum(equation, operands, path): "bij,bjk->bik" and its like.

    arithmetic   for each pair on the path, 2 flop for every combination of its letters when one is
                 summed away, 1 when none is; a lone operand is summed, 1 an element
    read         every operand once; write the result once.  Intermediates stay out of memory.
    """
    equation, operands = call.arg(0), arguments.tensors(call, 1)
    if not isinstance(equation, str) or not operands:
        raise Unaccountable(f"{call.op}: no equation or no operands")
    terms, out, sizes = _letters(call, equation.replace(" ", ""), operands)
    flop = 0
    path = arguments.integers(call, 2) if isinstance(call.arg(2), tuple) else ()
    remaining = list(terms)
    if len(remaining) == 1 and set(remaining[0]) - set(out):
        flop = prod(sizes[x] for x in set(remaining[0]))
    while len(remaining) > 1:
        first, second = path[:2] if len(path) > 1 else (0, 1)
        path = path[2:]
        if not 0 <= min(first, second) < max(first, second) < len(remaining):
            raise Unaccountable(f"{call.op}: a path that names operand {max(first, second)}")
        a, b = remaining[first], remaining[second]
        remaining = [t for i, t in enumerate(remaining) if i not in (first, second)]
        letters = {*a, *b}
        kept = letters & {*out, *(x for t in remaining for x in t)}
        flop += (2 if letters - kept else 1) * prod(sizes[x] for x in letters)
        remaining.append("".join(sorted(kept)))
    y = result(call, tuple(sizes[x] for x in out), operands[0].dtype)
    flop *= 4 if kind(y.dtype) == COMPLEX else 1
    return ledger(
        [Entry(matmul_pipe(operands[0].dtype, call.math), flop, f"einsum {equation}")],
        reads=[(f"operand {i + 1}", t) for i, t in enumerate(operands)],
        writes=[("the result", y)],
        conventions=(FMA, *([PATH] if len(operands) > 2 else [])),
    )


def tensordot(call: Call) -> Ledger:
    """aten::tensordot(A, B, dims of A, dims of B): 2 flop a step over the dimensions listed."""
    a, b = arguments.tensor(call, 0), arguments.tensor(call, 1)
    of_a, of_b = arguments.integers(call, 2), arguments.integers(call, 3)
    if any(
        not -len(t.shape) <= d < len(t.shape) for t, dims in ((a, of_a), (b, of_b)) for d in dims
    ):
        raise Unaccountable(f"{call.op}: dimensions {of_a} and {of_b} do not exist")
    summed = prod(a.shape[d] for d in of_a)
    if summed != prod(b.shape[d] for d in of_b):
        raise Unaccountable(f"{call.op}: the dimensions summed over differ in size")
    kept = [t.shape[i] for t, dims in ((a, of_a), (b, of_b)) for i in range(len(t.shape))
            if i not in {d % len(t.shape) for d in dims}]  # fmt: skip
    return _contracted(call, a, b, tuple(kept), summed)


def inner(call: Call) -> Ledger:
    """aten::inner(A[...,K], B[...,K]): every row of A with every row of B."""
    a, b = arguments.tensor(call, 0), arguments.tensor(call, 1)
    if not a.shape or not b.shape or a.shape[-1] != b.shape[-1]:
        raise Unaccountable(f"{call.op}: shapes {a.shape} and {b.shape} have no inner product")
    return _contracted(call, a, b, (*a.shape[:-1], *b.shape[:-1]), a.shape[-1])


def kron(call: Call) -> Ledger:
    """aten::kron(A, B): one multiply an output, of which there are |A| * |B|."""
    a, b = arguments.tensor(call, 0), arguments.tensor(call, 1)
    y = result(call, (a.numel * b.numel,), a.dtype)
    return ledger(
        [Entry(vector_pipe(a.dtype), y.numel, "multiply, once per output")],
        reads=[("A", a), ("B", b)],
        writes=[("the result", y)],
    )


def trilinear(call: Call) -> Ledger:
    """aten::_trilinear(x, y, z, expand1, expand2, expand3, sumdim): sum of x * y * z over dims.

    arithmetic   2 multiplies and an add for every element of the common shape; a better order of
                 products takes fewer, so this is an upper bound with 2 |x| |y| / |common| below it
    """
    operands = [arguments.tensor(call, i) for i in range(3)]
    shapes = []
    for t, at in zip(operands, (3, 4, 5), strict=True):
        shape = list(t.shape)
        for d in arguments.integers(call, at) if call.arg(at) else ():
            shape.insert(d, 1)
        shapes.append(shape)
    common = broadcast(call, shapes)
    summed = {d % max(1, len(common)) for d in arguments.integers(call, 6)}
    y = result(call, tuple(n for i, n in enumerate(common) if i not in summed), operands[0].dtype)
    n = product(common)
    entry = Entry(matmul_pipe(operands[0].dtype, call.math), 3 * n, "two multiplies and an add",
                  None, Exactness.BOUNDED, 2 * n, 3 * n)  # fmt: skip
    return ledger([entry], reads=[(f"operand {i + 1}", t) for i, t in enumerate(operands)],
                  writes=[("the result", y)])  # fmt: skip


def _contracted(call: Call, a: Tensor, b: Tensor, shape: tuple[int, ...], summed: int) -> Ledger:
    y = result(call, shape, a.dtype)
    each = 8 if kind(a.dtype) == COMPLEX else 2
    return ledger(
        [Entry(matmul_pipe(a.dtype, call.math), each * y.numel * summed, "multiply-add")],
        reads=[("A", a), ("B", b)],
        writes=[("the result", y)],
        conventions=(FMA,),
    )


def _letters(
    call: Call, equation: str, operands: Sequence[Tensor]
) -> tuple[list[str], str, dict[str, int]]:
    """The letters of every operand and of the result, and the size of each letter."""
    left, arrow, out = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise Unaccountable(f"{call.op}: {len(terms)} terms for {len(operands)} operands")
    sizes: dict[str, int] = {}
    spelled, widest = [], ""
    for term, t in zip(terms, operands, strict=True):
        missing = len(t.shape) - len(term.replace("...", ""))
        fill = _ELLIPSIS[-missing:] if missing > 0 and "..." in term else ""
        widest = max(widest, fill, key=len)
        letters = term.replace("...", fill)
        if len(letters) != len(t.shape):
            raise Unaccountable(f"{call.op}: {term!r} does not describe the shape {t.shape}")
        for letter, size in zip(letters, t.shape, strict=True):
            if letter in sizes and 1 not in (size, sizes[letter]) and sizes[letter] != size:
                raise Unaccountable(f"{call.op}: {letter!r} is both {sizes[letter]} and {size}")
            sizes[letter] = max(size, sizes.get(letter, 1)) if size != 0 else 0
        spelled.append(letters)
    if not arrow:
        every = "".join(spelled)
        out = widest + "".join(sorted(x for x in set(every) if every.count(x) == 1))
    out = out.replace("...", widest)
    if unknown := set(out) - set(sizes):
        raise Unaccountable(f"{call.op}: the result names {sorted(unknown)}, which no operand has")
    return spelled, out, sizes


RULES = (
    *named(einsum, "einsum"),
    *named(tensordot, "tensordot"),
    *named(inner, "inner"),
    *named(kron, "kron"),
    *named(trilinear, "_trilinear"),
)
