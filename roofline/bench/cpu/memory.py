"""Bandwidth ceilings of every level, from sweeps."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from roofline.bench.cpu.crew import Crew
from roofline.bench.cpu.kernels import PAST, Kernels
from roofline.bench.cpu.sweep import Plan, Swept, points, sweep, within
from roofline.bench.plateau import levels, plateaus
from roofline.bench.record import Absent, Found, ceiling
from roofline.device import DRAM, HIERARCHY, L1, L2, L3, Resource, Variant
from roofline.units import show_binary

KIB = 1024
COUNTED = {
    "read": "4 B an element counted",
    "copy": "8 B an element counted",
    "triad": "12 B an element counted",
    "update": "8 B an element counted, read and written in place: the hardware moves no more",
    "write": "4 B an element counted",
}
# B an element that cross the boundary when a store first reads the line that it overwrites.
ALLOCATING = {"copy": 12, "triad": 16, "write": 8}
_FAR = 2  # sizes of the outermost caches: a sweep that ends before cannot have left them


def bandwidths(
    crew: Crew,
    kernels: Kernels,
    plan: Plan,
    advertised: Mapping[Resource, int],
    conditions: Sequence[str],
    tick: Callable[[float], None],
    node: int | None = None,
) -> Iterator[Found]:
    """Ceilings of every access mix at each level, of all threads of `crew` together.

    `advertised` are the sizes of all caches these threads use [B].  They only help with names;
    where the system tells none, usual sizes do that.  Of a NUMA `node` alone DRAM is looked for.
    """
    for access, swept in sweep(crew, kernels, plan, tick).items():
        smallest = kernels.smallest * len(crew)
        span = f"{show_binary(smallest)} to {show_binary(plan.largest)}"
        variant = Variant(access=access, threads=len(crew), node=node)
        yield from _levels(variant, swept, kernels, span, advertised, conditions)


def _levels(
    variant: Variant,
    swept: Sequence[Swept],
    kernels: Kernels,
    span: str,
    advertised: Mapping[Resource, int],
    conditions: Sequence[str],
) -> Iterator[Found]:
    access, threads = variant.access or "", variant.threads or 1
    sizes = advertised or {L1: 48 * KIB * threads, L2: 1024 * KIB * threads, L3: 32 * 1024 * KIB}
    named = levels(plateaus(points(swept)), swept[-1].size, sizes)
    outermost = max(sizes.values())
    for level in HIERARCHY if variant.node is None else (DRAM,):
        if level == DRAM and swept[-1].size < _FAR * outermost:
            why = (
                f"working sets end at {show_binary(swept[-1].size)} for want of free memory, "
                f"within {_FAR} times the caches' {show_binary(outermost)}"
            )
            yield Absent(level, variant, why)
            continue
        if level not in named:
            if level in sizes or level == DRAM:
                yield Absent(level, variant, f"no plateau in working sets of {span}")
            continue
        on = [p.size for p in named[level].points]
        samples, ways = within(swept, on)
        by = " or ".join(ways)
        yield ceiling(
            level,
            variant,
            samples,
            method=f"plateau of a working-set sweep, {access} by {by}, kernels {kernels.code}",
            conditions=(
                f"instructions {kernels.instructions}" + f", {by}" * (access != "read"),
                f"{show_binary(on[0])} to {show_binary(on[-1])} of a sweep over {span}",
                _counted(access, level, ways),
                *conditions,
            ),
            capacity=None if level == DRAM else named[level].holds,
        )


def _counted(access: str, level: Resource, ways: Sequence[str]) -> str:
    """The bytes that were counted, and those that cross the boundary as well.

    A store to a line that L1 holds moves nothing else; one that misses it has the line read from
    the level behind, unless it goes past the caches.
    """
    moved = ALLOCATING.get(access)
    if moved is None or level == L1 or all(way == PAST for way in ways):
        return COUNTED[access]
    return f"{COUNTED[access]}; cached stores make the hardware move {moved}"
