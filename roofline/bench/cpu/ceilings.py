"""The whole measurement of a CPU, part after part."""

import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec

from roofline.bench.cpu import host, lacking, making
from roofline.bench.cpu.chosen import Chosen, sampled
from roofline.bench.cpu.crew import TIMER, Crew
from roofline.bench.cpu.dispatch import dispatch
from roofline.bench.cpu.faults import page_fault
from roofline.bench.cpu.kernels import Kernels
from roofline.bench.cpu.matrix import Effort, products, without_fallbacks
from roofline.bench.cpu.memory import bandwidths
from roofline.bench.cpu.special import functions
from roofline.bench.cpu.sweep import Plan
from roofline.bench.cpu.vector import chains
from roofline.bench.record import Absent, Found, absences
from roofline.device import DRAM, L3, Ceiling, Device, Fact, Resource, Variant
from roofline.units import number_of, show

# (what is being measured, share of the whole that is done)
Progress = Callable[[str, float], None]

_MIB = 1 << 20
_NODE_SHARE = 0.25  # of the time that the whole machine gets
_BEYOND = 4  # sizes of the outermost caches, from which on a node's memory is looked for
AT_LEAST = 0.9  # of one thread's rate, that several must reach to be believed
_SHARED = (L3, DRAM)  # by cores


class Stopped(KeyboardInterrupt):
    """Ctrl-C came in between; `device` holds what was measured until then (None is nothing)."""

    def __init__(self, device: Device | None) -> None:
        super().__init__("interrupted")
        self.device = device


@dataclass(frozen=True, slots=True)
class _Depth:
    """How thorough a measurement is."""

    sweep_s: float  # for each number of threads, with making the arrays
    per_octave: int
    visit: int
    rounds: int
    past_caches: int  # largest working set, in sizes of the outermost caches
    enough: int  # the same, where that would be more than `most`
    most: int  # B
    sample_s: float
    count: int  # samples of everything that is not a sweep
    matrix: Effort


