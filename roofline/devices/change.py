"""Two measurements of one device, ceiling by ceiling."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from roofline.device import Ceiling, Device, Fact, Resource, Variant
from roofline.devices.method import alike, method

NOISE = 0.01  # a smaller change is none, however narrow the intervals are
SAME = 0.05  # "same" promises that no change larger than this is hidden in the intervals

Verdict = Literal["same", "faster", "slower", "unclear", "gone", "new", "unstable", "other method"]


@dataclass(frozen=True, slots=True)
class Change:
    """One ceiling before and after; None is not measured."""

    resource: Resource
    variant: Variant
    before: Ceiling | None
    after: Ceiling | None
    before_method: tuple[str, ...] = ()  # what was timed: program, shape, working set
    after_method: tuple[str, ...] = ()

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
        """What the intervals of both medians, which are of 95 %, allow to say.

        Faster or slower where they are apart, the same where they exclude a change of more than
        `SAME`, and unclear between these and where a median has no interval.
        """
        if self.before is None or self.after is None:
            return "new" if self.before is None else "gone"
        if not alike(self.before_method, self.after_method):
            return "other method"
        if _unstable(self.before) or _unstable(self.after):
            return "unstable"
        old, new = _interval(self.before), _interval(self.after)
        if old is None or new is None:
            return "unclear"
        least, most = new[0] / old[1], new[1] / old[0]
        ratio = self.after.rate / self.before.rate
        if abs(ratio - 1) > NOISE and (least > 1 or most < 1):
            return "faster" if ratio > 1 else "slower"
        return "same" if least >= 1 / (1 + SAME) and most <= 1 + SAME else "unclear"


def changes(before: Device, after: Device) -> tuple[Change, ...]:
    """Every ceiling of either measurement, in the order they were taken."""
    old = {(c.resource, c.variant): c for c in before.ceilings}
    new = {(c.resource, c.variant): c for c in after.ceilings}
    return tuple(
        _change(old.get(key), new.get(key), *key, (before.name, after.name))
        for key in {**old, **new}
    )


def _change(
    before: Ceiling | None,
    after: Ceiling | None,
    resource: Resource,
    variant: Variant,
    names: tuple[str, str],
) -> Change:
    methods = (
        () if one is None else method(one, name)
        for one, name in zip((before, after), names, strict=True)
    )
    return Change(resource, variant, before, after, *methods)


def circumstances(before: Device, after: Device) -> Iterator[tuple[str, Fact | None, Fact | None]]:
    """Facts that differ: (name, before, after); None is not stated."""
    old = {fact.name: fact for fact in before.facts}
    new = {fact.name: fact for fact in after.facts}
    for name in {**old, **new}:
        was, now = old.get(name), new.get(name)
        if was is None or now is None or (was.value, was.unit) != (now.value, now.unit):
            yield name, was, now


def _unstable(ceiling: Ceiling) -> bool:
    return bool(ceiling.provenance.spread and ceiling.provenance.spread.unstable)


def _interval(ceiling: Ceiling) -> tuple[float, float] | None:
    """The interval of the median; None where none is known, which is not one of no width."""
    spread = ceiling.provenance.spread
    if spread is None or spread.low is None or spread.high is None:
        return None
    return spread.low, spread.high
