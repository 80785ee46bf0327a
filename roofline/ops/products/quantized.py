"""Matrix products of scaled, packed, grouped and 2:4 sparse operands.

Weights count by the bytes they are stored in.  Unpacking and scaling them, and scaling the result,
is left out: kernels do it beside the tensor cores, in ways of their own.
"""

from collections.abc import Sequence
from functools import partial

from roofline.call import Call, Tensor
from roofline.device import (
    TENSOR_BF16_SPARSE,
    TENSOR_FP8_SPARSE,
    TENSOR_FP16_SPARSE,
    TENSOR_INT8_SPARSE,
    Resource,
)
from roofline.errors import BadInput
from roofline.ops import arguments
from roofline.ops.dtype import matmul_pipe, vector_pipe
from roofline.ops.lines import Operands, ledger, result
from roofline.ops.products.matmul import FMA
from roofline.ops.products.matmul_executed import padded
from roofline.ops.rule import Rule, Unaccountable, named
from roofline.ops.shapes import dtype_argument
from roofline.work import Entry, Ledger

SCALES = "unpacking and scaling is left out; stored bytes are counted"
SPARSE = "2:4 sparsity: the zeros count as work, on the sparse pipe"

_SPARSE_PIPE = {
    "fp16": TENSOR_FP16_SPARSE, "bf16": TENSOR_BF16_SPARSE, "int8": TENSOR_INT8_SPARSE,
    "fp8_e4m3": TENSOR_FP8_SPARSE, "fp8_e5m2": TENSOR_FP8_SPARSE,
}  # fmt: skip


