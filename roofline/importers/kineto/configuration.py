"""How a kernel was launched, as counters under the profiler's own names."""

from collections.abc import Sequence
from math import prod
from typing import Any

import msgspec

from roofline.importers.kineto.event import number

NAMES = (
    "registers per thread", "shared memory", "blocks per SM", "warps per SM",
    "est. achieved occupancy %", "bytes",
)  # fmt: skip
_MAY_BE_NONE = ("shared memory", "blocks per SM", "warps per SM", "est. achieved occupancy %")


def configuration(kernel: Sequence[Any]) -> dict[str, float]:
    """Counters of one entry of Columns.kernels; ``grid`` and ``block`` are counts, of all axes."""
    _, grid, block, *others = kernel
    counts = {"grid": _count(grid), "block": _count(block)}
    counts |= {name: number(value) for name, value in zip(NAMES, others, strict=True)}
    return {
        name: value
        for name, value in counts.items()
        if value is not None and (value > 0 or (value == 0 and name in _MAY_BE_NONE))
    }


def _count(axes: bytes) -> float | None:
    try:
        sizes = msgspec.json.decode(axes, type=list[int]) if axes else []
    except (msgspec.DecodeError, RecursionError):
        return None
    return float(prod(sizes)) if sizes and all(0 <= size < 2**31 for size in sizes) else None
