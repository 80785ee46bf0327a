"""How long a profiled launch took, held against its own cycle counters.

A profiler that replays a kernel to collect more counters than fit at once takes the kernel's
duration in one of the passes, so duration and cycles belong together.  A duration that was taken
around the replays (wall time, or a timestamp of another tool) does not: it is many times longer
than cycles over clock, and a rate from it would be wrong, so it is refused.
"""

from dataclasses import dataclass

from roofline.counters.reading import DURATION, Counters, Reading, known

# Durations of one launch: the profiler's, which are of one pass.
DURATIONS = (
    DURATION, "gpu__time_duration.avg", "gpu__time_duration.max", "gpu__time_duration",
    "gpu__time_active.sum", "gpu__time_active.avg",
)  # fmt: skip
# (cycles, cycles a second) of the clocks that tick through the whole launch.
CYCLES = tuple(
    (f"{unit}__cycles_elapsed.{roll}", f"{unit}__cycles_elapsed.{per}.per_second")
    for unit in ("sm", "smsp", "gpc", "l1tex", "dram", "lts")
    for roll, per in (("avg", "avg"), ("max", "max"), ("max", "avg"))
)
# (amount, amount a second) pairs, of which the quotient is the duration again.
PAIRS = tuple(
    (f"{name}.sum", f"{name}.sum.per_second")
    for name in ("dram__bytes_read", "dram__bytes_write", "dram__bytes", "lts__t_sectors")
)
AGREES = 1.25  # rounding of printed clocks and short launches stay well inside


@dataclass(frozen=True, slots=True)
class Clock:
    """A duration, or why there is none."""

    value: float | None  # s
    source: str
    doubt: str = ""  # why a duration that stands in the file is not used


def seconds(counters: Counters) -> Clock:
    """The duration of the launch; None where none is recorded, or where it is refused."""
    recorded = _recorded(counters)
    counted = _counted(counters)
    if recorded is None:
        return Clock(counted.value, counted.source) if counted else Clock(None, "")
    if counted is not None and recorded.value > AGREES * counted.value:
        return Clock(
            None,
            recorded.source,
            f"{recorded.source} is {recorded.value:.4g} s but {counted.source} gives "
            f"{counted.value:.4g} s: a duration around replays, not of one pass",
        )
    return Clock(recorded.value, recorded.source)


def _recorded(counters: Counters) -> Reading | None:
    for name in DURATIONS:
        value = known(counters, name)
        if value:
            return Reading(value, "s", name)
    return None


def _counted(counters: Counters) -> Reading | None:
    """Cycles over clock, or an amount over its rate: the duration that the counters imply."""
    for amount, rate in (*CYCLES, *PAIRS):
        above, below = known(counters, amount), known(counters, rate)
        if above and below:
            return Reading(above / below, "s", f"{amount} / {rate}")
    return None
