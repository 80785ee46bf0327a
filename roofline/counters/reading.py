"""Finding a quantity among a profiler's counters: one chain of names, the first that is there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from roofline.work import Exactness

# The profiler's own metric names, values in base units (B, s, Hz, flop, counts; "%" as printed).
Counters = Mapping[str, float]
# Behind a name: no less, and no more, than this.
LOW, HIGH = ":low", ":high"
_NO_COUNT = 1e30  # B, s or flop: a damaged file; below it, what is made of two counters is finite


@dataclass(frozen=True, slots=True)
class Reading:
    """One quantity, and the counters it was taken from."""

    value: float
    unit: str  # "B", "s", "Hz", "%", "" for a plain count
    source: str  # the metric name, or the formula over metric names
    mark: str = ""  # what a reader should know: "above 100 %"
    exactness: Exactness = Exactness.EXACT
    low: float | None = None  # of a bounded value
    high: float | None = None


def known(counters: Counters, name: str) -> float | None:
    """The value of one counter; None where it is absent, or what no count can be."""
    value = counters.get(name)
    return value if value is not None and 0 <= value < _NO_COUNT else None


def first(
    counters: Counters, chain: Iterable[tuple[str, float, str]], unit: str = ""
) -> Reading | None:
    """The first counter of `chain` (metric name, factor, label) that is there, times its factor."""
    for name, factor, label in chain:
        value = known(counters, name)
        if value is not None:
            source = name if factor == 1 else f"{name} x {factor:g}"
            reading = Reading(value * factor, unit, f"{label}: {source}" if label else source)
            return _bounded(reading, counters, name, factor)
    return None


def _bounded(reading: Reading, counters: Counters, name: str, factor: float) -> Reading:
    """With the bounds that stand beside the counter, where there are any."""
    low, high = known(counters, name + LOW), known(counters, name + HIGH)
    if low is None or high is None or low == high:
        return reading
    return replace(reading, exactness=Exactness.BOUNDED, low=low * factor, high=high * factor)


def total(counters: Counters, metric: str) -> Reading | None:
    """The sum of one NVIDIA metric over a launch, as a count.

    Sections of the profiler hold it as ``.sum``, as ``.sum.per_cycle_elapsed`` (times the cycles of
    its unit, the part before the two underscores), or as ``.sum.per_second`` (times the duration).
    """
    value = known(counters, f"{metric}.sum")
    if value is not None:
        return Reading(value, "", f"{metric}.sum")
    unit = metric.partition("__")[0]
    rate = known(counters, f"{metric}.sum.per_cycle_elapsed")
    cycles = elapsed_cycles(counters, unit)
    if rate is not None and (cycles is not None or rate == 0):
        count = rate * cycles.value if cycles else 0.0
        return _product(count, f"{metric}.sum.per_cycle_elapsed x {unit}__cycles_elapsed.avg")
    rate = known(counters, f"{metric}.sum.per_second")
    duration = known(counters, DURATION)
    if rate is not None and (duration is not None or rate == 0):
        return _product(rate * (duration or 0.0), f"{metric}.sum.per_second x {DURATION}")
    value = known(counters, metric)
    return None if value is None else Reading(value, "", metric)


DURATION = "gpu__time_duration.sum"


def elapsed_cycles(counters: Counters, unit: str) -> Reading | None:
    """Cycles of one unit of the chip during the launch, or its clock times the duration."""
    for unit_name in dict.fromkeys((unit, *_SAME_CLOCK.get(unit, ()))):
        name = f"{unit_name}__cycles_elapsed.avg"
        value = known(counters, name)
        if value is not None:
            return Reading(value, "", name)
    rate, duration = (
        known(counters, f"{unit}__cycles_elapsed.avg.per_second"),
        known(counters, DURATION),
    )
    if rate is not None and duration is not None:
        return _product(rate * duration, f"{unit}__cycles_elapsed.avg.per_second x {DURATION}")
    return None


# Units that run on one clock and are counted as elapsed over the same interval.
_SAME_CLOCK = {"smsp": ("sm",), "sm": ("smsp",), "l1tex": ("sm", "smsp")}


def _product(value: float, source: str) -> Reading:
    return Reading(value, "", source, exactness=Exactness.ESTIMATE)