def packed_gemm(
    m: int,
    n: int,
    k: int,
    weight_dtype: str = "int4",
    group: int = 128,
    zeros: bool = False,
    dtype: str = "bf16",
) -> Ledger:
    """C[M,N] = A[M,K] @ W[N,K]^T, W packed, with a scale for every `group` weights along K.

    arithmetic   2*M*N*K                flop   in `dtype`, after unpacking
    read         M*K*s                  B      A
                 N*K*w                  B      W as stored, w = bytes per weight (int4: a half)
                 N*K/group*s            B      scales, and as much again for zero points
    write        M*N*s                  B      C
    """
    sizes = {"m": m, "n": n, "k": k, "group": group}
    if wrong := [f"{name}={value}" for name, value in sizes.items() if value < 1]:
        raise BadInput(f"packed_gemm needs sizes of at least 1; got {', '.join(wrong)}")
    scales = Tensor((n, -(-k // group)), dtype)
    return _product(
        matmul_pipe(dtype),
        2 * m * n * k,
        [("A", Tensor((m, k), dtype)), ("packed W", Tensor((n, k), weight_dtype)),
         ("scales", scales), *([("zero points", scales)] if zeros else [])],
        Tensor((m, n), dtype),
        (SCALES,),
    )  # fmt: skip


def int_mm(call: Call) -> Ledger:
    """aten::_int_mm(A[M,K], B[K,N]): int8 operands, int32 result; integer operations, not flop."""
    a, b = arguments.tensor(call, 0, 2), arguments.tensor(call, 1, 2)
    (m, k), n = a.shape, b.shape[1]
    _agree(call, k, b.shape[0])
    return _product(matmul_pipe(a.dtype), 2 * m * n * k, [("A", a), ("B", b)],
                    Tensor((m, n), "int32"), ())  # fmt: skip


def scaled_mm(call: Call) -> Ledger:
    """aten::_scaled_mm(A[M,K], B[K,N], scale_a, scale_b, bias, scale_result, out_dtype, fast)."""
    a, b = arguments.tensor(call, 0, 2), arguments.tensor(call, 1, 2)
    scales = [("scales", t) for i in (2, 3) if (t := arguments.optional(call, i)) is not None]
    bias, dtype = arguments.optional(call, 4), dtype_argument(call, 6)
    return _scaled(call, a, b, scales, bias, dtype)


def scaled_mm_v2(call: Call) -> Ledger:
    """aten::_scaled_mm_v2(A[M,K], B[K,N], scales_a, .., scales_b, .., bias, out_dtype, ...)."""
    a, b = arguments.tensor(call, 0, 2), arguments.tensor(call, 1, 2)
    scales = [("scales", t) for i in (2, 5) for t in arguments.tensors(call, i)]
    return _scaled(call, a, b, scales, arguments.optional(call, 8), dtype_argument(call, 9))


def weight_packed(scales_at: tuple[int, ...], call: Call) -> Ledger:
    """aten::_weight_int4pack_mm(A[M,K], W packed, group, scales[K/group,N,2]) and its kin."""
    a, w = arguments.tensor(call, 0, 2), arguments.tensor(call, 1)
    scales = [("scales", arguments.tensor(call, i)) for i in scales_at]
    shape = scales[0][1].shape
    if not shape:
        raise Unaccountable(f"{call.op}: the scales have no dimensions")
    n = shape[0] if len(shape) == 1 else shape[1]
    m, k = a.shape
    return _product(matmul_pipe(a.dtype), 2 * m * n * k, [("A", a), ("packed W", w), *scales],
                    result(call, (m, n), a.dtype), (SCALES,))  # fmt: skip


def dynamic_4bit(call: Call) -> Ledger:
    """aten::_dyn_quant_matmul_4bit(A[M,K], W packed, block, K, N): A is quantised on the way in."""
    a, w = arguments.tensor(call, 0), arguments.tensor(call, 1)
    k, n = arguments.integer(call, 3), arguments.integer(call, 4)
    m = a.numel // max(1, k)
    return _product(matmul_pipe("int8"), 2 * m * n * k, [("A", a), ("packed W", w)],
                    result(call, (m, n), a.dtype), (SCALES,))  # fmt: skip


def mixed_linear(call: Call) -> Ledger:
    """aten::_mixed_dtypes_linear(A[...,K], W packed, scale[N], bias, activation)."""
    a, w, scale = arguments.tensor(call, 0), arguments.tensor(call, 1, 2), arguments.tensor(call, 2)
    if not a.shape:
        raise Unaccountable(f"{call.op}: the input has no dimensions")
    bias, n = arguments.optional(call, 3), scale.numel
    y = result(call, (*a.shape[:-1], n), a.dtype)
    reads = [("A", a), ("packed W", w), ("scales", scale), *([("bias", bias)] if bias else [])]
    activation = isinstance(call.arg(4), str) and call.arg(4) not in ("", "none")
    extra = [Entry(vector_pipe(a.dtype), y.numel * (bias is not None), "add bias, once per output"),
             Entry(vector_pipe(a.dtype), y.numel * activation, "activate an output")]  # fmt: skip
    return _product(matmul_pipe(a.dtype), 2 * y.numel * a.shape[-1], reads, y, (SCALES,), extra)


def grouped_mm(offsets_at: int, scales_at: Sequence[int], dtype_at: int, call: Call) -> Ledger:
    """aten::_grouped_mm(A, B, offsets, bias, dtype): one product a group, sizes in `offsets`.

    A[T,K] B[G,K,N]    rows of A are shared out among G experts     2*T*K*N
    A[G,M,K] B[K,T]    columns of B are shared out                  2*M*K*T
    A[M,T] B[T,N]      the inner size is shared out, G results      2*M*T*N
    A[G,M,K] B[G,K,N]  a batch                                      2*G*M*K*N

    Every row is taken to belong to a group; every expert is read, though one without rows need not.
    """
    a, b = arguments.tensor(call, 0), arguments.tensor(call, 1)
    offsets = arguments.optional(call, offsets_at)
    groups = offsets.numel if offsets else 1
    ranks = (len(a.shape), len(b.shape))
    if min(ranks) < 2 or max(ranks) > 3:
        raise Unaccountable(f"{call.op}: operands of {ranks} dimensions")
    _agree(call, a.shape[-1], b.shape[-2])
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    batch = {(2, 3): (), (3, 2): (), (2, 2): (groups,), (3, 3): a.shape[:1]}[ranks]
    count = a.shape[0] if ranks == (3, 3) else 1
    reads = [("A", a), ("B", b), *([("offsets", offsets)] if offsets else [])]
    reads += [("scales", t) for i in scales_at if (t := arguments.optional(call, i)) is not None]
    y = Tensor((*batch, m, n), dtype_argument(call, dtype_at) or _widened(a.dtype))
    return _product(matmul_pipe(a.dtype, call.math), 2 * count * m * k * n, reads, y,
                    (SCALES,) if scales_at else ())  # fmt: skip


def semi_structured(call: Call) -> Ledger:
    """aten::_sparse_semi_structured_mm(A packed[M,K/2], meta, B[K,N]), _addmm, _linear(X, W, meta).

    arithmetic   2*M*N*K   flop of the dense product, on the sparse pipe
    read         A or W as stored, its metadata, the other operand; write the result
    """
    where = {"aten::_sparse_semi_structured_mm": (0, 1, 2, None),
             "aten::_sparse_semi_structured_addmm": (1, 2, 3, 0),
             "aten::_sparse_semi_structured_linear": (1, 2, 0, 3)}[call.op]  # fmt: skip
    packed, meta, dense = (arguments.tensor(call, i) for i in where[:3])
    bias = None if where[3] is None else arguments.optional(call, where[3])
    if len(packed.shape) != 2 or not dense.shape:
        raise Unaccountable(f"{call.op}: operands {packed.shape} and {dense.shape}")
    linear = call.op.endswith("linear")
    m, k = packed.shape[0], 2 * packed.shape[1]
    _agree(call, k, dense.shape[-1] if linear else dense.shape[0])
    shape = (*dense.shape[:-1], m) if linear else (m, dense.shape[-1])
    y = result(call, shape, dense.dtype)
    extra = [] if bias is None else [Entry(vector_pipe(bias.dtype), y.numel, "add bias")]
    return _product(
        _sparse_pipe(call, packed.dtype), 2 * y.numel * k,
        [("packed operand", packed), ("metadata", meta), ("dense operand", dense),
         *([("bias", bias)] if bias else [])], y, (SPARSE,), extra,
    )  # fmt: skip


def cusparse_lt(call: Call) -> Ledger:
    """aten::_cslt_sparse_mm(A compressed, B[K,N], bias, alpha, out_dtype, ...): as above.

    A holds half the values and 2 bits for each: 9/16 of the dense bytes in 2-byte types, 10/16 in
    1-byte types, from which M follows.
    """
    packed, b = arguments.tensor(call, 0), arguments.tensor(call, 1, 2)
    k, n = b.shape
    sixteenths = 9 if packed.dtype in ("fp16", "bf16") else 10
    if not k or packed.numel * 16 % (sixteenths * k):
        raise Unaccountable(f"{call.op}: {packed.numel} compressed elements have no rows of {k}")
    m = packed.numel * 16 // (sixteenths * k)
    bias = arguments.optional(call, 2)
    shape = (n, m) if arguments.flag(call, 5) else (m, n)
    y = result(call, shape, dtype_argument(call, 4) or b.dtype)
    extra = [] if bias is None else [Entry(vector_pipe(bias.dtype), y.numel, "add bias")]
    return _product(_sparse_pipe(call, packed.dtype), 2 * m * n * k,
                    [("compressed A", packed), ("B", b), *([("bias", bias)] if bias else [])],
                    y, (SPARSE,), extra)  # fmt: skip


def _scaled(
    call: Call, a: Tensor, b: Tensor, scales: Operands, bias: Tensor | None, dtype: str | None
) -> Ledger:
    (m, k), n = a.shape, b.shape[1]
    _agree(call, k, b.shape[0])
    k *= 2 if a.dtype == "fp4x2" else 1
    y = result(call, (m, n), dtype or a.dtype)
    extra = [] if bias is None else [Entry(vector_pipe(y.dtype), y.numel, "add bias")]
    reads = [("A", a), ("B", b), *scales, *([("bias", bias)] if bias else [])]
    return _product(matmul_pipe(a.dtype), 2 * m * n * k, reads, y, (SCALES,), extra)


def _product(
    pipe: Resource,
    amount: int,
    reads: Operands,
    y: Tensor,
    words: tuple[str, ...],
    extra: Sequence[Entry] = (),
) -> Ledger:
    return ledger(
        [Entry(pipe, amount, "multiply-add, M*N*K times"), *extra],
        reads=reads,
        writes=[("the result", y)],
        conventions=(FMA, *words),
    )


def _widened(dtype: str) -> str:
    return "bf16" if dtype.startswith(("fp8", "fp4")) else dtype


def _sparse_pipe(call: Call, dtype: str) -> Resource:
    if dtype not in _SPARSE_PIPE:
        raise Unaccountable(f"{call.op}: no 2:4 sparse pipe multiplies {dtype}")
    return _SPARSE_PIPE[dtype]


def _agree(call: Call, k_of_a: int, k_of_b: int) -> None:
    if k_of_a != k_of_b:
        raise Unaccountable(f"{call.op}: inner sizes differ, {k_of_a} and {k_of_b}")


RULES = (
    *named(int_mm, "_int_mm", executed=padded),
    *named(scaled_mm, "_scaled_mm", executed=padded),
    *named(scaled_mm_v2, "_scaled_mm_v2"),
    Rule("aten::_weight_int4pack_mm", partial(weight_packed, (3,))),
    Rule("aten::_weight_int4pack_mm_for_cpu", partial(weight_packed, (3,))),
    Rule("aten::_weight_int4pack_mm_with_scales_and_zeros", partial(weight_packed, (3, 4))),
    Rule("aten::_weight_int8pack_mm", partial(weight_packed, (2,))),
    *named(dynamic_4bit, "_dyn_quant_matmul_4bit"),
    *named(mixed_linear, "_mixed_dtypes_linear"),
    Rule("aten::_grouped_mm", partial(grouped_mm, 2, (), 4)),
    Rule("aten::_scaled_grouped_mm", partial(grouped_mm, 4, (2, 3), 7)),
    *named(semi_structured, "_sparse_semi_structured_mm", "_sparse_semi_structured_addmm",
           "_sparse_semi_structured_linear"),
    *named(cusparse_lt, "_cslt_sparse_mm"),
)  # fmt: skip
FORMULAS = (packed_gemm,)
