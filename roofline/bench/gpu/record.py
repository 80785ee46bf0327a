"""From samples on a GPU to a ceiling that says how, on what and in which state it was obtained."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from statistics import correlation, median

from roofline.bench.gpu.card import Card, State, fingerprint, versions
from roofline.bench.gpu.timing import Load, Taken, Timer
from roofline.bench.verdict import verdict
from roofline.device import PLAIN, Ceiling, Resource, Variant
from roofline.provenance import Basis, Provenance, spread

_MOVED, _TOGETHER = 0.02, 0.8  # of the clock, and of rates with it, to say that they go together


@dataclass(frozen=True, slots=True)
class Recorder:
    """Makes ceilings of one card; what stays the same is said once here."""

    timer: Timer
    common: tuple[str, ...]

    def ceiling(
        self,
        resource: Resource,
        load: Load,
        method: str,
        about: Sequence[str],
        variant: Variant = PLAIN,
        *,
        capacity: int | None = None,
        circumstances: Sequence[str] = (),
        count: int | None = None,
        cool: bool = False,
    ) -> Ceiling:
        """Measure `load`; once more when its samples are no one number, and say so if it stays.

        `about` says what was timed, `circumstances` in what, beside clocks and settings.
        `cool` is for what draws so much power that the card must rest for longer in between.
        """
        taken = self.timer.take(load, count, cool=cool)
        if judged(taken, resource):
            again = self.timer.take(load, count, cool=cool)
            taken = taken if judged(again, resource) else again
        return self.of(
            resource, taken, method, about, variant, capacity=capacity, circumstances=circumstances
        )

    def of(
        self,
        resource: Resource,
        taken: Taken,
        method: str,
        about: Sequence[str],
        variant: Variant = PLAIN,
        *,
        capacity: int | None = None,
        circumstances: Sequence[str] = (),
        dropped: int = 0,
    ) -> Ceiling:
        """The ceiling that these samples make; `dropped` others made no rate."""
        found = spread(taken.rates, dropped=dropped, unstable=judged(taken, resource))
        now = datetime.now(UTC)
        told = (
            *about, *clocks(taken), *self.common, *circumstances, f"{now:%Y-%m-%dT%H:%M:%SZ}"
        )  # fmt: skip
        return Ceiling(
            resource=resource,
            rate=found.median,
            variant=variant,
            capacity=capacity,
            clock_hz=taken.clock_hz,
            provenance=Provenance(
                basis=Basis.MEASURED,
                source=method,
                as_of=now.date(),
                conditions="; ".join(told),
                spread=found,
            ),
        )


def recorder(timer: Timer, settings: Mapping[str, str]) -> Recorder:
    """A recorder for the timer's card, whose driver said `settings`."""
    return Recorder(timer, common(timer.card, settings))


def common(card: Card, settings: Mapping[str, str]) -> tuple[str, ...]:
    """What every record of this card holds beside its own circumstances."""
    named = {**settings, **versions()}
    mark = fingerprint(card)
    return (
        *(f"{name} {value}" for name, value in named.items()),
        *((f"GPU {mark}",) if mark else ()),
        f"code {code()}",
    )


def judged(taken: Taken, resource: Resource) -> str:
    """What is wrong with these samples, in words; "" is nothing.

    Where rates move with the clock that is said: the card held itself back.  They need not do so in
    proportion: under load the clock is lower than between the samples, where it is read.
    """
    found = verdict(taken.rates, f"{resource.unit}/s")
    if found.stable or len(taken.clocks) != len(taken.rates):
        return found.why
    moved = max(taken.clocks) / min(taken.clocks) - 1
    if moved < _MOVED or correlation(taken.rates, taken.clocks) < _TOGETHER:
        return found.why
    first, last = taken.clocks[0] / 1e6, taken.clocks[-1] / 1e6
    low, high = min(taken.clocks) / 1e6, max(taken.clocks) / 1e6
    return (
        f"{found.why}; it follows the clock, {first:.0f} MHz at first, {last:.0f} at last, "
        f"between {low:.0f} and {high:.0f}"
    )


def clocks(taken: Taken) -> list[str]:
    """The clock while sampling, and what the driver said before and after."""
    told = []
    if taken.inside_hz is not None:
        told.append(f"clock inside the kernel {_mhz(taken.inside_hz)}")
    if taken.clocks:
        low, high = min(taken.clocks), max(taken.clocks)
        middle = _mhz(median(taken.clocks))
        told.append(f"clock between samples {middle} ({low / 1e6:.0f} to {high / 1e6:.0f})")
    for when, state in (("before", taken.before), ("after", taken.after)):
        if state.clock_hz is not None:
            told.append(f"{when} {_state(state)}")
    return told


def _state(state: State) -> str:
    parts = (
        _mhz(state.clock_hz),
        state.power_w and f"{state.power_w:.0f} W",
        state.temperature_c and f"{state.temperature_c:.0f} C",
        state.held_back,
    )
    return ", ".join(part for part in parts if part)


def _mhz(hz: float | None) -> str:
    return "" if hz is None else f"{hz / 1e6:.0f} MHz"


@cache
def code() -> str:
    """Short hash of everything that decides what is timed."""
    whole = hashlib.sha256()
    for path, text in sorted(_sources(files("roofline.bench.gpu"), "")):
        whole.update(path.encode() + b"\0" + text + b"\0")
    return whole.hexdigest()[:12]


def _sources(folder: Traversable, at: str) -> Iterator[tuple[str, bytes]]:
    """Path and text of every source under `folder`."""
    for one in folder.iterdir():
        if one.is_dir():
            yield from _sources(one, f"{at}{one.name}/")
        elif one.name.endswith((".py", ".cu")):
            yield f"{at}{one.name}", one.read_bytes()
