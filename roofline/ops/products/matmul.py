"""Matrix products.  A multiply and an add are 2 flop; a bias is counted, on a line of its own."""

from collections.abc import Sequence

from roofline.call import Call, Math, Tensor
from roofline.errors import BadInput
from roofline.ops import arguments
from roofline.ops.dtype import matmul_pipe, vector_pipe
from roofline.ops.lines import Operands, ledger, result
from roofline.ops.products.matmul_executed import padded
from roofline.ops.rule import Unaccountable, named
from roofline.ops.shapes import COMPLEX, broadcast, kind, product
from roofline.work import Entry, Ledger

FMA = "a multiply-add is 2 flop"


def gemm(
    m: int,
    n: int,
    k: int,
    dtype: str = "bf16",
    out_dtype: str = "",
    bias: bool = False,
    beta: float = 0.0,
    batch: int = 1,
    math: Math = "ieee",
) -> Ledger:
    """C[M,N] = A[M,K] @ B[K,N] + bias[N] + beta * C[M,N], each matrix crossing DRAM once.

    arithmetic   2*M*N*K          flop   one multiply and one add per inner step
                 M*N              flop   add the bias, where there is one
                 M*N or 2*M*N     flop   add beta * C, where beta is 1 or another number but 0
    read         (M*K + K*N) * s  B      A and B, once each
                 N * s'           B      bias
                 M*N * s'         B      C, where beta is not 0
    write        M*N * s'         B      C, once
                                         s, s' = bytes per element of `dtype`, `out_dtype`

    All of it `batch` times, the bias read once.  `math` "tf32" puts fp32 on the tensor cores,
    "acc16" keeps the sums of fp16 and fp8 products in fp16.
    Left out: re-reads that miss in cache, split-K partial sums.
    Source: LAPACK Working Note 41, appendix C, xGEMM.
    """
    _positive("gemm", m=m, n=n, k=k, batch=batch)
    out = out_dtype or dtype
    c = Tensor((batch, m, n), out)
    reads, extra = [], []
    if bias:
        reads.append(("bias", Tensor((n,), out)))
        extra.append(Entry(vector_pipe(out), batch * m * n, "add bias, once per output"))
    if beta:
        extra.append(_scaled_add(c, beta, 1.0, "beta * C"))
    a, b = Tensor((batch, m, k), dtype), Tensor((batch, k, n), dtype)
    return _product(a, b, c, 2 * m * n * k * batch, math, reads, extra, updated=bool(beta))


def bmm(b: int, m: int, n: int, k: int, dtype: str = "bf16", out_dtype: str = "") -> Ledger:
    """C[B,M,N] = A[B,M,K] @ B[B,K,N]: `b` products of their own, nothing shared.

    arithmetic   2*B*M*N*K; read B*(M*K + K*N)*s; write B*M*N*s'
    """
    return gemm(m, n, k, dtype, out_dtype, batch=b)


def gemv(m: int, k: int, dtype: str = "fp16") -> Ledger:
    """y[M] = A[M,K] @ x[K]: every element of A is used once, so about 2/s flop a byte.

    arithmetic   2*M*K; read M*K*s + K*s; write M*s
    """
    return gemm(m, 1, k, dtype)


def linear(n: int, k: int, m: int, dtype: str = "bf16", bias: bool = True) -> Ledger:
    """Y[N,M] = X[N,K] @ W[M,K]^T + bias[M], for N rows, K features in and M out.

    arithmetic   2*N*K*M, and N*M for the bias; read (N*K + M*K + M)*s; write N*M*s
    """
    return gemm(n, m, k, dtype, bias=bias)


def mm(call: Call) -> Ledger:
    """aten::mm(A[M,K], B[K,N]); aten::bmm(A[B,M,K], B[B,K,N])."""
    rank = 3 if call.op == "aten::bmm" else 2
    a, b = arguments.tensor(call, 0, rank), arguments.tensor(call, 1, rank)
    return _matrices(call, a, b)


def addmm(call: Call) -> Ledger:
    """aten::addmm(C, A[M,K], B[K,N], beta, alpha) and baddbmm; C broadcasts to the result."""
    rank = 3 if call.op.startswith("aten::baddbmm") else 2
    return _added(call, arguments.tensor(call, 1, rank), arguments.tensor(call, 2, rank))


def addbmm(call: Call) -> Ledger:
    """aten::addbmm(C[M,N], A[B,M,K], B[B,K,N], beta, alpha): the products of a batch, summed."""
    a, b = arguments.tensor(call, 1, 3), arguments.tensor(call, 2, 3)
    (batches, m, k), (_, _, n) = a.shape, b.shape
    _agree(call, k, b.shape[1])
    return _added(call, a, b, shape=(m, n), flop=2 * batches * m * n * k)


