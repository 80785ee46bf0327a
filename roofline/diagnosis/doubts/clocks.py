"""RF003: kernels and ceilings that were measured at different clocks."""

from collections.abc import Iterator

from roofline.device import L1, L2, SHARED, Reach
from roofline.devices.clock import printed_clock
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.provenance import Basis
from roofline.units import show

PRINTED = (Basis.DATASHEET, Basis.DERIVED)
APART = 0.03  # of the ceiling's clock: more than clocks wander within one measurement
_ON_CLOCK = (L1, L2, SHARED)  # boundaries whose speed goes with the compute clock, as pipes' does
SHOWN = 6
BETWEEN = (
    "the clock of a library's product was read between its samples; inside a chip may slow down "
    "further, so its fractions at equal clocks are at most these"
)


def other_clock(program: Program) -> Iterator[Finding]:
    """RF003: a kernel ran at another clock than the ceiling above it, so their ratio says both.

    Only for what the compute clock drives; device memory has a clock of its own.  Needs the clock
    of the kernel, which a profiler records, and of the ceiling, which `roofline measure` does; a
    printed peak has its maker's.
    """
    found = [
        (item, here, there)
        for item in program.by("call")
        if (clocks := _clocks(item, program)) is not None
        for here, there in [clocks]
        if abs(here / there - 1) > APART
    ]
    if not found:
        return
    found.sort(key=lambda row: row[0].measured_s or 0.0, reverse=True)
    worst, here, there = found[0]
    others = f" and {len(found) - 1} more" if len(found) > 1 else ""
    stands = "is printed for" if _printed(worst) else "was measured at"
    yield Finding(
        code="RF003",
        item="",
        claim=(
            f"{worst.name}{others} ran at {here / 1e6:.0f} MHz and the ceiling above it {stands} "
            f"{there / 1e6:.0f} MHz: "
            f"{abs(here / there - 1):.0%} apart by the clock alone"
        ),
        evidence=(
            *(_line(*row) for row in found[:SHOWN]),
            *((BETWEEN,) if any(_between(row[0]) for row in found[:SHOWN]) else ()),
        ),
        next_step=(
            "read fractions at equal clocks; profile without locking clocks "
            "(--clock-control none), or measure the device in the state the program runs in"
        ),
        wrong_if="the clock that the profiler states is not that of the kernel itself",
    )


def _clocks(item: Item, program: Program) -> tuple[float, float] | None:
    """Clock of the kernel and of the ceiling that binds it [Hz], where both are known."""
    binding = item.binding
    reading = program.facts.get(item.signatures[0], {}).get("sm_clock")
    if binding is None or reading is None:
        return None
    ceiling, there = binding.ceiling, binding.ceiling.clock_hz
    if not there and _printed(item) and ceiling.resource.is_pipe and program.device:
        there = printed_clock(program.device, ceiling)
    if not there or not (ceiling.resource.is_pipe or ceiling.resource in _ON_CLOCK):
        return None
    return reading.value, there


def _between(item: Item) -> bool:
    """Whether the clock of its ceiling was read beside the work and not in it."""
    binding = item.binding
    return binding is not None and binding.ceiling.variant.reach is Reach.LIBRARY


def _printed(item: Item) -> bool:
    binding = item.binding
    return binding is not None and binding.ceiling.provenance.basis in PRINTED


def _line(item: Item, here: float, there: float) -> str:
    fraction = item.roof_fraction
    at_equal = (
        ""
        if fraction is None
        else (f": {fraction:.0%} of the roof, {fraction * there / here:.0%} at equal clocks")
    )
    roof = ""
    if item.binding is not None and _printed(item):
        ceiling = item.binding.ceiling
        scaled, unit = ceiling.rate * here / there, f"{ceiling.resource.unit}/s"
        roof = f"; {show(ceiling.rate, unit)} printed are {show(scaled, unit)} at its clock"
    return f"{item.name}: {here / 1e6:.0f} MHz against {there / 1e6:.0f} MHz{at_equal}{roof}"
