"""What the matrix pipes can do: loops of matrix instructions that only touch registers.

On Hopper warpgroup instructions with their operands in shared memory, elsewhere (and for fp64)
warp instructions.  Each kernel first multiplies ones, whose result is known whatever the layout.
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.bench.gpu.card import Card
from roofline.bench.gpu.cuda import Module, module
from roofline.bench.gpu.kernels import mma, wgmma
from roofline.bench.gpu.record import Recorder
from roofline.bench.gpu.timing import Load
from roofline.bench.record import Absent, Found
from roofline.device import (
    TENSOR_BF16,
    TENSOR_BF16_SPARSE,
    TENSOR_FP8,
    TENSOR_FP8_ACC16,
    TENSOR_FP8_SPARSE,
    TENSOR_FP16,
    TENSOR_FP16_ACC16,
    TENSOR_FP16_SPARSE,
    TENSOR_FP64,
    TENSOR_INT8,
    TENSOR_INT8_SPARSE,
    TENSOR_TF32,
    Reach,
    Resource,
    Variant,
)
from roofline.errors import Missing

if TYPE_CHECKING:
    import torch

# resource -> (number format, 2:4 sparse, accumulator in words)
PIPES: dict[Resource, tuple[str, bool, str]] = {
    TENSOR_FP16: ("fp16", False, "fp32"),
    TENSOR_FP16_ACC16: ("fp16-acc16", False, "fp16"),
    TENSOR_BF16: ("bf16", False, "fp32"),
    TENSOR_TF32: ("tf32", False, "fp32"),
    TENSOR_FP8: ("fp8", False, "fp32"),
    TENSOR_FP8_ACC16: ("fp8-acc16", False, "fp16"),
    TENSOR_INT8: ("int8", False, "int32"),
    TENSOR_FP64: ("fp64", False, "fp64"),
    TENSOR_FP16_SPARSE: ("fp16", True, "fp32"),
    TENSOR_BF16_SPARSE: ("bf16", True, "fp32"),
    TENSOR_FP8_SPARSE: ("fp8", True, "fp32"),
    TENSOR_INT8_SPARSE: ("int8", True, "int32"),
}
HOPPER = 90
_VARIANT = Variant(reach=Reach.REGISTER)
_RUN_FLOP, _RUN_FLOP_64 = 1.0e12, 1.0e11  # of one launch: a millisecond on a fast card
_CHECKED_TURNS = 2
COUNT = 20  # samples: pauses take longer than they do


@dataclass(frozen=True, slots=True)
class Loop:
    """One kernel that can be compiled: its source, launch and work."""

    source: str
    instruction: str
    grid: int
    threads: int
    shared: int
    work: int  # flop (or op) of one turn of one block
    expected: Callable[[int], int]  # turns -> each element, when operands are ones
    dtype: str  # of the accumulator, for torch


def loop(card: Card, resource: Resource) -> Loop | None:
    """The best instruction this card has for that pipe; None when none is known here."""
    name, sparse, accumulator = PIPES[resource]
    dtype = {"fp32": "float32", "fp16": "float16", "int32": "int32", "fp64": "float64"}[accumulator]
    capability = card.capability or 0
    if capability == HOPPER and name in wgmma.FORMATS:
        form = wgmma.FORMATS[name]
        return Loop(
            wgmma.source(form, sparse),
            f"wgmma{'.sp' if sparse else ''} m64n256k{form.k * (2 if sparse else 1)}",
            card.units,
            wgmma.THREADS,
            wgmma.SHARED,
            wgmma.flop(form, sparse),
            lambda turns: wgmma.expected(form, turns),
            dtype,
        )
    known = None if sparse else mma.best(name, capability)
    if known is None:
        return None
    m, n, k = known.shape
    return Loop(
        mma.source(known),
        f"mma.sync m{m}n{n}k{k}",
        mma.BLOCKS_PER_SM * card.units,
        mma.THREADS,
        0,
        mma.flop(known),
        lambda turns: mma.expected(known, turns),
        dtype,
    )


def sources(card: Card, resources: Sequence[Resource]) -> list[str]:
    """The CUDA C++ of the loops that this card has."""
    return [found.source for r in resources if card.nvidia and (found := loop(card, r))]


def pipes(recorder: Recorder, resources: Sequence[Resource]) -> Iterator[Found]:
    """Register ceilings of the matrix pipes."""
    card = recorder.timer.card
    if not card.nvidia:
        yield from (Absent(r, _VARIANT, "written for NVIDIA cards only") for r in resources)
        return
    for resource in resources:
        yield _pipe(recorder, card, resource)


def _pipe(recorder: Recorder, card: Card, resource: Resource) -> Found:
    found = loop(card, resource)
    name, sparse, accumulator = PIPES[resource]
    if found is None:
        return Absent(resource, _VARIANT, f"no instruction for it is known on sm_{card.target}")
    try:
        made = module(found.source, card.target)
        if not right(made, found):
            return Absent(resource, _VARIANT, f"{found.instruction} multiplied ones wrongly")
        return recorder.ceiling(
            resource,
            load(made, found, turns=max(1, round(_run_flop(found) / (found.work * found.grid)))),
            f"CUDA C++ loop of {found.instruction}, operands stay on the multiprocessor, "
            f"{made.made_by}",
            (f"{name.split('-')[0]} products, {accumulator} accumulate", *_operands(name, sparse)),
            _VARIANT,
            count=COUNT,
            cool=True,
        )
    except (Missing, RuntimeError) as error:
        return Absent(resource, _VARIANT, str(error))


def _operands(name: str, sparse: bool) -> tuple[str, ...]:
    """What is multiplied, which decides the power that it takes."""
    drawn = "of any bits" if name == "int8" else "uniform in 0.5 to 1 of either sign"
    zeros = ("2:4 sparse, the zeros left out count as work",) * sparse
    return f"random operands, {drawn}", *zeros


def _run_flop(found: Loop) -> float:
    return _RUN_FLOP_64 if found.dtype == "float64" else _RUN_FLOP


def load(made: Module, found: Loop, turns: int) -> Load:
    """One launch of the loop over the whole card."""
    import torch

    times = torch.zeros(2, dtype=torch.int64, device="cuda")
    arguments = (result(found), times, *map(ctypes.c_int, (turns, 0, 0)))
    function = made.function("matrix_loop")
    run = function.launcher(found.grid, found.threads, arguments, found.shared)

    def clock_hz() -> float | None:
        cycles, ns = times.tolist()
        times.zero_()
        return 1e9 * cycles / ns if ns else None

    return Load(lambda _turn: run(), float(found.work) * found.grid * turns, clock_hz)


def result(found: Loop) -> "torch.Tensor":
    """Where the kernel writes one result a thread; two halves stand for each fp16 one."""
    import torch

    halves = 2 if found.dtype == "float16" else 1
    count = found.grid * found.threads * halves
    return torch.zeros(count, dtype=getattr(torch, found.dtype), device="cuda")


def right(made: Module, found: Loop) -> bool:
    """Whether the product of ones is what it must be, in every element of every thread."""
    import torch

    out, times = result(found), torch.zeros(2, dtype=torch.int64, device="cuda")
    arguments = (out, times, *map(ctypes.c_int, (_CHECKED_TURNS, 1, 1)))
    made.function("matrix_loop").launcher(found.grid, found.threads, arguments, found.shared)()
    torch.cuda.synchronize()
    return bool((out == found.expected(_CHECKED_TURNS)).all())
