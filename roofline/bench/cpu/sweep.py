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
_SLICES = 4  # that an array must have to be walked in slices
_BEHIND = 0.7  # of the best way's best sample; one that stays under it is tried once only


@dataclass(frozen=True, slots=True)
class Plan:
    """How finely and how long to sweep."""

    per_octave: int  # working-set sizes in every doubling
    largest: int  # B, all threads together
    caches: int  # B, an estimate of the outermost caches of all threads together
    sample_s: float
    visit: int  # samples of each size in one round, after one warming up
    rounds: int
    least_rounds: int  # done even when the time is over
    budget_s: float  # with making the arrays


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
    started = time.perf_counter()
    buffers = [Buffer(room(plan.largest // len(crew))) for _ in crew.cpus]
    fill = next(iter(kernels.streams["copy"].values()))
    crew.each(lambda index: buffers[index].fill(fill))
    cells = _cells(kernels, plan, buffers)
    round_s = 0.0
    for done in range(plan.rounds):
        begun = time.perf_counter()
        if done >= plan.least_rounds and begun + round_s > started + plan.budget_s:
            break
        for index, cell in enumerate(cells):
            crew.each(partial(_warm, cell))
            cell.samples += [crew.sample(cell.load) for _ in range(plan.visit)]
            share = (done + index / len(cells)) / plan.rounds
            tick(max(share, min(1.0, (time.perf_counter() - started) / plan.budget_s)))
        cells = _kept(cells)
        round_s = time.perf_counter() - begun
    return {access: _best(c for c in cells if c.access == access) for access in ARRAYS}


def points(swept: Sequence[Swept]) -> list[Point]:
    """The sizes that have a clean sample."""
    return [Point(s.size, s.samples.level) for s in swept if s.samples.level is not None]


def within(swept: Sequence[Swept], sizes: Sequence[int]) -> tuple[Samples, tuple[str, ...]]:
    """The samples at `sizes` round by round, and the ways they were obtained by."""
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
                    load, warm = _load(
                        stream, where, elements, total, plan, MOVED[access], kernels.grain
                    )
                    load.keeps = buffers
                    cells[access, way, total] = _Cell(access, way, total, load, warm)
    return list(cells.values())


def _sizes(smallest: int, largest: int, per_octave: int) -> list[int]:
    """From the largest downwards: it lies as far beyond the caches as the plan wants it."""
    steps = math.floor(per_octave * math.log2(largest / smallest)) + 1
    return [round(largest / 2 ** (step / per_octave)) for step in reversed(range(steps))]


def _load(
    stream: Stream,
    where: list[tuple[int, int, int]],
    elements: int,
    total: int,
    plan: Plan,
    moved: int = 1,
    grain: int = 1,
) -> tuple[Load, int]:
    """What to time at one size, and how many passes warm it up.

    `total` bytes hold the arrays, and each of them is `moved` once, or twice: read and written.

    A large set is walked in slices, each pass going on where the last one stopped: a pass over the
    whole would take too long to be undisturbed, and on large caches the measurement with it.
    """
    count = elements * ELEMENT // _SLICE
    if count < _SLICES:
        return Load(_whole(stream, where, elements), total * moved, plan.sample_s), 1
    each = elements // count // grain * grain
    walked = total / elements * each
    load = Load(_sliced(stream, where, each, count), walked * moved, plan.sample_s)
    # Once around, so that what fits is there.  Far beyond the caches they need only be full: else
    # they would take in what is written and never be seen writing it back.
    warm = total if total < 2 * plan.caches else plan.caches
    return load, math.ceil(warm / walked)


def _whole(
    stream: Stream, where: list[tuple[int, int, int]], elements: int
) -> Callable[[int, int], object]:
    return lambda index, passes: stream(*where[index], elements, passes)


def _sliced(
    stream: Stream, where: list[tuple[int, int, int]], each: int, count: int
) -> Callable[[int, int], object]:
    position = [0] * len(where)

    def run(index: int, passes: int) -> None:
        a, b, c = where[index]
        for _ in range(passes):
            at = position[index] * each * ELEMENT
            stream(a + at, b + at, c + at, each, 1)
            position[index] = (position[index] + 1) % count

    return run


def _warm(cell: _Cell, index: int) -> None:
    cell.load.run(index, cell.warm)


def _kept(cells: Sequence[_Cell]) -> list[_Cell]:
    """Without the ways that are far behind another of the same access and size."""
    best: dict[tuple[str, int], float] = {}
    for cell in cells:
        at = cell.access, cell.size
        best[at] = max(best.get(at, 0.0), _fastest(cell))
    return [c for c in cells if _fastest(c) >= _BEHIND * best[c.access, c.size]]


def _fastest(cell: _Cell) -> float:
    return max(sample.rate for sample in cell.samples)


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
