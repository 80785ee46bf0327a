"""The whole measurement of a CPU, part after part."""

import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec

from roofline.bench.cpu import host, kernels, lacking
from roofline.bench.cpu.crew import TIMER, Crew
from roofline.bench.cpu.dispatch import dispatch
from roofline.bench.cpu.matrix import Effort, products
from roofline.bench.cpu.memory import bandwidths
from roofline.bench.cpu.sweep import Plan
from roofline.bench.cpu.vector import chains
from roofline.bench.record import Absent, Found
from roofline.device import DISPATCH, Ceiling, Device, Variant

# (what is being measured, share of the whole that is done)
Progress = Callable[[str, float], None]

_MIB = 1 << 20


class Stopped(KeyboardInterrupt):
    """Ctrl-C came in between; `device` holds what was measured until then (None is nothing)."""

    def __init__(self, device: Device | None) -> None:
        super().__init__("interrupted")
        self.device = device


@dataclass(frozen=True, slots=True)
class _Depth:
    """How thorough a measurement is.  Seconds of a sweep are for one number of threads."""

    sweep_s: float
    per_octave: int
    rounds: int
    past_caches: int  # largest working set, in sizes of the outermost cache
    most: int  # B, the largest working set ever
    sample_s: float
    count: int  # samples of everything that is not a sweep
    matrix: Effort


_QUICK = _Depth(
    sweep_s=2.2, per_octave=2, rounds=12, past_caches=8, most=512 * _MIB, sample_s=1e-3, count=12,
    matrix=Effort(largest=512, count=8, sample_s=2e-3, slowest_s=0.02),
)  # fmt: skip
_FULL = _Depth(
    sweep_s=14.0, per_octave=4, rounds=30, past_caches=16, most=4096 * _MIB, sample_s=2e-3,
    count=40, matrix=Effort(largest=1536, count=25, sample_s=8e-3, slowest_s=0.15),
)  # fmt: skip


def measure(quick: bool = False, progress: Progress | None = None) -> Device:
    """Measure this CPU with one thread and with one on every core.

    About a minute, ten seconds when `quick`.  Ctrl-C raises `Stopped` with what there is.
    """
    depth = _QUICK if quick else _FULL
    found: list[Found] = []
    try:
        for part in _parts(depth, progress or (lambda _what, _share: None)):
            found += part
    except KeyboardInterrupt:
        raise Stopped(_device(found, "interrupted, partial") if found else None) from None
    return _device(found, "quick" if quick else "")


def _parts(depth: _Depth, progress: Progress) -> Iterator[Iterable[Found]]:
    """Every part of the measurement, made when it is asked for; `progress` hears the start."""
    progress("making kernels", 0.0)
    made = kernels.make()
    cores = host.cores()
    for threads in dict.fromkeys((1, len(cores))):
        used = cores[:threads]
        told = _conditions(used)
        start, width = (0.0, 0.5) if threads == 1 else (0.5, 0.5)
        if len(cores) == 1:
            width = 1.0
        what = f"{threads} thread{'s' if threads > 1 else ''}"

        def tick(
            share: float, what: str = what, start: float = start, width: float = width
        ) -> None:
            progress(f"memory, {what}", start + width * 0.75 * share)

        with Crew([{c} for c in used]) as crew:
            native = (*told, made.made_by)
            yield list(chains(crew, made, depth.count, depth.sample_s, native))
            plan = _plan(depth, used)
            yield list(bandwidths(crew, made, plan, host.caches(used), native, tick))
        progress(f"matrix products, {what}", start + width * 0.75)
        with Crew([used]) as leader:
            yield from _with_torch(leader, used, depth, told)


def _with_torch(
    leader: Crew, used: tuple[int, ...], depth: _Depth, told: tuple[str, ...]
) -> Iterator[Iterable[Found]]:
    if find_spec("torch") is None:
        yield [Absent(DISPATCH, Variant(threads=1), "torch is not installed")]
        return
    if len(used) == 1:
        yield [dispatch(leader, depth.count, depth.sample_s, told)]
    yield list(products(leader, len(used), depth.matrix, told))


def _plan(depth: _Depth, used: tuple[int, ...]) -> Plan:
    outermost = max(host.caches(used).values(), default=32 * _MIB)
    largest = min(max(256 * _MIB, depth.past_caches * outermost), depth.most)
    if (free := host.free_memory()) is not None:
        largest = min(largest, free // 4)
    return Plan(
        per_octave=depth.per_octave,
        largest=largest,
        sample_s=depth.sample_s,
        rounds=depth.rounds,
        least_rounds=3,
        budget_s=depth.sweep_s,
    )


def _conditions(used: tuple[int, ...]) -> tuple[str, ...]:
    cpus = ", ".join(map(str, used)) if len(used) <= 8 else f"{used[0]} to {used[-1]}"
    return (
        f"{host.cpu().model}",
        f"threads pinned to CPU{'s' if len(used) > 1 else ''} {cpus}",
        TIMER,
        f"{platform.system()} {platform.release()}",
    )


def _device(found: list[Found], note: str) -> Device:
    ceilings = tuple(f for f in found if isinstance(f, Ceiling))
    present = {c.resource for c in ceilings}
    absent = [str(f) for f in found if isinstance(f, Absent)]
    return Device(
        id=host.device_id(),
        name=host.cpu().model,
        kind="cpu",
        ceilings=ceilings,
        mapped=tuple(lacking.mapped(present)),
        note=". ".join(filter(None, [note, *absent])),
    )