_QUICK = _Depth(
    sweep_s=4.0, per_octave=2, visit=2, rounds=8, past_caches=16, enough=4, most=1024 * _MIB,
    sample_s=1e-3, count=12, matrix=Effort(
        largest=512, count=12, sample_s=2e-3, slowest_s=0.02, search_s=0.15, least_s=1.0,
    ),
)  # fmt: skip
_FULL = _Depth(
    sweep_s=16.0, per_octave=4, visit=2, rounds=15, past_caches=32, enough=8, most=2048 * _MIB,
    sample_s=1e-3, count=40, matrix=Effort(
        largest=1536, count=25, sample_s=2e-3, slowest_s=0.04, search_s=1.0, least_s=5.0,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Part:
    """One stretch of the measurement."""

    what: str
    weight: float  # its share of the time, to any scale
    run: Callable[[Callable[[float], None]], Iterable[Found]]  # hears its own share done


def measure(quick: bool = False, progress: Progress | None = None) -> Device:
    """Measure this CPU with one thread and with one on every core.

    About a minute, 10 to 15 seconds when `quick`; longer while other programs use the cores.
    Ctrl-C raises `Stopped` with what there is.
    """
    tell = progress or (lambda _what, _share: None)
    tell("making kernels", 0.0)
    made = making.make()
    found: list[Found] = []
    notes = ["a quick measurement"] * quick + list(made.passed_over)
    try:
        with _torch_threads_kept():
            depth = _QUICK if quick else _FULL
            parts = list(_parts(depth, made, host.cores(), found))
            total, done = sum(p.weight for p in parts), 0.0
            for part in parts:
                found += part.run(_ticks(tell, part, done, total))
                done += part.weight
            cost = page_fault(depth.count, _conditions(host.cores()))
            if isinstance(cost, str):
                notes.append(cost)
            tell("done", 1.0)
    except KeyboardInterrupt:
        notes.insert(0, "partial: interrupted before everything was measured")
        raise Stopped(_device(found, notes) if found else None) from None
    return _device(found, notes, facts=() if isinstance(cost, str) else (cost,))


def _ticks(tell: Progress, part: _Part, done: float, total: float) -> Callable[[float], None]:
    tell(part.what, done / total)
    return lambda share: tell(part.what, (done + share * part.weight) / total)


def _parts(
    depth: _Depth, made: Kernels, cores: tuple[int, ...], found: Sequence[Found]
) -> Iterator[_Part]:
    for threads in dict.fromkeys((1, len(cores))):
        yield from _parts_of(depth, made, cores[:threads], found)
    nodes = host.nodes(cores)
    for node, used in nodes.items() if len(nodes) > 1 else ():
        what, run = f"memory, NUMA node {node}", partial(_node, depth, made, node, used)
        yield _Part(what, _NODE_SHARE, run)


def _node(
    depth: _Depth, made: Kernels, node: int, used: tuple[int, ...], tick: Callable[[float], None]
) -> Iterator[Found]:
    """DRAM alone, with one thread on every core of one node."""
    plan = _plan(depth, used)
    plan = replace(plan, budget_s=plan.budget_s * _NODE_SHARE)
    beyond = max(made.smallest, _BEYOND * plan.caches // len(used))
    told = (*_conditions(used), made.made_by)
    with Crew([{c} for c in used]) as crew:
        far = replace(made, smallest=beyond)
        yield from bandwidths(crew, far, plan, host.caches(used), told, tick, node)


def _parts_of(
    depth: _Depth, made: Kernels, used: tuple[int, ...], found: Sequence[Found]
) -> Iterator[_Part]:
    """The parts with one thread on each CPU of `used`; `found` is what those before found."""
    told, threads = _conditions(used), len(used)
    native = (*told, made.made_by)

    def registers(_: object) -> Iterable[Found]:
        with Crew([{c} for c in used]) as crew:
            return chains(crew, made, depth.count, depth.sample_s, native)

    def memory(tick: Callable[[float], None]) -> Iterator[Found]:
        with Crew([{c} for c in used]) as crew:
            plan = _plan(depth, used)
            yield from bandwidths(crew, made, plan, host.caches(used), native, tick)

    def torch(_: object) -> Iterable[Found]:
        effort = depth.matrix
        with Crew([used]) as leader:
            chosen: list[Chosen | Absent] = []
            if threads == 1:
                chosen.append(dispatch(depth.sample_s, told))
            chosen += functions(leader, threads, depth.sample_s, told)
            chosen += products(leader, threads, effort, told, _lacking(found))
            taken = sampled(leader, chosen, effort.count, effort.least_s)
        return without_fallbacks(taken) if threads == 1 else taken

    name = number_of(threads, "thread")
    if made.chains:
        yield _Part(f"registers, {name}", 0.05, registers)
    if find_spec("torch") is not None:
        yield _Part(f"matrix products, {name}", 0.35, torch)
    yield _Part(f"memory, {name}", 1.0, memory)


@contextmanager
def _torch_threads_kept() -> Iterator[None]:
    """Leave torch's number of threads as it was."""
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _plan(depth: _Depth, used: tuple[int, ...]) -> Plan:
    outermost = max(host.caches(used).values(), default=32 * _MIB)
    most = max(depth.most, depth.enough * outermost)
    largest = min(max(256 * _MIB, depth.past_caches * outermost), most)
    if (free := host.free_memory()) is not None:
        largest = min(largest, free // 4)
    return Plan(
        per_octave=depth.per_octave,
        largest=largest,
        caches=outermost,
        # Threads start together to within some 50 us; that must be little beside a sample.
        sample_s=depth.sample_s * (1 if len(used) == 1 else 3),
        visit=depth.visit,
        rounds=depth.rounds,
        least_rounds=2,
        budget_s=depth.sweep_s,
    )


def _conditions(used: tuple[int, ...]) -> tuple[str, ...]:
    cpus = ", ".join(map(str, used)) if len(used) <= 8 else f"{used[0]} to {used[-1]}"
    nodes = host.nodes(used)
    there = ", ".join(f"{len(of)} on {node}" for node, of in nodes.items())
    return (
        f"{host.cpu().model}",
        f"threads pinned to CPU{'s' if len(used) > 1 else ''} {cpus}",
        # Memory lies where it is first touched, which is done by the thread that will use it.
        "one NUMA node" if len(nodes) == 1 else f"{len(nodes)} NUMA nodes ({there}), memory local",
        TIMER,
        f"{platform.system()} {platform.release()}",
    )


def _lacking(found: Iterable[Found]) -> dict[Resource, str]:
    """What this CPU does not have, and why."""
    return {f.resource: f.why for f in found if isinstance(f, Absent) and f.lasting}


def _plausible(found: Sequence[Found]) -> list[Found]:
    """What was found, without rates of several threads that one thread alone exceeds.

    More cores cannot do less: what says so was measured while other programs held the machine,
    however undisturbed its few samples look.  Of what cores have each for themselves a little less
    is in doubt too, and said to be; of what they share several may get what one gets.
    """
    alone: dict[tuple[Resource, Variant], float] = {
        (f.resource, f.variant): f.rate
        for f in found
        if isinstance(f, Ceiling) and f.variant.threads == 1
    }

    def checked(each: Found) -> Found:
        if isinstance(each, Absent):
            return each
        one = alone.get((each.resource, replace(each.variant, threads=1)))
        if one is None or each.rate >= one:
            return each
        if each.rate >= one * AT_LEAST:
            return each if each.resource in _SHARED else _doubted(each, one)
        return Absent(each.resource, each.variant, "slower than one thread alone: disturbed")

    return [checked(each) for each in found]


def _doubted(each: Ceiling, one: float) -> Ceiling:
    """The same, marked: it says that further threads add nothing to the rate of `one`."""
    spread = each.provenance.spread
    if spread is None:
        return each
    alone = f"not above one thread alone, {show(one, f'{each.resource.unit}/s')}: disturbed"
    why = "; ".join(filter(None, (spread.unstable, alone)))
    return replace(each, provenance=replace(each.provenance, spread=replace(spread, unstable=why)))


def _device(found: list[Found], notes: list[str], facts: tuple[Fact, ...] = ()) -> Device:
    found = _plausible(found)
    ceilings = tuple(f for f in found if isinstance(f, Ceiling))
    return Device(
        id=host.device_id(),
        name=host.cpu().model,
        kind="cpu",
        ceilings=ceilings,
        facts=facts,
        mapped=tuple(lacking.mapped({c.resource for c in ceilings}, _lacking(found))),
        note="\n".join([*notes, *absences(found)]),
    )
