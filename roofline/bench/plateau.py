"""Levels of a memory hierarchy, found as plateaus of a working-set sweep.

Pure functions over (size, rate) points.  Advertised cache sizes only help to name a plateau that
was found; a level without one is absent.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from roofline.device import DRAM, HIERARCHY, Resource

BAND = 0.10  # rates of one plateau stay this near its median
SLOPE = 0.10  # |d log rate / d log size| along a plateau: 7 % an octave
FALL = 0.12  # the same from its ends outwards over AWAY octaves: a sixth or more is lost; where
AWAY = 2.0  # that is flatter, all is one long slope
STEP = 0.10  # between two levels that lie within one BAND, each of them within half of it
OCTAVES = 1.0  # the least a plateau spans
POINTS = 3  # and the fewest points it has
OUTLIERS = 0.2  # share of a plateau's points that a disturbance may have pushed off it


@dataclass(frozen=True, slots=True)
class Point:
    """The rate over one working set."""

    size: int  # B, every array together
    rate: float  # B/s


@dataclass(frozen=True, slots=True)
class Plateau:
    """A run of sizes over which the rate hardly changes."""

    points: tuple[Point, ...]  # smallest first, outliers left out
    holds: int  # B: the largest working set, on it or right behind it, that is no slower

    @property
    def rate(self) -> float:
        """Median over its points [B/s]."""
        return median(p.rate for p in self.points)


def plateaus(points: Sequence[Point]) -> tuple[Plateau, ...]:
    """Every plateau of a sweep, smallest working sets first; none where the rate only slopes.

    A plateau spans an octave or more, stays within BAND of its median, is flat, and falls off
    beyond its end (or ends the sweep).  A plateau slower than one further out is dropped: a level
    nearer to the core cannot be slower, so something else (call overhead) was timed there.
    """
    smooth = _smoothed(sorted(points, key=lambda p: p.size))
    found = _search(smooth, 0, len(smooth))
    return tuple(
        p for i, p in enumerate(found) if all(p.rate * (1 + BAND) >= q.rate for q in found[i + 1 :])
    )


def _smoothed(points: Sequence[Point]) -> list[Point]:
    """Each rate replaced by the median of itself and its neighbours.

    A single disturbed size goes; a curve that only falls or only rises stays exactly as it is,
    so no edge between levels moves.
    """
    triples = zip(points, points[1:], points[2:], strict=False)
    inner = [Point(p.size, median((o.rate, p.rate, q.rate))) for o, p, q in triples]
    return [*points[:1], *inner, *points[1:][-1:]]


def _search(points: Sequence[Point], start: int, stop: int) -> list[Plateau]:
    """The longest plateau within points[start:stop], and those on either side of it."""
    runs = [
        (_octaves(points[i], points[j]), i, j)
        for i in range(start, stop)
        for j in range(i + POINTS - 1, stop)
        if _octaves(points[i], points[j]) >= OCTAVES
    ]
    for _, i, j in sorted(runs, reverse=True):
        inside = _flat(points[i : j + 1])
        if inside is None:
            continue
        end = _end(points, j, stop, inside)
        if _falls(points[i::-1]) and _falls(points[end:]):
            return [
                *_search(points, start, i),
                *(_stairs(inside, points[end].size) or [Plateau(inside, points[end].size)]),
                *_search(points, end + 1, stop),
            ]
    return []


def _stairs(inside: Sequence[Point], holds: int) -> list[Plateau]:
    """Two plateaus where one was found, when there is a step in it; else none.

    Levels whose rates are a sixth apart lie within one BAND; but each is flat, and a slope is not.
    """
    found = []
    for k in range(POINTS, len(inside) - POINTS + 1):
        left, right = inside[:k], inside[k:]
        if not all(_level(part) for part in (left, right)):
            continue
        if abs(_middle(left) / _middle(right) - 1) >= STEP:
            found.append((abs(inside[k - 1].rate / inside[k].rate - 1), k))
    if not found:
        return []
    _, k = max(found)
    return [Plateau(tuple(inside[:k]), inside[k - 1].size), Plateau(tuple(inside[k:]), holds)]


def _level(part: Sequence[Point]) -> bool:
    """Whether nearly all of it lies within half a BAND, over an octave or more."""
    near = [p for p in part if abs(p.rate / _middle(part) - 1) <= BAND / 2]
    return len(near) >= (1 - OUTLIERS) * len(part) and _octaves(part[0], part[-1]) >= OCTAVES


def _middle(part: Sequence[Point]) -> float:
    return median(p.rate for p in part)


def _flat(run: Sequence[Point]) -> tuple[Point, ...] | None:
    """The points of `run` that make it a plateau, or None."""
    middle = median(p.rate for p in run)
    inside = tuple(p for p in run if abs(p.rate / middle - 1) <= BAND)
    ends_inside = inside and inside[0] is run[0] and inside[-1] is run[-1]
    enough = len(inside) >= max(POINTS, (1 - OUTLIERS) * len(run))
    return inside if ends_inside and enough and abs(_slope(inside)) <= SLOPE else None


def _end(points: Sequence[Point], j: int, stop: int, plateau: Sequence[Point]) -> int:
    """Index of the last point from j on before one slower than the plateau, which ends at j."""
    slow = (1 - BAND) * median(p.rate for p in plateau)
    return next((k - 1 for k in range(j + 1, stop) if points[k].rate < slow), stop - 1)


def _falls(path: Sequence[Point]) -> bool:
    """Whether the rate changes along `path`, which leads away from the edge of a plateau.

    Less than an octave of it, up to the end of the sweep, proves nothing either way.
    """
    far = [p for p in path if _octaves(path[0], p) >= 1.0]
    away = next((p for p in far if _octaves(path[0], p) >= AWAY), far[-1] if far else None)
    return away is None or abs(_slope((path[0], away))) >= FALL


def _octaves(one: Point, other: Point) -> float:
    return abs(math.log2(other.size / one.size))


def _slope(run: Sequence[Point]) -> float:
    """Least-squares exponent e of rate ~ size**e."""
    xs = [math.log(p.size) for p in run]
    ys = [math.log(p.rate) for p in run]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - x_mean) ** 2 for x in xs)
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)) / spread


def levels(
    found: Sequence[Plateau], largest: int, advertised: Mapping[Resource, int]
) -> dict[Resource, Plateau]:
    """Name plateaus after the levels of the hierarchy.

    `largest` is the largest working set of the sweep [B].  DRAM is the outermost plateau that
    comes within an octave of it, or that begins beyond twice the largest advertised cache, or ends
    beyond four times that.  Those further in are caches, each named after the advertised size [B]
    nearest to where it ends, in order.  What is no faster in an inner level than in the next is one
    plateau and both levels.
    """
    beyond = 2 * max(advertised.values(), default=largest)
    far = [
        p
        for p in found
        if 2 * p.holds >= largest or p.points[0].size >= beyond or p.holds >= 2 * beyond
    ]
    caches = [p for p in found if p not in far]
    named: dict[Resource, Plateau] = {DRAM: far[-1]} if far else {}
    left = [level for level in HIERARCHY[:-1] if level in advertised]
    for plateau in caches:
        if left:
            level = min(left, key=lambda n: abs(math.log(plateau.holds / advertised[n])))
            named |= _levels_within(plateau, level, left, advertised)
            left = left[left.index(level) + 1 :]
    return named


def _levels_within(
    plateau: Plateau, level: Resource, left: Sequence[Resource], advertised: Mapping[Resource, int]
) -> dict[Resource, Plateau]:
    """The plateau of `level`, cut where levels further in are advertised to end inside of it."""
    parts, rest = {}, plateau.points
    for inner in left[: left.index(level)]:
        within = tuple(p for p in rest if p.size <= advertised[inner])
        beyond = rest[len(within) :]
        if all(len(p) >= POINTS and _octaves(p[0], p[-1]) >= OCTAVES for p in (within, beyond)):
            parts[inner], rest = Plateau(within, within[-1].size), beyond
    return {**parts, level: Plateau(rest, plateau.holds)}
