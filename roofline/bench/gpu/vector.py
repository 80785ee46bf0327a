"""The vector pipes and the special functions: Triton loops that never leave the registers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from roofline.bench.gpu.ahead import compiling, launching
from roofline.bench.gpu.record import Recorder
from roofline.bench.gpu.timing import Load
from roofline.bench.record import Found
from roofline.device import (
    SFU,
    VECTOR_BF16,
    VECTOR_FP16,
    VECTOR_FP32,
    VECTOR_FP64,
    VECTOR_INT32,
    Reach,
    Resource,
    Variant,
)


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop of kernels.loops.registers."""

    resource: Resource
    dtype: str
    step: str
    work: int  # units of the resource a step
    what: str
    way: str | None = None
    fused: bool = True  # whether the compiler may make one FMA of a product and a sum
    rounds: int = 512  # of one launch, which takes 1 to 2 ms on a fast card
    quick: int = 0  # which of WAYS is timed alone when quick


LOOPS = (
    Loop(VECTOR_FP32, "float32", "fma", 2, "x = x*a + a"),
    Loop(VECTOR_FP32, "float32", "fma", 2, "x = x*a, x = x + a", "without FMA", fused=False),
    Loop(VECTOR_FP64, "float64", "fma", 2, "x = x*a + a"),
    Loop(VECTOR_FP16, "float16", "fma", 2, "x = x*a + a on two halves"),
    Loop(VECTOR_BF16, "bfloat16", "fma", 2, "x = x*a + a on two halves"),
    Loop(VECTOR_INT32, "int32", "int", 2, "x = (x + t) ^ m"),
    Loop(VECTOR_INT32, "int32", "fma", 2, "x = x*a + a", "multiply-add"),
    # With 16 chains it does four fifths of what it does with 8.
    Loop(SFU, "float32", "exp", 1, "x = exp(-x)", "exp", rounds=128, quick=1),
    Loop(SFU, "float32", "rsqrt", 1, "x = rsqrt(x)", "rsqrt", rounds=128),
)
# (elements of a program, warps, programs a multiprocessor): 16 and 8 chains on each of 32 lanes
WAYS = ((2048, 4, 8), (1024, 4, 8))
UNROLL = 32
# What lanes hold, which decides the power that a loop takes.
STARTS = {
    "fma": "random values that stay apart",
    "int": "random values that stay apart",
    "exp": "values start uniform in 0.5 to 1.5 and soon meet at 0.567",
    "rsqrt": "values start uniform in 0.5 to 1.5 and soon meet at 1",
}


def loops(recorder: Recorder, quick: bool) -> Iterator[Found]:
    """Register ceilings of every loop, each the best of a few shapes; of one when quick."""
    units, lanes = recorder.timer.card.units, recorder.timer.card.lanes
    for loop in LOOPS:
        ways = [(way, load(loop, units, *way)) for way in _ways(loop, quick)]
        (block, warps, programs), best = recorder.timer.best(ways)
        yield recorder.ceiling(
            loop.resource,
            best,
            f"Triton loop of {loop.what} in registers",
            (
                f"{loop.dtype}, {block // (lanes * warps)} chains on each of {lanes} lanes, "
                f"{programs} programs of {warps} warps a multiprocessor",
                STARTS[loop.step],
            ),
            Variant(reach=Reach.REGISTER, way=loop.way),
        )


def loads(units: int, quick: bool) -> Iterator[Load]:
    """Every load that `loops` launches."""
    yield from (load(loop, units, *way) for loop in LOOPS for way in _ways(loop, quick))


def _ways(loop: Loop, quick: bool) -> tuple[tuple[int, int, int], ...]:
    return (WAYS[loop.quick],) if quick else WAYS


def load(loop: Loop, units: int, block: int, warps: int, programs: int) -> Load:
    """One launch of a loop over random values that stay of size one."""
    from roofline.bench.gpu.kernels import loops

    grid = programs * units
    values, a, b = operands(loop, grid * block)
    options: dict[str, Any] = {"num_warps": warps, "enable_fp_fusion": loop.fused}

    def go(launch: Callable[..., Any], _turn: int) -> None:
        launch(values, a, b, loop.rounds, BLOCK=block, UNROLL=UNROLL, STEP=loop.step, **options)

    return Load(
        partial(go, launching(loops.registers, (grid,))),
        grid * block * loop.rounds * UNROLL * loop.work,
        compile=partial(go, compiling(loops.registers, (grid,)), 0),
    )


def operands(loop: Loop, count: int) -> tuple[Any, float | int, float | int]:
    """Random start values and the loop's two constants.

    x = -x - 1 swings between two values for ever, so lanes stay as different as they began.
    """
    import torch

    if loop.dtype == "int32":
        values = torch.randint(-(2**31), 2**31 - 1, (count,), dtype=torch.int32, device="cuda")
        return values, 0x5BD1E995, 0x2545F491
    values = torch.rand(count, device="cuda").add_(0.5).to(getattr(torch, loop.dtype))
    return values, -1.0, 0.0
