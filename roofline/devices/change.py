"""Two measurements of one device, ceiling by ceiling."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from roofline.device import Ceiling, Device, Resource, Variant

NOISE = 0.01  # a smaller change is none, however narrow the intervals are

Verdict = Literal["same", "faster", "slower", "gone", "new", "unstable"]


@dataclass(frozen=True, slots=True)
class Change:
    """One ceiling before and after; None is not measured."""

    resource: Resource
    variant: Variant
    before: Ceiling | None
    after: Ceiling | None

    @property
    def ratio(self) -> float | None:
        """After over before; None unless both were measured."""
        return self.after.rate / self.before.rate if self.before and self.after else None

    @property
    def clock_ratio(self) -> float | None:
        """The same of the clocks; a pipe whose rate moved with its clock has not changed."""
        if not (self.before and self.after and self.before.clock_hz and self.after.clock_hz):
            return None
        return self.after.clock_hz / self.before.clock_hz

    @property
    def verdict(self) -> Verdict:
        """Faster or slower only where the intervals of both medians are apart."""
        if self.before is None or self.after is None:
            return "new" if self.before is None else "gone"
        if _unstable(self.before) or _unstable(self.after):
            return "unstable"
        low, high = _interval(self.before)
        after_low, after_high = _interval(self.after)
        ratio = self.after.rate / self.before.rate
        if abs(ratio - 1) <= NOISE or (after_low <= high and low <= after_high):
            return "same"
        return "faster" if ratio > 1 else "slower"


def changes(before: Device, after: Device) -> tuple[Change, ...]:
    """Every ceiling of either measurement, in the order they were taken."""
    old = {(c.resource, c.variant): c for c in before.ceilings}
    new = {(c.resource, c.variant): c for c in after.ceilings}
    return tuple(
        Change(resource, variant, old.get((resource, variant)), new.get((resource, variant)))
        for resource, variant in {**old, **new}
    )


def circumstances(before: Device, after: Device) -> Iterator[tuple[str, str, str]]:
    """Facts that differ: (name, before, after); "" is not stated."""
    old = {fact.name: str(fact.value) for fact in before.facts}
    new = {fact.name: str(fact.value) for fact in after.facts}
    for name in {**old, **new}:
        if old.get(name) != new.get(name):
            yield name, old.get(name, ""), new.get(name, "")


def _unstable(ceiling: Ceiling) -> bool:
    return bool(ceiling.provenance.spread and ceiling.provenance.spread.unstable)


def _interval(ceiling: Ceiling) -> tuple[float, float]:
    spread = ceiling.provenance.spread
    if spread is None or spread.low is None or spread.high is None:
        return ceiling.rate, ceiling.rate
    return spread.low, spread.high
