"""Kernels on a pipe that another would relieve."""

from collections.abc import Iterator

from roofline.device import TENSOR_TF32, VECTOR_FP32
from roofline.diagnosis.kernels.launch_facts import (
    BUSY,
    Facts,
    brief,
    fraction_text,
    kernel_finding,
)
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.units import show

TILE = 4096.0  # B of shared memory a block, less than any tile of a matrix product takes


def wrong_pipe(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF407: matrix work in fp32 on the CUDA cores although the device has tf32."""
    fma, tensor = fact("fma_pipe"), fact("tensor_pipe")
    ceiling, cores = program.roof.ceiling(TENSOR_TF32), program.roof.ceiling(VECTOR_FP32)
    if fma is None or fma < BUSY or (tensor or 0.0) >= 5.0 or ceiling is None or cores is None:
        return
    # A product keeps tiles in shared memory; without, it is some other arithmetic.
    if ceiling.resource != TENSOR_TF32 or (fact("shared_per_block") or 0.0) < TILE:
        return
    gain = ceiling.rate / cores.rate
    yield kernel_finding(
        "RF407",
        item,
        f"{brief(item.name)} keeps the fp32 cores {fma:.0f} % busy and the tensor cores idle",
        (
            f"tf32 ceiling {show(ceiling.rate, 'flop/s')}, fp32 cores {show(cores.rate, 'flop/s')}",
            "only matrix products can move to the tensor cores",
        ),
        "if it is a matrix product that tolerates tf32 or bf16: "
        "torch.set_float32_matmul_precision('high'), or a half type",
        "it is not a matrix product, or tf32 runs no faster",
        then=1 / gain,
    )


def special_functions(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF408: transcendental functions fill their unit."""
    busy = fact("xu_pipe")
    if busy is None or busy < BUSY:
        return
    yield kernel_finding(
        "RF408",
        item,
        f"{brief(item.name)} is bound by special functions: their unit is {busy:.0f} % busy",
        (f"{fact('fma_pipe') or 0:.0f} % of the fp32 pipe", fraction_text(item)),
        "fewer exp, log, division or conversions an element: reuse them, or use polynomials on the "
        "fp32 pipe",
        "with half the special functions it is no faster",
    )
