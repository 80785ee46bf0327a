"""The whole measurement of a GPU, part after part."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from roofline import devices
from roofline.bench.cpu import Progress, Stopped
from roofline.bench.gpu import (
    ahead,
    cuda,
    gemm,
    launch,
    link,
    memory,
    onchip,
    pace,
    peers,
    tensor,
    vector,
)
from roofline.bench.gpu.card import (
    Card,
    Driver,
    card,
    count,
    fingerprint,
    versions,
    working_on,
)
from roofline.bench.gpu.neighbours import Watch
from roofline.bench.gpu.record import Recorder, code, recorder
from roofline.bench.gpu.sustained import COPY, LIBRARY, REGISTER, sustained
from roofline.bench.gpu.timing import Effort, Load, timer
from roofline.bench.gpu.ways.own import of_triton
from roofline.bench.gpu.ways.way import Way
from roofline.bench.plateau import Point
from roofline.bench.record import Absent, Found
from roofline.device import (
    DRAM,
    TENSOR_BF16,
    TENSOR_FP8,
    TENSOR_FP16,
    VECTOR_FP32,
    Ceiling,
    Device,
    Fact,
    Mapped,
    Resource,
    Trace,
)
from roofline.devices.clock import at_clock
from roofline.errors import NotFound
from roofline.placement import ABOVE
from roofline.provenance import Basis, Provenance

_QUICK = Effort(count=20, sample_s=0.5e-3, pause_s=0.02, search_s=0.01)
FULL = Effort(count=30, sample_s=1e-3, pause_s=0.05)
QUICK_PIPES = (TENSOR_FP16, TENSOR_BF16, TENSOR_FP8)

Tick = Callable[[float], None]
One = TypeVar("One")


@dataclass(slots=True)
class Measured:
    """What there is so far."""

    card: Card
    found: list[Found] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    sweep: list[Point] = field(default_factory=list)  # L2, for those who want to look
    notes: list[str] = field(default_factory=list)
    watch: Watch = field(default_factory=Watch)  # for other processes


@dataclass(frozen=True, slots=True)
class _Part:
    what: str
    weight: float  # its share of the time, to any scale
    run: Callable[[Tick], Iterable[Found]]


def measure(index: int, quick: bool = False, progress: Progress | None = None) -> Device:
    """Measure the GPU that torch calls ``cuda:index``.

    About 80 s, 15 s when `quick`.  Ctrl-C raises `Stopped` with what there is.
    """
    return device(measured(index, quick, progress))


def measured(index: int, quick: bool = False, progress: Progress | None = None) -> Measured:
    """The same, with the sweep behind it."""
    found = Measured(card(index))
    tell = progress or (lambda _what, _share: None)
    try:
        with working_on(found.card):
            _all(found, quick, tell)
    except KeyboardInterrupt:
        found.notes.insert(0, "partial: interrupted before everything was measured")
        raise Stopped(device(found) if found.found else None) from None
    return found


def _all(found: Measured, quick: bool, tell: Progress) -> None:
    tell("compiling kernels", 0.0)
    driver = Driver(found.card)
    found.watch.begin(driver)
    made = timer(found.card, driver, _QUICK if quick else FULL)
    found.notes += ["a quick measurement"] * quick
    found.notes += filter(None, (driver.why_not, made.no_clock))
    parts = list(_parts(found, recorder(made, driver.settings()), quick))
    total, done = sum(part.weight for part in parts), 0.0
    for part in parts:
        found.watch.look(driver, f"from {part.what} on")
        try:
            for one in part.run(_ticks(tell, part, done, total)):
                found.found.append(one)
        except RuntimeError as error:  # of memory that another process took, say: the rest goes on
            found.notes.append(f"{part.what}: {str(error).splitlines()[0]}")
        done += part.weight
    found.watch.look(driver, "at the end")
    tell("done", 1.0)


def _ticks(tell: Progress, part: _Part, done: float, total: float) -> Tick:
    tell(part.what, done / total)
    return lambda share: tell(part.what, (done + share * part.weight) / total)


def _compiling(
    unit: Card, arrays: memory.Pool, pipes: Sequence[Resource], quick: bool
) -> Iterator[Callable[[], object]]:
    """What compiles kernels of memory, L2, L1, vector and matrix pipes; of rows unless quick."""
    if unit.nvidia:
        for source in (onchip.source(), *tensor.sources(unit, pipes)):
            yield partial(cuda.compiled, source, unit.target)
    for load in (*memory.loads(arrays, unit.units, quick), *vector.loads(unit.units, quick)):
        yield load.compile
    for way in () if quick else of_triton():
        if way.compile is not None:
            yield partial(_made_ready, way, way.compile)


def _made_ready(way: Way, make: Callable[..., object]) -> None:
    make(*way.operands())


def _parts(found: Measured, made: Recorder, quick: bool) -> Iterator[_Part]:
    import torch

    unit = found.card
    arrays = memory.pool(torch.cuda.mem_get_info(unit.index)[0], quick)
    dense, sparse = _apart(gemm.products(unit), lambda product: product.sparse)
    pipes, sparse_pipes = _apart(tensor.PIPES, lambda pipe: tensor.PIPES[pipe][1])
    if quick:
        dense = [p for p in dense if p.resource in QUICK_PIPES and not p.way]
        pipes, sparse, sparse_pipes = list(QUICK_PIPES), [], []
    ahead.compiled(unit, _compiling(unit, arrays, [*pipes, *sparse_pipes], quick))
    yield _Part("matrix products", 14, lambda _: gemm.gemms(made, dense, quick))
    yield _Part("matrix pipes", 3, lambda _: tensor.pipes(made, pipes))
    yield _Part("vector pipes", 4, lambda _: vector.loops(made, quick))
    yield _Part("memory", 2, lambda _: memory.dram(made, arrays, quick))
    yield _Part("L2", 2, lambda _: memory.l2(made, arrays, quick, found.sweep))
    yield _Part("L1 and shared memory", 1, lambda _: onchip.levels(made))
    yield _Part("launches", 3, lambda _: launch.launches(made, quick))
    yield _Part("kernels of PyTorch", 4, lambda _: pace.paces(made, arrays, quick))
    yield _Part("links", 3, lambda _: link.host(made, quick))
    if (others := count()) > 1:
        yield _Part("links between GPUs", 2, lambda _: peers.peers(made, others, quick))
    if quick:
        return
    for what, load in _sustained(found, arrays):
        yield _Part(f"{what}, sustained", 11, _long(found, made, what, load))
    # Last: after work on sparse operands an H200 was seen to run the other products 4 % slower,
    # those of other processes too, until some seconds after the process had ended.
    yield _Part("sparse matrix products", 5, lambda _: gemm.gemms(made, sparse, quick))
    yield _Part("sparse matrix pipes", 2, lambda _: tensor.pipes(made, sparse_pipes))


def _apart(
    all_of_them: Iterable[One], chosen: Callable[[One], bool]
) -> tuple[list[One], list[One]]:
    """Those that are not, and those that are."""
    kept: tuple[list[One], list[One]] = [], []
    for one in all_of_them:
        kept[chosen(one)].append(one)
    return kept


def _sustained(found: Measured, arrays: memory.Pool) -> Iterator[tuple[str, Callable[[], Load]]]:
    """Loads for the long runs: memory, a matrix product, vector arithmetic."""
    units = found.card.units
    yield "copy", lambda: memory.once(arrays, "copy", *memory.QUICK_WAYS[0])
    shape = gemm.shapes(units)[0]
    yield "matrix product", lambda: gemm.load(gemm.products(found.card)[0], shape, "nt")
    yield "FMA", lambda: vector.load(vector.LOOPS[0], units, *vector.WAYS[0])


_LONG = {
    "copy": (DRAM, COPY, "Triton copy", "fp32 arrays in turns, 8 B an element"),
    "matrix product": (TENSOR_BF16, LIBRARY, "torch.mm, bfloat16, ",
                       f"fp32 accumulate, {gemm.NORMAL}"),
    "FMA": (VECTOR_FP32, REGISTER, "Triton loop of x = x*a + a in registers", "float32"),
}  # fmt: skip


def _long(
    found: Measured, made: Recorder, what: str, load: Callable[[], Load]
) -> Callable[[Tick], Iterable[Found]]:
    def run(tick: Tick) -> Iterator[Found]:
        resource, variant, method, about = _LONG[what]
        if what == "matrix product":
            method += gemm.named(gemm.shapes(found.card.units)[0], "nt")
        one, trace = sustained(made, resource, variant, load(), method, (about,), tick)
        found.traces.append(trace)
        yield one

    return run


def device(found: Measured) -> Device:
    """Everything that was measured as one device, named after its datasheet where there is one."""
    card = found.card
    device_id, name, facts, mapped = _printed(card)
    told = _facts(card)
    names = {fact.name for fact in told}
    absent = [str(one) for one in found.found if isinstance(one, Absent)]
    return Device(
        id=device_id,
        name=name,
        kind="gpu",
        ceilings=tuple(one for one in found.found if isinstance(one, Ceiling)),
        facts=(*(f for f in facts if f.name not in names), *told),
        mapped=mapped,
        note=". ".join(
            filter(
                None, (*found.notes, found.watch.note(), *absent, *_impossible(found, device_id))
            )
        ),
        traces=tuple(found.traces),
    )


def _impossible(found: Measured, device_id: str) -> Iterator[str]:
    """A sentence for every pipe that did more than its maker's peak at its clock.

    A compiler that drops work shows so: no program beats the pipe it runs on.
    """
    if device_id not in devices.known():
        return
    sheet = devices.find(device_id)
    for one in found.found:
        if isinstance(one, Ceiling) and one.clock_hz is not None:
            most = at_clock(sheet, one.resource, one.clock_hz)
            if most is not None and one.rate > ABOVE * most:
                yield (
                    f"{one.resource.name} {one.variant}: {one.rate / most:.2f} times the printed "
                    f"peak at {one.clock_hz / 1e6:.0f} MHz, so this measurement is broken"
                )


def _printed(card: Card) -> tuple[str, str, tuple[Fact, ...], tuple[Mapped, ...]]:
    try:
        sheet = devices.find(card.name)
    except NotFound:
        slug = "-".join(re.findall(r"[a-z0-9.]+", card.name.lower()))
        return f"gpu-{slug}", card.name, (), ()
    return sheet.id, sheet.name, sheet.facts, sheet.mapped


def _facts(card: Card) -> tuple[Fact, ...]:
    """What the card and its driver say of themselves, and what code asked."""
    where = Provenance(
        basis=Basis.MEASURED, source="asked of the card through torch and NVML",
        as_of=datetime.now(UTC).date(),
    )  # fmt: skip
    rows: list[tuple[str, float | str, str]] = [("sm_count", card.units, "")]
    if card.l2:
        rows.append(("l2_capacity", float(card.l2), "B"))
    rows.append(("memory", float(card.memory), "B"))
    settings = Driver(card).settings() | versions()
    rows += [(name.lower().replace(" ", "_"), value, "") for name, value in settings.items()]
    if mark := fingerprint(card):
        rows.append(("gpu", mark, ""))
    rows.append(("code", code(), ""))
    return tuple(Fact(name=n, value=v, unit=u, provenance=where) for n, v, u in rows)
