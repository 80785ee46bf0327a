"""Kernels on a pipe that another would relieve."""

from collections.abc import Iterator

from roofline.device import TENSOR_TF32, VECTOR_FP32, VECTOR_FP64
from roofline.diagnosis.kernels.launch_facts import (
    BUSY,
    Facts,
    fraction_text,
    kernel_finding,
)
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.units import show
from roofline.work import Entry

WARP = 32
MOSTLY = 0.5  # of what a unit does, from which it is what it does
FUSED = 0.2  # assumed: share of flop in multiply-adds, below which there are none to speak of
CORES = (VECTOR_FP32, VECTOR_FP64)
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
        f"keeps the fp32 cores {fma:.0f} % busy"
        + ("" if tensor is None else " and the tensor cores idle"),
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
    converts = (fact("conversions_per_xu") or 0.0) / WARP
    what = "conversions between types" if converts >= MOSTLY else "special functions"
    yield kernel_finding(
        "RF408",
        item,
        f"is bound by {what}: their unit is {busy:.0f} % busy",
        (
            "" if (fma := fact("fma_pipe")) is None else f"{fma:.0f} % of the fp32 pipe",
            _conversions(converts) if converts else "",
            fraction_text(item),
        ),
        "convert once and keep the result, two numbers an instruction (cvt.rn.f16x2), or compute "
        "in the type that is stored"
        if converts >= MOSTLY
        else "fewer exp, log, division or conversions an element: reuse them, or use polynomials "
        "on the fp32 pipe",
        f"with half the {what} it is no faster",
    )


def _conversions(share: float) -> str:
    """Some conversions are other units' work, so that there can be more than instructions here."""
    if share > 1:
        return f"{share:.1f} conversions between types for each of that unit's instructions"
    return f"{share:.0%} of that unit's work at most converts between types"


def no_fma(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF412: adds and multiplies apart, on a pipe whose peak is that of both in one."""
    executed = item.placement.work.executed
    lines = [e for e in executed.entries if e.resource in CORES] if executed else []
    flop = sum(e.amount for e in lines)
    fused = sum(e.amount for e in lines if "fma_pred" in e.why)
    busy = max(fact("fma_pipe") or 0.0, fact("fp64_pipe") or 0.0)
    if not flop or fused >= FUSED * flop or busy < BUSY:
        return
    # The fp32 pipe multiplies integers too: what fills it must be these flop.
    alone_s = sum(_alone_s(e, program) for e in lines)
    if item.measured_s and alone_s < MOSTLY * busy / 100 * item.measured_s:
        return
    # Each pair of them would be one instruction: of s fused flop and 1 - s apart, (1 - s) + s / 2
    # instructions become 1 / 2.
    yield kernel_finding(
        "RF412",
        item,
        f"fills its pipe without fused multiply-adds: {fused / flop:.0%} of its flop are in one",
        (
            f"{show(flop / item.calls, 'flop')} a launch, {show(fused / item.calls, 'flop')} of "
            f"them fused; the pipe is {busy:.0f} % busy",
            "an add or a multiply alone takes as long as both in one: half of the peak is left",
            fraction_text(item),
        ),
        "let the compiler contract a * b + c (no -fmad=false, no __fmul_rn), or write fma(a, b, c)",
        "its adds and multiplies do not belong together, or contracted it is no faster",
        then=1 / (2 - fused / flop),
    )


def _alone_s(entry: Entry, program: Program) -> float:
    """Time of its instructions on its pipe, whose peak is that of multiply-adds, two flop each."""
    ceiling = program.roof.ceiling(entry.resource)
    instructions = entry.amount / 2 if "fma_pred" in entry.why else entry.amount
    return 0.0 if ceiling is None else instructions / (ceiling.rate / 2)
