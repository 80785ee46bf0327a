"""Matrix products in which an operand is sparse; E is the number of elements that it holds."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import matmul_pipe, nbytes, vector_pipe
from roofline.ops.lines import ROWS_ARE_COUNTED, Operands, Rows, ledger
from roofline.ops.rule import Unaccountable, named
from roofline.ops.sparsity.sparse import INDICES, parts
from roofline.work import Entry, Exactness, Ledger

MEET = "how many elements of two sparse matrices meet is data: a range"


def multiply(call: Call, at: int) -> Ledger:
    """C[M,N] = A[M,K] @ B[K,N] of the arguments `at` and after it, one of them sparse or both.

    arithmetic   2*E*N flop of a sparse A, 2*E*M of a sparse B
    read         the sparse one, and of the other the rows (columns) named: from one to E, at most K
    write        C
    """
    added, alpha = (None, 1.0) if at == 0 else _added(call)
    if arguments.is_sparse(call, at) and arguments.is_sparse(call, at + 1):
        return _both(call, at, added)
    left = arguments.is_sparse(call, at)
    s = arguments.sparse(call, at if left else at + 1, 2)
    d = arguments.tensor(call, at + 1 if left else at, 2)
    (m, k), (k_of_b, n) = (s.shape, d.shape) if left else (d.shape, s.shape)
    if k != k_of_b:
        raise Unaccountable(f"{call.op}: inner sizes differ, {k} and {k_of_b}")
    held, length = s.stored or 0, n if left else m
    what = "the rows of B named" if left else "the columns of A named"
    scaled = Entry(vector_pipe(d.dtype), m * n * (alpha != 1), "scale, once per output")
    return ledger(
        [
            Entry(matmul_pipe(d.dtype, call.math), 2 * held * length,
                  f"multiply-add, an element held, {'N' if left else 'M'}"),
            Entry(vector_pipe(d.dtype), m * n * (added is not None), "add, once per output"),
            scaled,
        ],
        reads=[*parts("the sparse matrix", s), *_bias(added)],
        gathered=[Rows(what, held, nbytes(length, d.dtype), k)],
        writes=[("C", Tensor((m, n), d.dtype))],
        conventions=(INDICES, ROWS_ARE_COUNTED),
    )  # fmt: skip


def _both(call: Call, at: int, added: Tensor | None) -> Ledger:
    """Both sparse: a multiply-add for each pair that meets.

    At least one for each element of C; at most every element meets a whole row or column.
    """
    a, b = arguments.sparse(call, at, 2), arguments.sparse(call, at + 1, 2)
    (m, k), n = a.shape, b.shape[1]
    c = call.outputs[0] if call.outputs else None
    if added is not None or c is None or c.stored is None:
        raise Unaccountable(f"{call.op}: how many elements the product holds was not recorded")
    of_a, of_b = a.stored or 0, b.stored or 0
    low, high = 2 * c.stored, 2 * min(of_a * min(n, of_b), of_b * min(m, of_a))
    expected = min(max(low, 2 * of_a * of_b // max(k, 1)), high)
    return ledger(
        [Entry(matmul_pipe(a.dtype, call.math), expected, "multiply-add, a pair that meets", None,
               Exactness.BOUNDED, low, high)],
        reads=[*parts("A", a), *parts("B", b)],
        writes=parts("C", replace(c, storage=None)),
        conventions=(INDICES, MEET),
    )  # fmt: skip


def vector(call: Call, at: int) -> Ledger:
    """y[M] = S[M,K] @ x[K]: 2*E; x read where a column names it."""
    added, alpha = (None, 1.0) if at == 0 else _added(call)
    s, x = arguments.sparse(call, at, 2), arguments.tensor(call, at + 1, 1)
    held, m = s.stored or 0, s.shape[0]
    more = (added is not None) + (alpha != 1)
    return ledger(
        [Entry(matmul_pipe(x.dtype, call.math), 2 * held, "multiply-add, an element held"),
         Entry(vector_pipe(x.dtype), m * more, f"scale and add: {more} an output")],
        reads=[*parts("S", s), *_bias(added)],
        gathered=[Rows("the elements of x named", held, nbytes(1, x.dtype), x.numel)],
        writes=[("y", Tensor((m,), x.dtype))],
        conventions=(INDICES, ROWS_ARE_COUNTED),
    )  # fmt: skip


def batched(call: Call) -> Ledger:
    """C[B,M,N] = S[B,M,K] @ D[B,K,N]: 2*E*N."""
    s, d = arguments.sparse(call, 0, 3), arguments.tensor(call, 1, 3)
    held, (batch, k, n) = s.stored or 0, d.shape
    return ledger(
        [Entry(matmul_pipe(d.dtype, call.math), 2 * held * n, "multiply-add, an element held, N")],
        reads=parts("S", s),
        gathered=[Rows("the rows of D named", held, nbytes(n, d.dtype), batch * k)],
        writes=[("C", Tensor((batch, s.shape[1], n), d.dtype))],
        conventions=(INDICES, ROWS_ARE_COUNTED),
    )


def sampled(call: Call) -> Ledger:
    """aten::sparse_sampled_addmm(S[M,N], A[M,K], B[K,N], beta, alpha): A @ B where S is.

    arithmetic   2*E*K, and an add an element (beta not 0)
    read         S, and the rows of A and columns of B named: from one to E
    """
    s = arguments.sparse(call, 0, 2)
    a, b = arguments.tensor(call, 1, 2), arguments.tensor(call, 2, 2)
    held, (m, k), n = s.stored or 0, a.shape, b.shape[1]
    added = arguments.number(call, 3, 1) != 0
    return ledger(
        [
            Entry(matmul_pipe(a.dtype, call.math), 2 * held * k, "multiply-add, K an element"),
            Entry(vector_pipe(a.dtype), held * added, "add, once an element held"),
        ],
        reads=parts("S", s),
        gathered=[Rows("the rows of A named", held, nbytes(k, a.dtype), m),
                  Rows("the columns of B named", held, nbytes(k, b.dtype), n)],
        writes=parts("the result", replace(s, storage=None)),
        conventions=(INDICES, ROWS_ARE_COUNTED),
    )  # fmt: skip


def _added(call: Call) -> tuple[Tensor | None, float]:
    """What is added to a product, unless beta is 0, and the factor of the product."""
    if arguments.is_sparse(call, 0):
        raise Unaccountable(f"{call.op}: the matrix added is sparse")
    return (
        arguments.optional(call, 0) if arguments.number(call, 3, 1) else None,
        arguments.number(call, 4, 1),
    )


def _bias(added: Tensor | None) -> Operands:
    return [] if added is None else [("the matrix added", added)]


# Operators with a rule for dense tensors, when an argument is sparse.
OF_SPARSE: Mapping[str, Callable[[Call], Ledger]] = {
    "aten::mm": lambda call: multiply(call, 0),
    "aten::addmm": lambda call: multiply(call, 1),
    "aten::mv": lambda call: vector(call, 0),
    "aten::addmv": lambda call: vector(call, 1),
    "aten::bmm": batched,
}

RULES = (
    *named(OF_SPARSE["aten::mm"], "_sparse_mm", "_sparse_sparse_matmul"),
    *named(OF_SPARSE["aten::addmm"], "_sparse_addmm"),
    *named(sampled, "sparse_sampled_addmm"),
)
