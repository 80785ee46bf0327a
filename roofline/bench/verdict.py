"""Whether one number may stand for a set of samples, or hides what happened."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from roofline.provenance import spread
from roofline.units import number_of, show

ENOUGH = 10  # samples below which no shape can be told
DRIFT = 0.03  # change from the first third to the last, over the median
TREND = 0.5  # Kendall's rank correlation with time that makes such a change a drift
APART = 0.03  # distance of two modes, over the median
DISTINCT = 4.0  # the same in units of the wider mode's own quartile distance
MINORITY = 0.15  # least share of the samples in the smaller mode: fewer are outliers
WIDE = 0.10  # farther side of the 95 % interval of the median, over the median

Shape = Literal["stable", "drifting", "bimodal", "wide", "too few"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The shape of the samples, and in words what was seen."""

    shape: Shape
    why: str = ""  # "" is stable

    @property
    def stable(self) -> bool:
        """Whether the median means something."""
        return self.shape == "stable"


def verdict(samples: Sequence[float], unit: str) -> Verdict:
    """Judge positive `samples`, in `unit` ("B/s"), in the order they were taken.

    A trend over time comes first: samples that fell from one level to another are drifting, not
    bimodal.  A few outliers are stable: the median does not feel them.  Samples of neither shape
    are wide when they do not tell the median to within a tenth; six are enough to see that.

    >>> verdict([1e9, 1.2e9] * 10, "B/s")
    Verdict(shape='bimodal', why='bimodal: 50 % of samples near 1.00 GB/s, 50 % near 1.20 GB/s')
    """
    if len(samples) < ENOUGH:
        few = f"only {number_of(len(samples), 'sample')}, {ENOUGH} are needed"
        return _wide(samples, unit) or Verdict("too few", few)
    return _drift(samples) or _modes(samples, unit) or _wide(samples, unit) or Verdict("stable")


def unstable(samples: Sequence[float], unit: str) -> str:
    """Why no one number stands for `samples`; "" where one does, or where they are too few."""
    found = verdict(samples, unit)
    return found.why if found.shape in ("drifting", "bimodal", "wide") else ""


def _drift(samples: Sequence[float]) -> Verdict | None:
    third = len(samples) // 3
    first, last = median(samples[:third]), median(samples[-third:])
    change = (last - first) / median(samples)
    if abs(change) < DRIFT or abs(_kendall(samples)) < TREND:
        return None
    return Verdict("drifting", f"drifting: {change:+.1%} from the first third to the last")


def _kendall(samples: Sequence[float]) -> float:
    """Rank correlation of the samples with their order, -1 to 1 (Kendall's tau-a)."""
    n = len(samples)
    ups = sum(
        (later > earlier) - (later < earlier)
        for i, earlier in enumerate(samples)
        for later in samples[i + 1 :]
    )
    return 2 * ups / (n * (n - 1))


def _modes(samples: Sequence[float], unit: str) -> Verdict | None:
    """Two clusters with a gap between them: the widest gap that leaves a minority on each side."""
    ordered = sorted(samples)
    least = max(2, round(MINORITY * len(ordered)))
    cut = max(range(least, len(ordered) - least + 1), key=lambda i: ordered[i] - ordered[i - 1])
    low, high = spread(ordered[:cut]), spread(ordered[cut:])
    distance = high.median - low.median
    width = max(low.q3 - low.q1, high.q3 - high.q1)
    gap = ordered[cut] - ordered[cut - 1]
    if distance < APART * median(ordered) or distance < DISTINCT * width or gap < width:
        return None
    share = 100 * cut / len(ordered)
    return Verdict(
        "bimodal",
        f"bimodal: {share:.0f} % of samples near {show(low.median, unit)}, "
        f"{100 - share:.0f} % near {show(high.median, unit)}",
    )


def _wide(samples: Sequence[float], unit: str) -> Verdict | None:
    """An interval of the median that reaches far to one side; None where there is no interval."""
    found = spread(samples)
    if found.low is None or found.high is None:
        return None
    if max(found.high - found.median, found.median - found.low) <= WIDE * found.median:
        return None
    low, high = show(found.low, unit), show(found.high, unit)
    return Verdict("wide", f"wide: 95 % of the median between {low} and {high}")
