"""Element types: their size and the pipes that compute with them."""

from roofline.call import DTYPE_BYTES, Math
from roofline.device import (
    TENSOR_BF16,
    TENSOR_FP4,
    TENSOR_FP8,
    TENSOR_FP8_ACC16,
    TENSOR_FP16,
    TENSOR_FP16_ACC16,
    TENSOR_FP64,
    TENSOR_INT4,
    TENSOR_INT8,
    TENSOR_TF32,
    VECTOR_FP32,
    VECTOR_FP64,
    VECTOR_INT32,
    Resource,
)
from roofline.errors import NotFound

_MATMUL = {
    "fp64": TENSOR_FP64, "fp32": VECTOR_FP32, "fp16": TENSOR_FP16, "bf16": TENSOR_BF16,
    "fp8_e4m3": TENSOR_FP8, "fp8_e5m2": TENSOR_FP8, "fp4": TENSOR_FP4, "fp4x2": TENSOR_FP4,
    "int8": TENSOR_INT8, "uint8": TENSOR_INT8, "int4": TENSOR_INT4,
    "int16": VECTOR_INT32, "int32": VECTOR_INT32, "int64": VECTOR_INT32,
    "complex32": TENSOR_FP16, "complex64": VECTOR_FP32, "complex128": TENSOR_FP64,
}  # fmt: skip
# What products of these types run on when `math` is not "ieee"; other types are not concerned.
_FASTER = {
    "tf32": {"fp32": TENSOR_TF32},
    "bf16": {"fp32": TENSOR_BF16},
    "fp16": {"fp32": TENSOR_FP16},
    "acc16": {
        "fp16": TENSOR_FP16_ACC16, "fp8_e4m3": TENSOR_FP8_ACC16, "fp8_e5m2": TENSOR_FP8_ACC16,
    },
}  # fmt: skip
_VECTOR = {"fp64": VECTOR_FP64, "complex128": VECTOR_FP64}
_INTEGER = {
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "int4",
    "bool",
    "uint16",
    "uint32",
    "uint64",
    "quint8",
    "qint8",
    "qint32",
    "quint4x2",
    "quint2x4",
}


def size(dtype: str) -> float:
    """Bytes of one element.

    >>> size("bf16"), size("fp4")
    (2, 0.5)
    """
    if dtype not in DTYPE_BYTES:
        raise NotFound(f"no dtype {dtype!r}; there is {', '.join(DTYPE_BYTES)}")
    return DTYPE_BYTES[dtype]


def nbytes(elements: int, dtype: str) -> int:
    """Bytes of `elements` packed elements, the last byte filled up."""
    return -int(-elements * size(dtype) // 1)


def matmul_pipe(dtype: str, math: Math = "ieee") -> Resource:
    """The pipe that multiplies matrices of `dtype`.

    fp32 uses tf32, bf16 or fp16, and fp16 and fp8 keep their sums in fp16, only where `math` says
    so.

    >>> matmul_pipe("fp16").name, matmul_pipe("fp16", "acc16").name
    ('tensor-fp16', 'tensor-fp16-acc16')
    """
    size(dtype)
    if dtype not in _MATMUL:
        raise NotFound(f"no pipe multiplies matrices of {dtype}; there is {', '.join(_MATMUL)}")
    return _FASTER.get(math, {}).get(dtype, _MATMUL[dtype])


def vector_pipe(dtype: str) -> Resource:
    """The pipe of elementwise arithmetic.

    Half types are computed in fp32: PyTorch widens them on the way in and narrows the result.
    """
    size(dtype)
    if dtype in _INTEGER:
        return VECTOR_INT32
    return _VECTOR.get(dtype, VECTOR_FP32)
