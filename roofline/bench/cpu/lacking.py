"""Which pipe does the work of one that this CPU lacks.

A pipe that was looked for and only could not be measured this time is not lacking: it has no
ceiling, and nothing stands in for it.
"""

from collections.abc import Collection, Iterator, Mapping

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

_WIDENED = "torch widens to fp32 on a CPU and computes there"
# What no CPU has, or no operator of PyTorch uses on one.
_NEVER = (
    (TENSOR_FP64, VECTOR_FP64, "a CPU multiplies fp64 matrices with its vector units"),
    (TENSOR_TF32, VECTOR_FP32, "a CPU has no tf32 and multiplies in fp32"),
    (VECTOR_FP16, VECTOR_FP32, _WIDENED),
    (VECTOR_BF16, VECTOR_FP32, _WIDENED),
)
# What some CPUs have; the reason is what was found here.
_SOMETIMES = ((TENSOR_BF16, VECTOR_FP32), (TENSOR_FP16, VECTOR_FP32), (TENSOR_INT8, VECTOR_INT32))


def mapped(present: Collection[Resource], lacking: Mapping[Resource, str]) -> Iterator[Mapped]:
    """What stands in for each pipe this CPU lacks, where something `present` can.

    `lacking` says why of those that were looked for and are not there.
    """
    for lacks, uses, why in _NEVER:
        if uses in present:
            yield Mapped(lacks=lacks, uses=uses, why=why)
    for lacks, uses in _SOMETIMES:
        if lacks in lacking and uses in present:
            yield Mapped(lacks=lacks, uses=uses, why=lacking[lacks])
    halves = TENSOR_FP16 if TENSOR_FP16 in present else VECTOR_FP32
    if halves in present and (TENSOR_FP16 in present or TENSOR_FP16 in lacking):
        why = "a CPU accumulates fp16 products in fp32"
        yield Mapped(lacks=TENSOR_FP16_ACC16, uses=halves, why=why)