def linear_call(call: Call) -> Ledger:
    """aten::linear(X[...,K], W[M,K] or W[K], bias[M])."""
    x, w, bias = arguments.tensor(call, 0), arguments.tensor(call, 1), arguments.optional(call, 2)
    if not x.shape or len(w.shape) not in (1, 2):
        raise Unaccountable(f"{call.op}: shapes {x.shape} and {w.shape} have no product")
    _agree(call, x.shape[-1], w.shape[-1])
    y = result(call, (*x.shape[:-1], *w.shape[:-1]), x.dtype)
    extra = [] if bias is None else [_bias(bias, y)]
    reads = [] if bias is None else [("bias", bias)]
    return _product(x, w, y, 2 * y.numel * x.shape[-1], call.math, reads, extra)


def linear_backward(call: Call) -> Ledger:
    """aten::linear_backward(X[N,K], G[N,M], W[M,K], mask): dX = G W, dW = G^T X, db = sum of G."""
    x, g, w = (arguments.tensor(call, i) for i in range(3))
    dx, dw, db = arguments.flags(call, 3, 3)
    each = 2 * g.numel * x.shape[-1] if x.shape else 0
    writes = [
        *([("dX", Tensor(x.shape, x.dtype))] if dx else []),
        *([("dW", Tensor(w.shape, w.dtype))] if dw else []),
        *([("dbias", Tensor(w.shape[:1], w.dtype))] if db else []),
    ]
    return ledger(
        [
            Entry(matmul_pipe(x.dtype, call.math), each * dx, "dX = G W"),
            Entry(matmul_pipe(x.dtype, call.math), each * dw, "dW = G^T X"),
            Entry(vector_pipe(g.dtype), g.numel * db, "dbias: sum of G over rows"),
        ],
        reads=[("G", g), *([("X", x)] if dw else []), *([("W", w)] if dx else [])],
        writes=writes,
        conventions=(FMA,),
    )


def matmul(call: Call) -> Ledger:
    """aten::matmul(A, B): vectors are rows or columns, batch dimensions broadcast."""
    a, b = arguments.tensor(call, 0), arguments.tensor(call, 1)
    if not a.shape or not b.shape:
        raise Unaccountable(f"{call.op}: a 0-dimensional tensor has no matrix product")
    return _matrices(call, a, b)


def dot(call: Call) -> Ledger:
    """aten::dot, vdot(x[N], y[N]): 2*N, as every inner step is a multiply and an add."""
    x, y = arguments.tensor(call, 0, 1), arguments.tensor(call, 1, 1)
    _agree(call, x.shape[0], y.shape[0])
    return _vector(call, x, y, result(call, (), x.dtype), 2 * x.numel)


def mv(call: Call) -> Ledger:
    """aten::mv(A[M,K], x[K])."""
    a, x = arguments.tensor(call, 0, 2), arguments.tensor(call, 1, 1)
    return _matrices(call, a, x)


def addmv(call: Call) -> Ledger:
    """aten::addmv(y[M], A[M,K], x[K], beta, alpha)."""
    a, x = arguments.tensor(call, 1, 2), arguments.tensor(call, 2, 1)
    return _added(call, a, x)


def outer(call: Call) -> Ledger:
    """aten::outer, ger(x[M], y[N]): one multiply an output, so vector work."""
    x, y = arguments.tensor(call, 0, 1), arguments.tensor(call, 1, 1)
    out = result(call, (x.numel, y.numel), x.dtype)
    return _vector(call, x, y, out, out.numel)


def addr(call: Call) -> Ledger:
    """aten::addr(C[M,N], x[M], y[N], beta, alpha): beta * C + alpha * x y^T."""
    c, x, y = arguments.tensor(call, 0), arguments.tensor(call, 1, 1), arguments.tensor(call, 2, 1)
    out = result(call, (x.numel, y.numel), x.dtype)
    return ledger(
        [
            Entry(vector_pipe(x.dtype), out.numel, "multiply, once per output"),
            _scaled_add(out, arguments.number(call, 3, 1), arguments.number(call, 4, 1)),
        ],
        reads=[("the matrix added", c), ("x", x), ("y", y)],
        writes=[("the result", out)],
    )


def _matrices(call: Call, a: Tensor, b: Tensor) -> Ledger:
    shape, k = _shape(call, a, b)
    c = result(call, shape, a.dtype)
    if product(shape) == 1 and len(a.shape) == len(b.shape) == 1:
        return _vector(call, a, b, c, 2 * k)
    return _product(a, b, c, 2 * c.numel * k, call.math)


