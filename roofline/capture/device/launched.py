"""How a kernel was launched, as the profiler notes it beside the kernel's time."""

import json
from math import prod
from typing import Any

_WORDS = (
    "registers per thread", "shared memory", "blocks per SM", "warps per SM",
    "est. achieved occupancy %",
)  # fmt: skip


def configuration(text: str) -> dict[str, float]:
    """Counters under the profiler's own names; ``grid`` and ``block`` are counts, of all axes.

    `text` is JSON, of older versions without its braces; empty and unreadable it says nothing.

    >>> configuration('"grid": [4, 2, 1], "block": [256, 1, 1], "registers per thread": 122')
    {'grid': 8.0, 'block': 256.0, 'registers per thread': 122.0}
    """
    try:
        said: Any = json.loads(text if text.startswith("{") else f"{{{text}}}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(said, dict):
        return {}
    found: dict[str, float] = {}
    for name in ("grid", "block"):
        axes: Any = said.get(name)
        if isinstance(axes, list) and axes and all(isinstance(n, int) and n > 0 for n in axes):
            found[name] = float(prod(axes))
    known = {name: said.get(name) for name in _WORDS}
    return found | {n: float(v) for n, v in known.items() if isinstance(v, int | float)}
