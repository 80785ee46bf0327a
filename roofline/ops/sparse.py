"""Sparse tensors in coordinates (COO) and in compressed rows or columns (CSR, CSC).

E is the number of elements a tensor holds.  Its indices are int64: a coordinate a dimension in
COO, a column an element and a pointer a row in CSR.
"""

from dataclasses import replace
from math import ceil, log2

from roofline.call import Call, Layout, Tensor
from roofline.device import SFU
from roofline.ops import arguments
from roofline.ops.dtype import matmul_pipe, nbytes, vector_pipe
from roofline.ops.lines import ROWS_ARE_COUNTED, Operands, Rows, ledger
from roofline.ops.rule import Unaccountable, named
from roofline.ops.shapes import product
from roofline.ops.sorting import SORTING
from roofline.work import Entry, Exactness, Ledger

INDICES = "indices of sparse tensors are int64"
FOUND = "how many elements are not zero is data: from none to all of them"


def parts(what: str, x: Tensor) -> Operands:
    """What a sparse tensor is in memory: its values, and the indices that say where they stand."""
    held = x.stored or 0
    if x.layout == "coo":
        places = Tensor((len(x.shape), held), "int64")
    else:
        compressed = x.shape[-1 if x.layout in ("csc", "bsc") else -2]
        places = Tensor((held + product(x.shape[:-2]) * (compressed + 1),), "int64")
    return [(f"values of {what}", Tensor((held,), x.dtype)), (f"indices of {what}", places)]


def multiply(call: Call, at: int) -> Ledger:
    """C[M,N] = S[M,K] @ D[K,N], S sparse and standing at argument `at`, D after it.

    arithmetic   2*E*N   flop
    read         S, and the rows of D that its columns name: from one to E, at most K
    write        C
    """
    s, d = arguments.sparse(call, at, 2), arguments.tensor(call, at + 1, 2)
    (m, k), (k_of_d, n) = s.shape, d.shape
    if k != k_of_d:
        raise Unaccountable(f"{call.op}: inner sizes differ, {k} and {k_of_d}")
    held = s.stored or 0
    added = arguments.optional(call, 0) if at == 1 else None
    beta = arguments.number(call, 3, 1) if added else 0
    bias = [("the matrix added", added)] if added and beta else []
    return ledger(
        [
            Entry(
                matmul_pipe(d.dtype, call.math), 2 * held * n, "multiply-add, an element held, N"
            ),
            Entry(vector_pipe(d.dtype), m * n * bool(beta), "add, once per output"),
        ],
        reads=[*parts("S", s), *bias],
        gathered=[Rows("the rows of D named", held, nbytes(n, d.dtype), k)],
        writes=[("C", Tensor((m, n), d.dtype))],
        conventions=(INDICES, ROWS_ARE_COUNTED),
    )


def product_call(call: Call) -> Ledger:
    """aten::_sparse_mm(S, D); the rules of aten::mm come here when S is sparse."""
    return multiply(call, 0)


def product_added(call: Call) -> Ledger:
    """aten::_sparse_addmm(C, S, D, beta, alpha); aten::addmm comes here when S is sparse."""
    return multiply(call, 1)


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
        writes=parts("the result", s),
        conventions=(INDICES, ROWS_ARE_COUNTED),
    )  # fmt: skip


def to_dense(call: Call) -> Ledger:
    """aten::_to_dense(S), to_dense: S read, the whole dense tensor written."""
    s = arguments.sparse(call, 0)
    return ledger(
        reads=parts("S", s),
        writes=[("the result", Tensor(s.shape, s.dtype))],
        conventions=(INDICES,),
    )


def to_sparse(call: Call) -> Ledger:
    """aten::_to_sparse(x), _to_sparse_csr, ...: one comparison an element of x; S written.

    How many elements S holds is data; the recorded output says it, else it is from none to all.
    """
    if arguments.is_sparse(call, 0):
        return _converted(call)
    x = arguments.tensor(call, 0)
    compared = Entry(vector_pipe(x.dtype), x.numel, "compare with zero, once an element")
    recorded = call.outputs[0] if call.outputs else None
    if recorded is not None and recorded.layout != "strided" and recorded.stored is not None:
        return ledger([compared], reads=[("the input", x)], writes=parts("the result", recorded),
                      conventions=(INDICES,))  # fmt: skip
    each = nbytes(1, x.dtype) + 8 * max(1, len(x.shape))
    return ledger(
        [compared],
        reads=[("the input", x)],
        scattered=[Rows("the elements found", x.numel, each, x.numel, least=0)],
        conventions=(INDICES, FOUND),
    )


def _converted(call: Call) -> Ledger:
    """From one sparse layout to another: the same values, other indices, no arithmetic."""
    s = arguments.sparse(call, 0)
    layouts: dict[str, Layout] = {"csr": "csr", "csc": "csc"}
    layout = layouts.get(call.op[-3:], "coo")
    there = replace(s, layout=layout)
    return ledger(reads=parts("S", s), writes=parts("the result", there), conventions=(INDICES,))


def coalesce(call: Call) -> Ledger:
    """aten::_coalesce(S): elements sorted by place, those at one place added."""
    s = arguments.sparse(call, 0)
    held = s.stored or 0
    steps = held * ceil(log2(max(held, 1)))
    compared = Entry(vector_pipe("int64"), steps, "compare", None, Exactness.ESTIMATE)
    return ledger(
        [compared, Entry(vector_pipe(s.dtype), held, "add, once an element held")],
        reads=parts("S", s),
        writes=parts("the result", s),
        conventions=(INDICES, SORTING),
    )


def mask(call: Call) -> Ledger:
    """aten::sparse_mask(x, S): the elements of x where S has some."""
    x, s = arguments.tensor(call, 0), arguments.sparse(call, 1)
    return ledger(
        reads=parts("S", s)[1:],
        gathered=[Rows("the elements of x", s.stored or 0, nbytes(1, x.dtype), x.numel)],
        writes=parts("the result", s),
        conventions=(INDICES, ROWS_ARE_COUNTED),
    )


def softmax(call: Call) -> Ledger:
    """aten::_sparse_softmax(S, dim, ...): over the elements held: 5 each, exp on sfu."""
    s = arguments.sparse(call, 0)
    held = s.stored or 0
    return ledger(
        [Entry(vector_pipe(s.dtype), 4 * held, "max, subtract, sum, scale: 4 an element held"),
         Entry(SFU, held, "exp: 1 an element held")],
        reads=parts("S", s),
        writes=parts("the result", s),
        conventions=(INDICES,),
    )  # fmt: skip


RULES = (
    *named(product_call, "_sparse_mm"),
    *named(product_added, "_sparse_addmm"),
    *named(sampled, "sparse_sampled_addmm"),
    *named(to_dense, "_to_dense", "to_dense"),
    *named(to_sparse, "_to_sparse", "_to_sparse_csr", "_to_sparse_csc", "to_sparse"),
    *named(coalesce, "_coalesce"),
    *named(mask, "sparse_mask"),
    *named(softmax, "_sparse_softmax"),
)
