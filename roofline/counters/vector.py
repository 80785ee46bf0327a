"""Flop of the CUDA cores, from instruction counts per type.

Add and multiply are one flop a thread, a fused multiply-add two; a half instruction works on two
packed numbers, so 2, 2, 4.  Source: Nsight Compute, "Roofline Charts", and its derived metrics
``..._op_ffma_pred_on_x2`` and ``..._op_hfma_pred_on_x4``.

Left out: special functions and conversions, which these metrics do not count.
"""

from collections.abc import Iterator

from roofline.counters.reading import Counters, Reading, known, total
from roofline.device import VECTOR_FP16, VECTOR_FP32, VECTOR_FP64, Resource
from roofline.work import Entry, Exactness

# letter in the metric name -> pipe, flop of one thread's add, mul, fma, what the number is of
TYPES: dict[str, tuple[Resource, tuple[int, int, int]]] = {
    "d": (VECTOR_FP64, (1, 1, 2)),
    "f": (VECTOR_FP32, (1, 1, 2)),
    "h": (VECTOR_FP16, (2, 2, 4)),
}
OPERATIONS = ("add", "mul", "fma")
PACKED = "half instructions are counted as two packed numbers; fp16 and bf16 are not told apart"
MOVES = "half-precision FMA here are register moves on the tensor pipe and count as no flop"


def metric(prefix: str, letter: str, operation: str) -> str:
    """The name of one instruction count, without its ``.sum``."""
    return f"{prefix}__sass_thread_inst_executed_op_{letter}{operation}_pred_on"


def vector(counters: Counters) -> tuple[list[Entry], list[str], list[str]]:
    """Entries, what is not accounted for, and conventions; all empty when nothing was collected."""
    counts = {
        letter: [_count(counters, letter, operation) for operation in OPERATIONS]
        for letter in TYPES
    }
    if all(count is None for group in counts.values() for count in group):
        return [], [], []
    entries: list[Entry] = []
    missing: list[str] = []
    conventions: list[str] = []
    moves = _moves(counters, counts)
    for letter, (pipe, weights) in TYPES.items():
        group = counts[letter]
        missing += [
            f"{pipe.name}: {letter}{operation} not collected"
            for operation, count in zip(OPERATIONS, group, strict=True)
            if count is None
        ]
        if letter == "h" and moves:
            group = [*group[:2], None]
            conventions.append(MOVES)
        entries += _lines(pipe, weights, letter, group, uncertain=_uncertain(counters, counts))
    if any(entry.resource == VECTOR_FP16 and entry.amount for entry in entries):
        conventions.append(PACKED)
    return entries, missing, conventions


def _count(counters: Counters, letter: str, operation: str) -> Reading | None:
    """One of the twins smsp__ and sm__ (both count the same instructions), never their sum."""
    return total(counters, metric("smsp", letter, operation)) or total(
        counters, metric("sm", letter, operation)
    )


def _lines(
    pipe: Resource,
    weights: tuple[int, int, int],
    letter: str,
    group: list[Reading | None],
    uncertain: bool,
) -> Iterator[Entry]:
    for operation, weight, count in zip(OPERATIONS, weights, group, strict=True):
        if count is None:
            continue
        amount = round(count.value * weight)
        doubtful = letter == "h" and operation == "fma" and uncertain and amount > 0
        why = f"{count.source} x {weight}" if weight > 1 else count.source
        # Without a half add or multiply they are nearly always how the compiler moves a register.
        yield Entry(
            pipe,
            0 if doubtful else amount,
            f"{why}; taken for register moves, may be arithmetic" if doubtful else why,
            exactness=Exactness.BOUNDED if doubtful else count.exactness,
            low=0 if doubtful else None,
            high=amount if doubtful else None,
        )


def _moves(counters: Counters, counts: dict[str, list[Reading | None]]) -> bool:
    """Whether all HFMA2 of a kernel are moves: each then is one tensor-pipe instruction.

    The compiler of CC 8.0 moves constants with HFMA2.MMA, which the tensor pipe runs: 32 threads a
    warp instruction, so hfma = 32 x pipe_tensor says that no tensor instruction is left over.
    """
    pipe = pipe_tensor(counters)
    fma = counts["h"][2]
    if pipe is None or fma is None or not fma.value or not _alone(counts):
        return False
    return abs(fma.value - 32 * pipe.value) <= 0.01 * fma.value


def _uncertain(counters: Counters, counts: dict[str, list[Reading | None]]) -> bool:
    """Whether half FMA stand alone, as in a copy, with nothing to tell moves by."""
    return pipe_tensor(counters) is None and _alone(counts)


def _alone(counts: dict[str, list[Reading | None]]) -> bool:
    """No half add or multiply beside them, which would show that halves are computed with."""
    return not any(count is not None and count.value for count in counts["h"][:2])


def pipe_tensor(counters: Counters) -> Reading | None:
    """Warp instructions that the tensor pipe ran, moves and conversions among them."""
    for prefix in ("sm", "smsp"):
        name = f"{prefix}__inst_executed_pipe_tensor.sum"
        value = known(counters, name)
        if value is not None:
            return Reading(value, "", name)
    return None