def _added(
    call: Call, a: Tensor, b: Tensor, shape: tuple[int, ...] | None = None, flop: int | None = None
) -> Ledger:
    """beta * C + alpha * (A @ B); C is not read when beta is 0; name_ updates it."""
    c_in = arguments.tensor(call, 0)
    beta, alpha = arguments.number(call, 3, 1), arguments.number(call, 4, 1)
    if shape is None:
        shape, k = _shape(call, a, b)
        flop = 2 * product(shape) * k
    if broadcast(call, (c_in.shape, shape)) != shape:
        raise Unaccountable(f"{call.op}: {c_in.shape} does not broadcast to {shape}")
    out = result(call, shape, a.dtype)
    extra = [_scaled_add(out, beta, alpha)]
    if call.op == "aten::_addmm_activation":
        cost = 5 if arguments.flag(call, 5) else 1
        extra.append(Entry(vector_pipe(out.dtype), cost * out.numel, "activation of an output"))
    in_place = call.op.endswith("_") and bool(beta)
    reads = [("the matrix added", c_in)] if beta and not in_place else []
    return _product(a, b, c_in if in_place else out, flop or 0, call.math, reads, extra, in_place)


def _shape(call: Call, a: Tensor, b: Tensor) -> tuple[tuple[int, ...], int]:
    """The shape of A @ B and the inner size."""
    rows, cols = a.shape[-2:-1], b.shape[-1:] if len(b.shape) > 1 else ()
    k = a.shape[-1]
    _agree(call, k, b.shape[-2] if len(b.shape) > 1 else b.shape[-1])
    return (*broadcast(call, (a.shape[:-2], b.shape[:-2])), *rows, *cols), k


def _product(
    a: Tensor,
    b: Tensor,
    c: Tensor,
    flop: int,
    math: Math,
    reads: Operands = (),
    extra: Sequence[Entry] = (),
    updated: bool = False,
) -> Ledger:
    # A complex multiply-add is four real multiplies and four adds.
    flop *= 4 if kind(a.dtype) == COMPLEX else 1
    return ledger(
        [Entry(matmul_pipe(a.dtype, math), flop, "multiply-add, M*N*K times"), *extra],
        reads=[("A", a), ("B", b), *reads],
        updates=[("C", c)] if updated else [],
        writes=[] if updated else [("C", c)],
        conventions=(FMA,),
    )


def _vector(call: Call, x: Tensor, y: Tensor, out: Tensor, flop: int) -> Ledger:
    return ledger(
        [
            Entry(
                vector_pipe(x.dtype),
                flop * (4 if kind(x.dtype) == COMPLEX else 1),
                "multiply (and add) a step",
            )
        ],
        reads=[("x", x), ("y", y)],
        writes=[("the result", out)],
        conventions=(FMA,),
    )


def _bias(bias: Tensor, out: Tensor) -> Entry:
    return Entry(vector_pipe(bias.dtype), out.numel, "add bias, once per output")


def _scaled_add(out: Tensor, beta: float, alpha: float, what: str = "bias") -> Entry:
    """Scale the product unless alpha is 1, the matrix unless beta is 1; add unless beta is 0."""
    each = (alpha != 1) + (0 if not beta else 1 + (beta != 1))
    return Entry(vector_pipe(out.dtype), each * out.numel, f"add {what}: {each} per output")


def _agree(call: Call, k_of_a: int, k_of_b: int) -> None:
    if k_of_a != k_of_b:
        raise Unaccountable(f"{call.op}: inner sizes differ, {k_of_a} and {k_of_b}")


def _positive(name: str, **sizes: int) -> None:
    if wrong := [f"{size}={value}" for size, value in sizes.items() if value < 1]:
        raise BadInput(f"{name} needs sizes of at least 1; got {', '.join(wrong)}")


RULES = (
    *named(mm, "mm", "bmm", executed=padded),
    *named(addmm, "addmm", "addmm_", "baddbmm", "baddbmm_", "_addmm_activation", executed=padded),
    *named(addbmm, "addbmm", "addbmm_"),
    *named(linear_call, "linear", executed=padded),
    *named(linear_call, "mkldnn_linear"),
    *named(linear_backward, "linear_backward", "mkldnn_linear_backward"),
    *named(matmul, "matmul", executed=padded),
    *named(mv, "mv"),
    *named(addmv, "addmv", "addmv_"),
    *named(dot, "dot", "vdot"),
    *named(outer, "outer", "ger"),
    *named(addr, "addr"),
)
FORMULAS = (gemm, bmm, gemv, linear)
