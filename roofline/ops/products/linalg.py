"""Factorisations and solvers of dense matrices.

Counts are the leading terms of the textbook algorithms; what a library runs differs by lower terms
and, for eigenvalues and singular values, by the number of sweeps: every count is an estimate.
Source: Golub and Van Loan, Matrix Computations, 4th edition, chapters 3 to 8.
"""

from collections.abc import Callable
from functools import partial

from roofline.call import Call, Tensor
from roofline.ops import arguments
from roofline.ops.dtype import matmul_pipe
from roofline.ops.lines import ledger
from roofline.ops.rule import Rule, Unaccountable
from roofline.ops.shapes import product
from roofline.work import Entry, Exactness, Ledger

LEADING = "leading term of the textbook algorithm: an estimate"

Flop = Callable[[int, int], float]


def factor(flop: Flop, shapes: Callable[[int, int], tuple[int, ...]], call: Call) -> Ledger:
    """aten::linalg_cholesky_ex, linalg_qr, _linalg_svd, ...(A[...,m,n]): A read, factors out."""
    a = arguments.tensor(call, 0)
    batch, m, n = _matrix(call, a)
    results = [Tensor((batch * elements,), a.dtype) for elements in shapes(m, n)]
    return ledger(
        [_estimate(a, batch * flop(m, n))],
        reads=[("A", a)],
        writes=[(f"result {i + 1}", t) for i, t in enumerate(results)],
        conventions=(LEADING,),
    )


def solve(flop: Flop, a_at: int, b_at: int, call: Call) -> Ledger:
    """aten::_linalg_solve_ex, linalg_solve_triangular, cholesky_solve(A[...,m,n], B[...,m,r]).

    `flop` takes n and the number of right-hand sides.
    """
    a, b = arguments.tensor(call, a_at), arguments.tensor(call, b_at)
    batch, _, n = _matrix(call, a)
    columns = b.shape[-1] if len(b.shape) > 1 else 1
    return ledger(
        [_estimate(a, batch * flop(n, columns))],
        reads=[("A", a), ("B", b)],
        writes=[("X", Tensor((batch * n * columns,), b.dtype))],
        conventions=(LEADING,),
    )


def least_squares(call: Call) -> Ledger:
    """aten::linalg_lstsq(A[...,m,n], B[...,m,r], ...): by QR, then a triangular solve."""
    a, b = arguments.tensor(call, 0), arguments.tensor(call, 1)
    batch, m, n = _matrix(call, a)
    columns = b.shape[-1] if len(b.shape) == len(a.shape) else 1
    flop = 2 * (m * min(m, n) ** 2 - min(m, n) ** 3 / 3) + 4 * m * n * columns + n * n * columns
    return ledger(
        [_estimate(a, batch * flop)],
        reads=[("A", a), ("B", b)],
        writes=[("X", Tensor((batch * n * columns,), b.dtype))],
        conventions=(LEADING,),
    )


def rotated(call: Call) -> Ledger:
    """aten::ormqr(A[...,m,k], tau[...,k], C[...,m,n], left, transpose): Q C, k reflections."""
    a, tau, c = (arguments.tensor(call, i) for i in range(3))
    batch, m, k = _matrix(call, a)
    columns = c.numel // max(1, batch * m)
    return ledger(
        [_estimate(a, batch * columns * (4 * m * k - 2 * k * k))],
        reads=[("A", a), ("tau", tau), ("C", c)],
        writes=[("Q C", Tensor(c.shape, c.dtype))],
        conventions=(LEADING,),
    )


def _matrix(call: Call, a: Tensor) -> tuple[int, int, int]:
    if len(a.shape) < 2:
        raise Unaccountable(f"{call.op}: a matrix of shape {a.shape}")
    return product(a.shape[:-2]), a.shape[-2], a.shape[-1]


def _estimate(a: Tensor, flop: float) -> Entry:
    return Entry(matmul_pipe(a.dtype), round(flop), LEADING, None, Exactness.ESTIMATE)


def _square(*counts: int) -> Callable[[int, int], tuple[int, ...]]:
    """Results of n^2 elements (2), n (1) or one (0)."""
    return lambda m, n: tuple(n**count for count in counts)


_FACTOR: tuple[tuple[str, Flop, Callable[[int, int], tuple[int, ...]]], ...] = (
    ("linalg_cholesky_ex", lambda m, n: n**3 / 3, _square(2)),
    ("linalg_lu_factor_ex", lambda m, n: 2 * n**3 / 3, lambda m, n: (m * n, min(m, n))),
    ("linalg_inv_ex", lambda m, n: 2 * n**3, _square(2)),
    ("_linalg_det", lambda m, n: 2 * n**3 / 3, _square(0, 2, 1)),
    ("_linalg_slogdet", lambda m, n: 2 * n**3 / 3, _square(0, 0, 2, 1)),
    ("linalg_qr", lambda m, n: 4 * (m * min(m, n) ** 2 - min(m, n) ** 3 / 3),
     lambda m, n: (m * min(m, n), min(m, n) * n)),
    ("geqrf", lambda m, n: 2 * (m * min(m, n) ** 2 - min(m, n) ** 3 / 3),
     lambda m, n: (m * n, min(m, n))),
    ("linalg_householder_product", lambda m, n: 2 * (m * n * n - n**3 / 3), lambda m, n: (m * n,)),
    ("linalg_lu", lambda m, n: 2 * n**3 / 3, lambda m, n: (m * m, m * min(m, n), min(m, n) * n)),
    ("lu_unpack", lambda m, n: 0, lambda m, n: (m * m, m * min(m, n), min(m, n) * n)),
    ("linalg_ldl_factor_ex", lambda m, n: n**3 / 3, _square(2, 1)),
    ("cholesky_inverse", lambda m, n: 2 * n**3 / 3, _square(2)),
    # Taylor polynomials of degree up to 18: 5 products, and squarings that depend on the norm.
    ("linalg_matrix_exp", lambda m, n: 10 * n**3, _square(2)),
    ("linalg_pinv", lambda m, n: 4 * m * m * n + 8 * m * n * n + 9 * n**3 + 2 * m * n * min(m, n),
     lambda m, n: (n * m,)),
    ("_linalg_eigh", lambda m, n: 9 * n**3, _square(1, 2)),
    ("linalg_eig", lambda m, n: 25 * n**3, _square(1, 2)),
    ("_linalg_svd", lambda m, n: 4 * m * m * n + 8 * m * n * n + 9 * n**3,
     lambda m, n: (m * min(m, n), min(m, n), min(m, n) * n)),
)  # fmt: skip
_SOLVE: tuple[tuple[str, Flop, int, int], ...] = (
    ("_linalg_solve_ex", lambda n, r: 2 * n**3 / 3 + 2 * n * n * r, 0, 1),
    ("linalg_solve_triangular", lambda n, r: n * n * r, 0, 1),
    ("linalg_lu_solve", lambda n, r: 2 * n * n * r, 0, 2),
    ("cholesky_solve", lambda n, r: 2 * n * n * r, 1, 0),
    ("triangular_solve", lambda n, r: n * n * r, 1, 0),
    ("linalg_ldl_solve", lambda n, r: 2 * n * n * r, 0, 2),
)

RULES = (
    *(Rule(f"aten::{name}", partial(factor, flop, shapes)) for name, flop, shapes in _FACTOR),
    *(Rule(f"aten::{name}", partial(solve, flop, a, b)) for name, flop, a, b in _SOLVE),
    Rule("aten::linalg_lstsq", least_squares),
    Rule("aten::ormqr", rotated),
)
