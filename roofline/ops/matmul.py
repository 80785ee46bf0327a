"""Matrix products."""

from dataclasses import replace

from roofline.call import Call, Math, Tensor
from roofline.device import DRAM
from roofline.errors import BadInput
from roofline.ops.dtype import matmul_pipe, nbytes, vector_pipe
from roofline.ops.rule import Rule
from roofline.work import Entry, Ledger, algorithmic


def gemm(m: int, n: int, k: int, dtype: str = "bf16", out_dtype: str = "") -> Ledger:
    """C[M,N] = A[M,K] @ B[K,N], each matrix crossing DRAM once.

    arithmetic   2*M*N*K          flop   one multiply and one add per inner step
    read         (M*K + K*N) * s  B      A and B, once each
    write        M*N * s'         B      C, once
                                         s, s' = bytes per element of `dtype`, `out_dtype`

    Left out: bias, scaling, re-reads that miss in cache, split-K partial sums.
    Source: LAPACK Working Note 41, appendix C, xGEMM.
    """
    return _product(1, m, n, k, dtype, out_dtype or dtype, "ieee")


def mm(call: Call) -> Ledger:
    """aten::mm(A[M,K], B[K,N])."""
    a, b = call.tensors[:2]
    (m, k), (k_of_b, n) = a.shape, b.shape
    if k != k_of_b:
        raise BadInput(f"{call.op}: inner sizes differ, A is {m}x{k} and B is {k_of_b}x{n}")
    return _product(1, m, n, k, a.dtype, a.dtype, call.math)


def addmm(call: Call) -> Ledger:
    """aten::addmm(bias[N] or bias[M,N], A[M,K], B[K,N]): a product and one add per output."""
    bias, a, b = call.tensors[:3]
    product = mm(replace(call, args=(a, b)))
    return product + _bias(bias, a.shape[0] * b.shape[1])


def _product(b: int, m: int, n: int, k: int, dtype: str, out: str, math: Math) -> Ledger:
    read_a, read_b, write = (
        nbytes(b * m * k, dtype),
        nbytes(b * k * n, dtype),
        nbytes(b * m * n, out),
    )
    ledger = algorithmic(
        Entry(matmul_pipe(dtype, math), 2 * b * m * n * k, "multiply-add, M*N*K times"),
        Entry(DRAM, read_a, "read A once", "read"),
        Entry(DRAM, read_b, "read B once", "read"),
        Entry(DRAM, write, "write C once", "write"),
    )
    return replace(ledger, footprint=read_a + read_b + write)


def _bias(bias: Tensor, outputs: int) -> Ledger:
    ledger = algorithmic(
        Entry(vector_pipe(bias.dtype), outputs, "add bias, once per output"),
        Entry(DRAM, bias.nbytes, "read bias once", "read"),
    )
    return replace(ledger, footprint=bias.nbytes)


RULES = (
    Rule("aten::mm", mm),
    Rule("aten::addmm", addmm),
)
FORMULAS = (gemm,)
