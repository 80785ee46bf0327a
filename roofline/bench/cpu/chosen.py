"""What is to be sampled, chosen already, and the samples of all of it in turns."""

from collections.abc import Sequence
from dataclasses import dataclass

from roofline.bench.cpu.crew import Crew, Load
from roofline.bench.record import Absent, Found, ceiling
from roofline.device import Resource, Variant


@dataclass(frozen=True, slots=True)
class Chosen:
    """The load that a ceiling is measured with, and what its record will say."""

    resource: Resource
    variant: Variant
    load: Load
    method: str
    conditions: tuple[str, ...]
    seen: float = 0.0  # units a second: the best sample while it was searched for


def sampled(
    crew: Crew, chosen: Sequence[Chosen | Absent], count: int, least_s: float = 0.0
) -> list[Found]:
    """A ceiling of each from `count` clean samples or more, taken in turns for `least_s` or longer.

    What was found absent stays so, in its place.
    """
    there = [c for c in chosen if isinstance(c, Chosen)]
    taken = iter(crew.in_turns([c.load for c in there], count, least_s))
    return [
        c
        if isinstance(c, Absent)
        else ceiling(
            c.resource,
            c.variant,
            next(taken),
            method=c.method,
            conditions=c.conditions,
            seen=c.seen,
        )
        for c in chosen
    ]
