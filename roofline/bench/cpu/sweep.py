"""Bandwidth over working sets of every size, from a few kilobytes to far beyond the caches."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from roofline.bench.cpu.buffer import Buffer, room
from roofline.bench.cpu.crew import Crew, Load
from roofline.bench.cpu.kernels import ARRAYS, ELEMENT, MOVED, Kernels, Stream
from roofline.bench.plateau import Point
from roofline.bench.sample import Sample, Samples
from roofline.provenance import spread

_EVERY_WAY = 1 << 20  # B a thread: over smaller sets only the first way of an access is tried
_SLICE = 8 << 20  # B of one array


@dataclass(frozen=True, slots=True)
class Plan:
    """How finely and how long to sweep."""

    per_octave: int  # working-set sizes in every doubling
    largest: int  # B, all threads together
    caches: int  # B, an estimate of the outermost caches of all threads together
    sample_s: float
    rounds: int
    least_rounds: int  # done even when the time is over
    budget_s: float


@dataclass(slots=True)
class _Cell:
    """One access at one size."""

    access: str
    way: str
    size: int  # B, all arrays of all threads
    load: Load
    warm: int  # passes before each sample, so that it finds the caches as it leaves them
    samples: list[Sample] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Swept:
    """The best way of one access at one size."""

    size: int  # B, all arrays of all threads
    way: str
    samples: Samples


def sweep(
    crew: Crew, kernels: Kernels, plan: Plan, tick: Callable[[float], None] = lambda _: None
) -> Mapping[str, Sequence[Swept]]:
    """Time every access at every size; access -> sizes in order, each by its best way.

    Rounds go over all sizes in turn, so that a disturbance of a second touches every size once
    instead of spoiling one.  `tick` hears the share done.
    """
    buffers = [Buffer(room(plan.largest // len(crew))) for _ in crew.cpus]
    fill = next(iter(kernels.streams["copy"].values()))
    crew.each(lambda index: buffers[index].fill(fill))
    cells = _cells(kernels, plan, buffers)
    started = time.perf_counter()
    for done in range(plan.rounds):
        spent = time.perf_counter() - started
        if done >= plan.least_rounds and spent * (done + 1) / done > plan.budget_s:
            break
        for index, cell in enumerate(cells):
            crew.each(partial(_warm, cell))
            cell.samples.append(crew.sample(cell.load))
            share = (done + index / len(cells)) / plan.rounds
            tick(max(share, min(1.0, (time.perf_counter() - started) / plan.budget_s)))
    return {access: _best(c for c in cells if c.access == access) for access in ARRAYS}


def points(swept: Sequence[Swept]) -> list[Point]:
    """The sizes that have a clean sample."""
    return [Point(s.size, s.samples.level) for s in swept if s.samples.level is not None]


def within(swept: Sequence[Swept], sizes: Sequence[int]) -> tuple[Samples, tuple[str, ...]]:
    """The samples at `sizes` in the order they were taken, and the ways they were obtained by."""
    inside = [s for s in swept if s.size in sizes]
    rounds = zip(*(s.samples.all for s in inside), strict=True)
    taken = Samples(tuple(sample for one_round in rounds for sample in one_round))
    return taken, tuple(dict.fromkeys(s.way for s in inside))


def _cells(kernels: Kernels, plan: Plan, buffers: Sequence[Buffer]) -> list[_Cell]:
    cells: dict[tuple[str, str, int], _Cell] = {}
    for size in _sizes(kernels.smallest, plan.largest // len(buffers), plan.per_octave):
        for access, arrays in ARRAYS.items():
            elements = size // (arrays * ELEMENT * kernels.grain) * kernels.grain
            total = elements * ELEMENT * arrays * len(buffers)
            ways = list(kernels.streams[access].items())
            for way, stream in ways if size >= _EVERY_WAY else ways[:1]:
                if elements and (access, way, total) not in cells:
                    where = [b.arrays(access, elements) for b in buffers]
                    load, warm = _load(stream, where, elements, total, plan, MOVED[access])
                    load.keeps = buffers
                    cells[access, way, total] = _Cell(access, way, total, load, warm)
    return list(cells.values())


def _sizes(smallest: int, largest: int, per_octave: int) -> list[int]:
    steps = math.floor(per_octave * math.log2(largest / smallest)) + 1
    return [round(smallest * 2 ** (step / per_octave)) for step in range(steps)]


def _load(
    stream: Stream,
    where: list[tuple[int, int, int]],
    elements: int,
    total: int,
    plan: Plan,
    moved: int = 1,
) -> tuple[Load, int]:
    """What to time at one size, and how many passes warm it up.

    `total` bytes hold the arrays, and each of them is `moved` once, or twice: read and written.

    A set far larger than the caches is walked in slices, each pass going on where the last one
    stopped: a pass over the whole would take too long to be undisturbed.
    """
    count = elements * ELEMENT // _SLICE
    if total < 4 * plan.caches or count < 2:
        return Load(_whole(stream, where, elements), total * moved, plan.sample_s), 1
    walked = total / elements * (_SLICE // ELEMENT)
    load = Load(_sliced(stream, where, count), walked * moved, plan.sample_s)
    # Else the caches would take in what is written and never be seen writing it back.
    return load, math.ceil(plan.caches / walked)


def _whole(
    stream: Stream, where: list[tuple[int, int, int]], elements: int
) -> Callable[[int, int], object]:
    return lambda index, passes: stream(*where[index], elements, passes)


def _sliced(
    stream: Stream, where: list[tuple[int, int, int]], count: int
) -> Callable[[int, int], object]:
    position = [0] * len(where)

    def run(index: int, passes: int) -> None:
        a, b, c = where[index]
        for _ in range(passes):
            at = position[index] * _SLICE
            stream(a + at, b + at, c + at, _SLICE // ELEMENT, 1)
            position[index] = (position[index] + 1) % count

    return run


def _warm(cell: _Cell, index: int) -> None:
    cell.load.run(index, cell.warm)


def _best(cells: Iterable[_Cell]) -> list[Swept]:
    by_size: dict[int, list[Swept]] = {}
    for cell in cells:
        swept = Swept(cell.size, cell.way, Samples(tuple(cell.samples)))
        by_size.setdefault(cell.size, []).append(swept)
    return [max(by_size[size], key=_reached) for size in sorted(by_size)]


def _reached(swept: Swept) -> float:
    # Over all samples: a way whose samples were all disturbed may still be the faster one, and
    # then the size is unknown.
    return spread([s.rate for s in swept.samples.all]).q3
