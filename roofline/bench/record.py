"""From samples to a ceiling that says how it was obtained, or to a sentence why there is none."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from roofline.bench.sample import FEWEST, TRUSTED, Samples
from roofline.bench.verdict import unstable
from roofline.device import Ceiling, Resource, Variant
from roofline.provenance import Basis, Provenance, spread
from roofline.units import show


@dataclass(frozen=True, slots=True)
class Absent:
    """A ceiling that was looked for and is not there."""

    resource: Resource
    variant: Variant
    why: str
    lasting: bool = False  # more threads or another try would not change it

    def __str__(self) -> str:
        what = f"{self.resource.name} {self.variant}".rstrip()  # a plain variant is empty
        return f"{what}: {self.why}"


Found = Ceiling | Absent

FAR = 0.8  # of the best rate that was seen: a median below it does not stand for the machine


def absences(found: Iterable[Found]) -> list[str]:
    """What was not found, one line a reason: the reason, then everything it holds for."""
    reasons: dict[str, list[str]] = {}
    for absent in found:
        if isinstance(absent, Absent):
            reasons.setdefault(absent.why, []).append(f"{absent.resource.name} {absent.variant}")
    return [f"{why}: {'; '.join(names)}" for why, names in reasons.items()]


def ceiling(
    resource: Resource,
    variant: Variant,
    samples: Samples,
    *,
    method: str,
    conditions: Sequence[str],
    capacity: int | None = None,
    seen: float = 0.0,
) -> Found:
    """The median of the clean samples as a ceiling; absent when too few of them are clean.

    Samples stand in the order they were taken: a drift, two modes or a wide interval are told, and
    so is a median far under the best that a search had `seen` (0 is no search), or sees now.
    `method` says in words what was timed and with which code; `conditions` what a reader needs
    to notice that the number no longer holds.
    """
    total, clean = len(samples.all), len(samples.rates)
    if not samples.trusted:
        return Absent(
            resource,
            variant,
            f"{clean} of {total} samples undisturbed, "
            f"{TRUSTED:.0%} and at least {FEWEST} are needed",
        )
    now = datetime.now(UTC)
    unit = f"{resource.unit}/s"
    shape = unstable(samples.rates, unit) or _short(samples.rates, seen, unit)
    found = spread(samples.rates, dropped=total - clean, unstable=shape)
    told = (*conditions, f"{clean} of {total} samples undisturbed", f"{now:%Y-%m-%dT%H:%M:%SZ}")
    return Ceiling(
        resource=resource,
        rate=found.median,
        variant=variant,
        capacity=capacity,
        provenance=Provenance(
            basis=Basis.MEASURED,
            source=method,
            as_of=now.date(),
            conditions="; ".join(told),
            spread=found,
        ),
    )


def _short(rates: Sequence[float], seen: float, unit: str) -> str:
    """Says so when the median is far under what the same work reached at its best; else ""."""
    if not seen:
        return ""
    best, middle = max(seen, *rates), median(rates)
    if middle >= FAR * best:
        return ""
    return f"short of its best: {show(best, unit)} was seen, {best / middle:.1f} times the median"
