"""Elementwise work and reductions by size, for people: no call, no tensors."""

from collections.abc import Callable

from roofline.call import Call, Tensor
from roofline.device import SFU
from roofline.errors import BadInput
from roofline.ops.dtype import vector_pipe
from roofline.ops.elements import pointwise, pointwise_table
from roofline.ops.lines import ledger
from roofline.ops.rows import reduce
from roofline.work import Entry, Ledger

_POINTWISE = {row.name: row for row in pointwise_table.TABLE}
_REDUCTIONS = {row.name: row for row in reduce.TABLE}


def elementwise(
    n: int, inputs: int = 1, flop: int = 1, sfu: int = 0, dtype: str = "fp32", out_dtype: str = ""
) -> Ledger:
    """y[N] = f(x1[N], x2[N], ...) with `inputs` operands, `flop` and `sfu` an element.

    arithmetic   flop*N on the vector pipe, sfu*N on sfu; read inputs*N*s; write N*s'
    """
    if min(n, inputs) < 1 or min(flop, sfu) < 0:
        raise BadInput(f"elementwise needs n and inputs of at least 1, flop and sfu of at least 0; "
                       f"got n={n} inputs={inputs} flop={flop} sfu={sfu}")  # fmt: skip
    x, y = Tensor((n,), dtype), Tensor((n,), out_dtype or dtype)
    return ledger(
        [Entry(vector_pipe(dtype), flop * n, f"{flop} an element"),
         Entry(SFU, sfu * n, f"{sfu} an element")],
        reads=[(f"operand {i + 1}", x) for i in range(inputs)],
        writes=[("the result", y)],
    )  # fmt: skip


def add(n: int, dtype: str = "fp32") -> Ledger:
    """z[N] = x[N] + y[N]: N flop, 2*N*s read, N*s written."""
    return _pointwise("add", n, dtype, 2)


def mul(n: int, dtype: str = "fp32") -> Ledger:
    """z[N] = x[N] * y[N]: N flop, 2*N*s read, N*s written."""
    return _pointwise("mul", n, dtype, 2)


def saxpy(n: int, dtype: str = "fp32") -> Ledger:
    """y[N] = a * x[N] + y[N], in place: 2*N flop, 2*N*s read, N*s written."""
    _positive("saxpy", n)
    x = Tensor((n,), dtype)
    return pointwise.in_place(_POINTWISE["add"], Call("aten::add_", (x, Tensor((n,), dtype), 2.0)))


def triad(n: int, dtype: str = "fp64") -> Ledger:
    """a[N] = b[N] + s * c[N]: 2*N flop, 2*N*s read, N*s written.  Source: McCalpin, STREAM."""
    _positive("triad", n)
    return elementwise(n, inputs=2, flop=2, dtype=dtype)


def relu(n: int, dtype: str = "fp32") -> Ledger:
    """y[N] = max(x[N], 0): N flop (a comparison is one), N*s read, N*s written."""
    return _pointwise("relu", n, dtype, 1)


def gelu(n: int, dtype: str = "fp32", form: str = "tanh") -> Ledger:
    """y[N] = gelu(x[N]): 10*N flop in tanh form, 5*N in erf form, N*s read, N*s written."""
    if form not in ("tanh", "erf"):
        raise BadInput(f"gelu has the forms tanh and erf; got {form!r}")
    return _pointwise("gelu", n, dtype, 1, "tanh" if form == "tanh" else "none")


def silu(n: int, dtype: str = "fp32") -> Ledger:
    """y[N] = x[N] / (1 + exp(-x[N])): 4*N flop and N on sfu, N*s read, N*s written."""
    return _pointwise("silu", n, dtype, 1)


def sum_(n: int, dtype: str = "fp32") -> Ledger:
    """y = sum of x[N]: N flop, N*s read, one element written."""
    return _reduction("sum", n, dtype)


def mean(n: int, dtype: str = "fp32") -> Ledger:
    """y = mean of x[N]: N + 1 flop, N*s read, one element written."""
    return _reduction("mean", n, dtype)


def _pointwise(name: str, n: int, dtype: str, inputs: int, *more: str) -> Ledger:
    _positive(name, n)
    operands = tuple(Tensor((n,), dtype) for _ in range(inputs))
    return pointwise.out_of_place(_POINTWISE[name], Call(f"aten::{name}", (*operands, *more)))


def _reduction(name: str, n: int, dtype: str) -> Ledger:
    _positive(name, n)
    return reduce.reduction(_REDUCTIONS[name], Call(f"aten::{name}", (Tensor((n,), dtype),)))


def _positive(name: str, n: int) -> None:
    if n < 1:
        raise BadInput(f"{name} needs n of at least 1; got {n}")


FORMULAS: tuple[Callable[..., Ledger], ...] = (
    elementwise,
    add,
    mul,
    saxpy,
    triad,
    relu,
    gelu,
    silu,
    sum_,
    mean,
)
