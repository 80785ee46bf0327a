"""The time of a kernel at the pace of its way, by the length of its rows and by waves of blocks."""

from collections.abc import Mapping

from roofline.device import ELEMENTS, Roof, rows_of
from roofline.ops.pace import UNITS
from roofline.ops.pace.way import ALONE, Pace, few, sized

ALONE_SHARE = 0.4  # of a wave's time that one block takes by itself, where that was not timed


def units(roof: Roof) -> int:
    """Multiprocessors."""
    value = next((fact.value for fact in roof.facts if fact.name == "sm_count"), UNITS)
    return int(value)


def at_pace_s(how: Pace, roof: Roof) -> float | None:
    """Time of the elements at the pace of their way; None where that was not measured.

    The time of a row is a part of its own and a part for each element: linear between two lengths.
    Shorter rows than any cost as much as the shortest; longer ones go at the pace of the longest.
    """
    there = {
        c.variant.way: c.rate
        for c in roof.ceilings
        if c.resource == ELEMENTS and c.variant.way and not c.variant.sustained
    }
    full_s = _time(there, how, how.names)
    if full_s is None or not how.blocks:
        return full_s
    waves = how.blocks / (units(roof) * how.together)
    alone = few(how.way)
    alone_s = _time(there, how, (sized(alone, how.size), alone))
    return _in_waves(full_s, waves, alone_s, ALONE.get(how.way, 0) / how.together)


def _in_waves(full_s: float, waves: float, alone_s: float | None, share: float) -> float:
    """Time of so many waves of blocks, of which the last is not full.

    `full_s` is the time at the pace of full waves; `alone_s` the same at the pace of a grid that
    filled `share` of one.  Up to there a block takes as long as by itself, from there on the more
    the more others there are.
    """
    wave_s = full_s / waves
    least_s, at = (
        (ALONE_SHARE * wave_s, 0.0) if alone_s is None else (alone_s / waves * share, share)
    )
    least_s = min(least_s, wave_s)
    whole, last = divmod(waves, 1.0)
    if not last:
        return full_s
    grown = max(0.0, last - at) / (1 - at)
    return whole * wave_s + least_s + (wave_s - least_s) * grown


def _time(there: Mapping[str, float], how: Pace, names: tuple[str, ...]) -> float | None:
    if how.row is None:
        rate = next((there[name] for name in names if name in there), None)
        return None if rate is None else how.elements / rate
    rows = next(filter(None, (_rows(there, name) for name in names)), None)
    if rows is None:
        return None
    below = [r for r in rows if r[0] <= how.row]
    above = [r for r in rows if r[0] >= how.row]
    if not below:
        row_s = rows[0][1]
    elif not above:
        row_s = rows[-1][1] * how.row / rows[-1][0]
    else:
        row_s = between(below[-1], above[0], float(how.row))
    return row_s * how.elements / how.row


def _rows(there: Mapping[str, float], name: str) -> list[tuple[float, float]]:
    """Lengths at which this way was measured, each with the seconds of one row."""
    stem = rows_of(name, 0).removesuffix("0")
    found = [(int(way.removeprefix(stem)), rate) for way, rate in there.items()
             if way.startswith(stem)]  # fmt: skip
    return sorted((float(length), length / rate) for length, rate in found)


def between(one: tuple[float, float], other: tuple[float, float], at: float) -> float:
    """On the line through both points."""
    if one[0] == other[0]:
        return one[1]
    return one[1] + (other[1] - one[1]) * (at - one[0]) / (other[0] - one[0])
