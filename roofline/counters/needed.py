"""Which of a profiler's thousands of metrics anybody here reads."""

from functools import cache

from roofline.counters.clock import CYCLES, DURATIONS, PAIRS
from roofline.counters.facts import NAMES, RATIOS, stall
from roofline.counters.traffic import (
    DELIVERED,
    DELIVERED_RATES,
    DIRECTED,
    RATES,
    UNDIRECTED,
    USEFUL_SHARED,
)
from roofline.counters.vector import OPERATIONS, TYPES, metric

_ROLLS = ("", ".sum", ".sum.per_cycle_elapsed", ".sum.per_second")
_TENSOR = "sm__ops_path_tensor_src_"
_TENSOR_ROLLS = (
    ".sum", ".sum.per_cycle_elapsed", ".sum.per_second", ".avg.pct_of_peak_sustained_elapsed",
)  # fmt: skip
_FROM_SM = "lts__t_sectors_srcunit_tex_op_"
_AXES = tuple(
    f"launch__{what}_dim_{axis}" for what in ("grid", "block", "cluster") for axis in "xyz"
)


def needed(name: str) -> bool:
    """Whether a counter of this name is read by anything in this package."""
    if name in _named():
        return True
    if name.startswith(_TENSOR):
        return name.endswith(_TENSOR_ROLLS)
    if name.startswith(_FROM_SM):
        return name.endswith(".sum") and "lookup" not in name and "evict" not in name
    return stall(name) is not None


@cache
def _named() -> frozenset[str]:
    chains = [
        *UNDIRECTED.values(), *RATES.values(), DELIVERED, DELIVERED_RATES, USEFUL_SHARED,
        *(chain for pairs in DIRECTED.values() for pair in pairs for chain in pair),
    ]  # fmt: skip
    rates = [
        f"{name}.per_second"
        for pairs in DIRECTED.values()
        for pair in pairs
        for chain in pair
        for name, _, _ in chain
    ]
    instructions = [
        metric(prefix, letter, operation) + roll
        for prefix in ("sm", "smsp")
        for letter in TYPES
        for operation in OPERATIONS
        for roll in _ROLLS
    ]
    return frozenset(
        [
            *(name for chain in chains for name, _, _ in chain),
            *rates,
            *instructions,
            *DURATIONS,
            *(name for pair in (*CYCLES, *PAIRS) for name in pair),
            *(name for _, names in NAMES.values() for name in names),
            *(name for _, above, below in RATIOS.values() for name in (above, below)),
            *(f"{prefix}__inst_executed_pipe_tensor.sum" for prefix in ("sm", "smsp")),
            "device__attribute_compute_capability_major",
            "device__attribute_compute_capability_minor",
            *_AXES,
            *(f"launch__shared_mem_per_block_{kind}" for kind in ("dynamic", "static", "driver")),
        ]
    )
