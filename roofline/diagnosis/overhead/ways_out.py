"""What each way out of too many starts would give at most: a graph, fusion, a bigger batch."""

from collections.abc import Iterator

from roofline.device import DISPATCH, LAUNCH
from roofline.diagnosis.memory.passes import worth_chains
from roofline.program import Program
from roofline.units import number_of, show


def ways_out(program: Program, now_s: float) -> Iterator[str]:
    """One line a way, against today's `now_s` of a step."""
    whole, steps = program.whole, program.conditions.steps
    start_s, kernels = program.conditions.call_overhead_s, program.kernels
    starts = whole.calls if kernels is None else kernels.started / steps
    if not start_s or not starts or not whole.busy_s:
        return
    fastest = program.roof.highest(LAUNCH if kernels else DISPATCH)
    if kernels is not None and fastest and fastest * start_s > 1:
        least_s = max(whole.busy_s, starts / fastest)
        yield f"in a captured graph: {show(now_s, 's')} -> {show(least_s, 's')} at best"
    chains = worth_chains(program)
    gone = sum((len(chain.names) - 1) * chain.count for chain in chains) / steps
    if gone:
        yield (
            f"fused where neighbours share data (RF101): {number_of(gone, 'start')} fewer of "
            f"{starts:g}, {show(gone * start_s, 's')} of starting"
        )
    if now_s > whole.busy_s:
        yield (
            f"with a bigger batch: up to {now_s / whole.busy_s:.1f} times the work in the same "
            "time, until starting it is hidden behind it"
        )
