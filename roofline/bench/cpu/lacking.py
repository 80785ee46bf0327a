"""Which pipe does the work of one that this CPU lacks, or that nothing here measured."""

from collections.abc import Collection, Iterator

from roofline.device import (
    TENSOR_BF16,
    TENSOR_FP16,
    TENSOR_FP16_ACC16,
    TENSOR_FP64,
    TENSOR_INT8,
    TENSOR_TF32,
    VECTOR_BF16,
    VECTOR_FP16,
    VECTOR_FP32,
    VECTOR_FP64,
    VECTOR_INT32,
    Mapped,
    Resource,
)

_WIDENED = "the CPU widens to fp32 and computes there"
_TABLE: tuple[tuple[Resource, Resource, str], ...] = (
    (TENSOR_FP64, VECTOR_FP64, "a CPU multiplies fp64 matrices with its vector units"),
    (TENSOR_TF32, VECTOR_FP32, "a CPU has no tf32 and multiplies in fp32"),
    (TENSOR_BF16, VECTOR_FP32, f"no bf16 matrix product was measured; {_WIDENED}"),
    (TENSOR_FP16, VECTOR_FP32, f"torch has no fast fp16 product here; {_WIDENED}"),
    (TENSOR_FP16_ACC16, VECTOR_FP32, f"torch has no fast fp16 product here; {_WIDENED}"),
    (VECTOR_FP16, VECTOR_FP32, f"torch has no fp16 vector arithmetic on CPUs; {_WIDENED}"),
    (VECTOR_BF16, VECTOR_FP32, f"torch has no bf16 vector arithmetic on CPUs; {_WIDENED}"),
    (TENSOR_INT8, VECTOR_INT32, "no int8 matrix product was measured; widened to int32"),
)


def mapped(present: Collection[Resource]) -> Iterator[Mapped]:
    """What stands in for each pipe without a ceiling, where something here can."""
    for lacks, uses, why in _TABLE:
        if lacks not in present and uses in present:
            yield Mapped(lacks=lacks, uses=uses, why=why)
