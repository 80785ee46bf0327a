"""Sparse tensors in coordinates (COO), compressed rows or columns (CSR, CSC) and blocks (BSR, BSC).

E is the number of elements a tensor holds.  Its indices are a coordinate a dimension in COO, and in
the others a column (a row) an element or block and a pointer a row (a column).  Live calls record
the bytes of them; elsewhere they are taken to be int64 and to name single elements.

An operator whose rule is for dense tensors comes here when one of its arguments is sparse.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil, log2

from roofline.call import Call, Layout, Tensor
from roofline.device import SFU
from roofline.ops import arguments
from roofline.ops.dtype import nbytes, vector_pipe
from roofline.ops.lines import ROWS_ARE_COUNTED, Operands, Rows, ledger
from roofline.ops.moving.movement import to_copy
from roofline.ops.rows.sorting import SORTING
from roofline.ops.rule import Unaccountable, named
from roofline.ops.shapes import product
from roofline.work import Entry, Exactness, Ledger

INDICES = "indices of sparse tensors are counted with them, int64 where that was not recorded"
FOUND = "how many elements are not zero is data: from none to all of them"
OWN_INDICES = "a sparse result has indices of its own"


def parts(what: str, x: Tensor) -> Operands:
    """What a sparse tensor is in memory: its values, and the indices that say where they stand."""
    held = x.stored or 0
    values = Tensor((held,), x.dtype, storage=x.storage)
    if x.index_nbytes is not None:
        return [(f"values of {what}", values),
                (f"indices of {what}", Tensor((x.index_nbytes,), "uint8"))]  # fmt: skip
    if x.layout == "coo":
        places = Tensor((len(x.shape), held), "int64")
    else:
        compressed = x.shape[-1 if x.layout in ("csc", "bsc") else -2]
        places = Tensor((held + product(x.shape[:-2]) * (compressed + 1),), "int64")
    return [(f"values of {what}", values), (f"indices of {what}", places)]


def whole(what: str, x: Tensor) -> Operands:
    """A tensor of any layout in memory."""
    return [(what, x)] if x.layout == "strided" else parts(what, x)


def places(x: Tensor) -> int:
    """How many elements, blocks or rows its indices name."""
    return (x.stored or 0) if x.places is None else x.places


def any_among(call: Call) -> bool:
    """Whether an argument is sparse."""
    return any(t.layout != "strided" for t in call.tensors)


def on_values(dense: Callable[[Call], Ledger], call: Call) -> Ledger:
    """An operator of one sparse tensor, element by element: it works on the elements held.

    arithmetic and values   those of the dense operator on E elements
    read, write             the indices, which a result has of its own; none of an update in place
    """
    sources = [i for i, a in enumerate(call.args) if isinstance(a, Tensor) and a.shape]
    if len(sources) != 1 or not arguments.is_sparse(call, sources[0]):
        raise Unaccountable(f"{call.op}: its rule is for one sparse tensor, or for dense ones")
    s = arguments.sparse(call, sources[0])
    values = tuple(_held(a) if isinstance(a, Tensor) else a for a in call.args)
    counted = dense(replace(call, args=values, outputs=tuple(map(_held, call.outputs))))
    made = call.outputs[0] if call.outputs else None
    if call.op.endswith("_") or (made is not None and made.layout == "strided"):
        return counted
    indices = parts("S", s)[1:]
    return counted + ledger(
        reads=indices, writes=[("indices of the result", indices[0][1])],
        conventions=(INDICES, OWN_INDICES),
    )  # fmt: skip


def _held(x: Tensor) -> Tensor:
    if x.layout == "strided":
        return x
    return Tensor((x.stored or 0,), x.dtype, storage=x.storage)


def to_dense(call: Call) -> Ledger:
    """aten::_to_dense(S), to_dense: S read, the whole dense tensor written.

    Of a tensor in oneDNN's blocks, which holds every element, it is a copy.
    """
    if not arguments.is_sparse(call, 0):
        return to_copy(call)
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
    layouts: dict[str, Layout] = {"csr": "csr", "csc": "csc", "bsr": "bsr", "bsc": "bsc"}
    layout = layouts.get(call.op[-3:], "coo")
    recorded = call.outputs[0] if call.outputs else None
    if recorded is None or recorded.stored is None:
        if layout in ("bsr", "bsc"):
            raise Unaccountable(f"{call.op}: which blocks it holds is data, and was not recorded")
        recorded = replace(s, layout=layout, places=None, index_nbytes=None)
    made = parts("the result", replace(recorded, storage=None))
    return ledger(reads=parts("S", s), writes=made, conventions=(INDICES,))


def coalesce(call: Call) -> Ledger:
    """aten::_coalesce(S): places sorted, elements at one place added."""
    s = arguments.sparse(call, 0)
    steps = places(s) * ceil(log2(max(places(s), 1)))
    compared = Entry(vector_pipe("int64"), steps, "compare", None, Exactness.ESTIMATE)
    return ledger(
        [compared, Entry(vector_pipe(s.dtype), s.stored or 0, "add, once an element held")],
        reads=parts("S", s),
        writes=parts("the result", replace(s, storage=None)),
        conventions=(INDICES, SORTING),
    )


def mask(call: Call) -> Ledger:
    """aten::sparse_mask(x, S): the elements of x where S has some."""
    x, s = arguments.tensor(call, 0), arguments.sparse(call, 1)
    return ledger(
        reads=parts("S", s)[1:],
        gathered=[Rows("the elements of x", s.stored or 0, nbytes(1, x.dtype), x.numel)],
        writes=parts("the result", replace(s, dtype=x.dtype, storage=None)),
        conventions=(INDICES, ROWS_ARE_COUNTED),
    )


def summed(call: Call) -> Ledger:
    """aten::_sparse_sum(S, dims), sum: an add an element held."""
    s = arguments.sparse(call, 0)
    y = call.outputs[0] if call.outputs else Tensor((), s.dtype)
    if not call.outputs and isinstance(call.arg(1), tuple):
        raise Unaccountable(f"{call.op}: which places the sums have is data, and was not recorded")
    return ledger(
        [Entry(vector_pipe(s.dtype), s.stored or 0, "add, once an element held")],
        reads=parts("S", s),
        writes=whole("the sums", y),
        conventions=(INDICES,),
    )


def softmax(call: Call) -> Ledger:
    """aten::_sparse_softmax(S, dim, ...): over the elements held: 5 each, exp on sfu."""
    s = arguments.sparse(call, 0)
    held = s.stored or 0
    return ledger(
        [Entry(vector_pipe(s.dtype), 4 * held, "max, subtract, sum, scale: 4 an element held"),
         Entry(SFU, held, "exp: 1 an element held")],
        reads=parts("S", s),
        writes=parts("the result", replace(s, storage=None)),
        conventions=(INDICES,),
    )  # fmt: skip


def joined(call: Call) -> Ledger:
    """aten::cat(tensors): values and indices of all, one after the other."""
    members = [t for t in call.tensors if t.stored is not None]
    if len(members) != len(call.tensors):
        raise Unaccountable(f"{call.op}: dense and sparse tensors together")
    pieces = [part for i, t in enumerate(members) for part in parts(f"tensor {i + 1}", t)]
    made = [(f"{what}, copied", replace(t, storage=None)) for what, t in pieces]
    return ledger(reads=pieces, writes=made, conventions=(INDICES,))


# Operators with a rule for dense tensors, when an argument is sparse.
OF_SPARSE: Mapping[str, Callable[[Call], Ledger]] = {"aten::sum": summed, "aten::cat": joined}

RULES = (
    *named(to_dense, "_to_dense", "to_dense"),
    *named(to_sparse, "_to_sparse", "_to_sparse_csr", "_to_sparse_csc", "_to_sparse_bsr",
           "_to_sparse_bsc", "to_sparse"),
    *named(coalesce, "_coalesce"),
    *named(mask, "sparse_mask"),
    *named(summed, "_sparse_sum"),
    *named(softmax, "_sparse_softmax"),
)  # fmt: skip
