"""What the profiler's own percentages say of a kernel whose work nobody could count."""

from collections.abc import Iterator

from roofline.counters import busiest
from roofline.diagnosis.kernels.evidence import readings_of
from roofline.diagnosis.kernels.launch_facts import BUSY, Facts, kernel_finding
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program

IN_MEMORY = "is memory-bound by the profiler's own view"
MOST = 105  # %: a part that is busier than that was not counted rightly, which is told by itself
SHOWN = ("tensor_pipe", "fma_pipe", "sm_throughput", "memory_throughput", "dram_throughput")


def busy_part(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF410: one part of the chip is nearly at its own peak, by the profiler's count of it."""
    found = busiest(readings_of(item, program)[0])
    if found is None or not BUSY <= found[1].value <= MOST or item.roof_fraction is not None:
        return
    name, reading = found
    others = tuple(
        f"{other.replace('_', ' ')} {value:.0f} %"
        for other in SHOWN
        if other != name and (value := fact(other)) is not None
    )
    in_memory = "memory" in name or name.startswith(("dram", "l1", "l2"))
    what = IN_MEMORY if in_memory else IN_MEMORY.replace("memory", "compute")
    yield kernel_finding(
        "RF410",
        item,
        f"{what}: {name.replace('_', ' ')} at {reading.value:.0f} % of its peak",
        (*others, *([reading.mark] if reading.mark else []))
        or ("how busy its other parts were was not collected",),
        "collect flop and bytes as well (`roofline ncu`), to place it under a roof",
        "another part of the chip is busier than the ones that were collected",
    )
