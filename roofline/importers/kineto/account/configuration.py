"""How a kernel was launched, as counters under the profiler's own names."""

from collections.abc import Sequence
from math import prod
from typing import Any

import msgspec

from roofline.importers.kineto.read.event import number

NAMES = (
    "registers per thread", "shared memory", "blocks per SM", "warps per SM",
    "est. achieved occupancy %", "bytes",
)  # fmt: skip
_MAY_BE_NONE = ("shared memory", "blocks per SM", "warps per SM", "est. achieved occupancy %")


def configuration(kernel: Sequence[Any]) -> dict[str, float]:
    """Counters of one entry of Columns.kernels; ``grid`` and ``block`` are counts, of all axes.

    Of a block of several axes ``block x`` is the first: how its threads lie beside each other.
    """
    _, grid, block, *others = kernel
    counts = {"grid": _count(grid), "block": _count(block), "block x": _columns(block)}
    counts |= {name: number(value) for name, value in zip(NAMES, others, strict=True)}
    return {
        name: value
        for name, value in counts.items()
        if value is not None and (value > 0 or (value == 0 and name in _MAY_BE_NONE))
    }


def _count(axes: bytes) -> float | None:
    sizes = _sizes(axes)
    return float(prod(sizes)) if sizes else None


def _columns(axes: bytes) -> float | None:
    sizes = _sizes(axes)
    return float(sizes[0]) if prod(sizes[1:]) > 1 else None


def _sizes(axes: bytes) -> list[int]:
    try:
        sizes = msgspec.json.decode(axes, type=list[int]) if axes else []
    except (msgspec.DecodeError, RecursionError):
        return []
    return sizes if all(0 <= size < 2**31 for size in sizes) else []
