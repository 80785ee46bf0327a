"""Flop of the tensor cores: ``sm__ops_path_tensor_src_*``, which counts every add and multiply.

Names differ by architecture.  A plain name holds its own ``_sparsity_on`` and ``_off`` and its
``_op_*`` parts, so a part counts only where the plain name is absent.  Sparse operations count the
skipped zeros as work, as the sparse pipe's printed rate does.

Compute capability 7.0 to 8.9 name source and accumulator; 9.0 has one ``src_fp16`` for both
accumulators, and fp8 only as its two sparsity parts; 10.0 merges fp4, fp6 and fp8; 12.0 has fp8 and
fp4 by accumulator.

The names of 9.0 stand in recordings.  Those of the others are what ``ncu --query-metrics`` lists
for the chip; nobody here has recorded them, and where a test has them its numbers are made by hand.
"""

import re
from collections.abc import Iterator

from roofline.counters.reading import Counters, Reading, total
from roofline.counters.vector import MOVES, pipe_tensor
from roofline.device import (
    TENSOR_BF16,
    TENSOR_BF16_SPARSE,
    TENSOR_FP4,
    TENSOR_FP8,
    TENSOR_FP8_ACC16,
    TENSOR_FP8_SPARSE,
    TENSOR_FP16,
    TENSOR_FP16_ACC16,
    TENSOR_FP16_SPARSE,
    TENSOR_FP64,
    TENSOR_INT4,
    TENSOR_INT8,
    TENSOR_INT8_SPARSE,
    TENSOR_TF32,
    Resource,
)
from roofline.work import Entry, Exactness

STEM = "sm__ops_path_tensor_src_"
_PATH = re.compile(
    STEM + r"(?P<path>(?P<source>[a-z0-9_]+?)(?:_dst_(?P<into>fp16|fp32))?)"
    r"(?:_sparsity_(?P<sparsity>on|off))?"
    r"\.sum(?:\.per_cycle_elapsed|\.per_second)?"
)
# (source types, accumulator or None where the name has none) -> pipe, and what to say of it
_PIPES: dict[tuple[str, str | None], tuple[Resource, str]] = {
    ("fp16", "fp16"): (TENSOR_FP16_ACC16, ""),
    ("fp16", "fp32"): (TENSOR_FP16, ""),
    ("fp16", None): (TENSOR_FP16, "fp16 and fp32 accumulation are not told apart"),
    ("bf16", "fp32"): (TENSOR_BF16, ""),
    ("tf32", "fp32"): (TENSOR_TF32, ""),
    ("fp64", None): (TENSOR_FP64, ""),
    ("fp8", None): (TENSOR_FP8, "fp16 and fp32 accumulation are not told apart"),
    ("fp8", "fp32"): (TENSOR_FP8, ""),
    ("fp8", "fp16"): (TENSOR_FP8_ACC16, ""),
    ("fp4", "fp32"): (TENSOR_FP4, ""),
    ("fp4_fp6", "fp16"): (TENSOR_FP8_ACC16, "fp4 and fp6 are not told apart"),
    ("fp4_fp6", "fp32"): (TENSOR_FP8, "fp4 and fp6 are not told apart"),
    ("fp4_fp6_fp8", "fp16"): (TENSOR_FP8_ACC16, "fp4, fp6 and fp8 are not told apart"),
    ("fp4_fp6_fp8", "fp32"): (TENSOR_FP8, "fp4, fp6 and fp8 are not told apart"),
    ("int8", None): (TENSOR_INT8, ""),
    ("int4", None): (TENSOR_INT4, ""),
}
_SPARSE = {
    TENSOR_FP16: TENSOR_FP16_SPARSE, TENSOR_BF16: TENSOR_BF16_SPARSE,
    TENSOR_FP8: TENSOR_FP8_SPARSE, TENSOR_INT8: TENSOR_INT8_SPARSE,
}  # fmt: skip
VOLTA = (7, 0)
NOT_COLLECTED = "tensor flop: not collected"


def tensor(
    counters: Counters, arch: tuple[int, int] | None
) -> tuple[list[Entry], list[str], list[str]]:
    """Entries, what is not accounted for, and conventions."""
    paths = {m["path"] for name in counters if (m := _PATH.fullmatch(name))}
    if not paths:
        return _without_paths(counters, arch)
    entries, missing, conventions = [], [], []
    for path in sorted(paths):
        for reading, sparse in _parts(counters, path):
            source, _, into = path.partition("_dst_")
            pipe, note = _PIPES.get((source, into or None), (None, ""))
            if pipe is None or (sparse and pipe not in _SPARSE):
                missing += [f"tensor flop of {path}: no pipe is known"] if reading.value else []
                continue
            entries.append(
                Entry(
                    _SPARSE[pipe] if sparse else pipe,
                    round(reading.value),
                    reading.source,
                    exactness=reading.exactness,
                )
            )
            conventions += [note] if note and reading.value else []
    return entries, missing, conventions


def _parts(counters: Counters, path: str) -> Iterator[tuple[Reading, bool]]:
    """The whole path, else its dense and its sparse part."""
    whole = total(counters, STEM + path)
    if whole is not None:
        yield whole, False
        return
    for part, sparse in (("off", False), ("on", True)):
        reading = total(counters, f"{STEM}{path}_sparsity_{part}")
        if reading is not None:
            yield reading, sparse


def _without_paths(
    counters: Counters, arch: tuple[int, int] | None
) -> tuple[list[Entry], list[str], list[str]]:
    """What the pipe's instruction count alone can say: nothing ran, or, on Volta, 512 flop each."""
    if arch is not None and arch < VOLTA:
        return [], [], []  # no tensor cores
    pipe = pipe_tensor(counters)
    if pipe is None:
        return [], [NOT_COLLECTED], []
    if pipe.value == 0:
        return [Entry(TENSOR_FP16, 0, pipe.source)], [], []
    if arch == VOLTA:
        amount = round(512 * pipe.value)
        why = f"{pipe.source} x 512"
        return [Entry(TENSOR_FP16, amount, why, exactness=Exactness.ESTIMATE)], [], []
    return [], [f"tensor flop: {pipe.source} does not say how many on this architecture"], []


def is_only_moves(conventions: list[str]) -> bool:
    """Whether the vector side explained every tensor-pipe instruction as a move."""
    return MOVES in conventions
