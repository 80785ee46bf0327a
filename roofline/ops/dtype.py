"""Element types: their size and the pipes that compute with them."""

from roofline.call import DTYPE_BYTES, Math
from roofline.device import (
    TENSOR_BF16,
    TENSOR_FP4,
    TENSOR_FP8,
    TENSOR_FP16,
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
    "fp8_e4m3": TENSOR_FP8, "fp8_e5m2": TENSOR_FP8, "fp4": TENSOR_FP4,
    "int8": TENSOR_INT8, "uint8": TENSOR_INT8, "int4": TENSOR_INT4,
    "int16": VECTOR_INT32, "int32": VECTOR_INT32, "int64": VECTOR_INT32,
    "complex32": TENSOR_FP16, "complex64": VECTOR_FP32, "complex128": TENSOR_FP64,
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
    """The pipe that multiplies matrices of `dtype`; fp32 uses tf32 only where that is allowed."""
    size(dtype)
    if dtype == "fp32" and math == "tf32":
        return TENSOR_TF32
    if dtype not in _MATMUL:
        raise NotFound(f"no pipe multiplies matrices of {dtype}; there is {', '.join(_MATMUL)}")
    return _MATMUL[dtype]


def vector_pipe(dtype: str) -> Resource:
    """The pipe of elementwise arithmetic.

    Half types are computed in fp32: PyTorch widens them on the way in and narrows the result.
    """
    size(dtype)
    if dtype in _INTEGER:
        return VECTOR_INT32
    return _VECTOR.get(dtype, VECTOR_FP32)
