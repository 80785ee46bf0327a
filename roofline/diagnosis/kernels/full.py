"""RF414: device memory at its roof, and pipes that have little to do."""

from collections.abc import Iterator

from roofline.device import DRAM
from roofline.diagnosis.kernels.launch_facts import BUSY, Facts, near_roof
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.units import show
from roofline.work import Count

PIPES = ("tensor_pipe", "fma_pipe", "fp64_pipe", "xu_pipe")


def fills_memory(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF414: a kernel of which counters alone are known fills device memory and little else.

    Where a formula says what its work needs, RF102 and RF104 say more.
    """
    placement, bound = item.placement, item.binding
    if placement.count is Count.ALGORITHMIC or bound is None or bound.demanded != DRAM:
        return
    busy = {pipe: value for pipe in PIPES if (value := fact(pipe)) is not None}
    busiest = max(busy, key=busy.__getitem__, default=None)
    if not near_roof(item, program) or (busiest is not None and busy[busiest] >= BUSY):
        return
    now_s = (item.measured_s or 0.0) / item.steps
    ceiling = (bound.ceiling.provenance.basis.value, str(bound.ceiling.variant))
    yield Finding(
        code="RF414",
        item=item.name,
        claim=(
            f"fills device memory, {item.roof_fraction or 0.0:.0%} of its roof"
            + (", and keeps no pipe busy" if busiest else "")
            + ": memory-bound, and nothing to gain by computing faster"
        ),
        evidence=(
            f"{show(bound.amount / item.calls, 'B')} a launch over dram, "
            f"{show(bound.amount / (item.measured_s or 1.0), 'B/s')} of "
            f"{show(bound.ceiling.rate, 'B/s')} ({', '.join(filter(None, ceiling))})",
            f"{busiest.replace('_', ' ')} at {busy[busiest]:.0f} % of its peak"
            if busiest
            else "how busy its pipes were was not collected",
        ),
        next_step=(
            "move fewer bytes: a narrower type, or its neighbours' work in the same pass; whether "
            "it moves more than it must only a formula says: import a trace with these counters"
        ),
        saves_s=0.0,
        now_s=now_s,
        wrong_if="a version that moves the same bytes runs clearly faster",
    )
