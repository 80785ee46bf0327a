"""The intensity dial on one core, in C."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from statistics import median

from roofline.bench.cpu import host, making, native
from roofline.bench.cpu.buffer import Buffer
from roofline.bench.cpu.crew import Crew, Load
from roofline.bench.lab import dial
from roofline.bench.lab.dial import CHAINS, FS, Step
from roofline.bench.lab.outcome import Outcome
from roofline.bench.sample import Samples
from roofline.errors import BadInput

SIZE = 1 << 28  # B, both arrays together: past every cache
SMALLER = 1 << 22  # B, for long dials, whose speed memory does not touch
LONG_F = 256  # from where on
SAMPLES, SAMPLE_S = 7, 10e-3


@dataclass(frozen=True, slots=True)
class Loops:
    """The functions of dial.c."""

    many: Callable[[int, int, int, int, int], None]  # x, z, elements, F, passes
    one: Callable[[int, int, int, int, int], None]
    ticks: Callable[[int], int]
    lanes: int
    chains: int
    made_by: str


def loops() -> Loops:
    """Compiled for this CPU; Missing without a compiler."""
    source = files("roofline.bench.lab").joinpath("dial.c").read_bytes()
    return native.build(source, _loops)


def _loops(library: ctypes.CDLL, made_by: str) -> Loops:
    i64, pointer = ctypes.c_int64, ctypes.c_void_p
    turn = ctypes.CFUNCTYPE(None, pointer, pointer, i64, i64, i64)
    count = ctypes.CFUNCTYPE(i64, i64)

    def address(name: str) -> int:
        value = ctypes.cast(getattr(library, name), pointer).value
        assert value is not None
        return value

    return Loops(
        many=turn(address("dial")),
        one=turn(address("dial_one")),
        ticks=count(address("ticks")),
        lanes=i64.in_dll(library, "lanes").value,
        chains=i64.in_dll(library, "chains").value,
        made_by=made_by,
    )


def measure(chains: int, tick: Callable[[str, float], None]) -> Outcome:
    """Turn the dial on one core, with one chain of vectors or with as many as the core likes."""
    made = loops()
    if chains not in (1, CHAINS, made.chains):
        raise BadInput(f"on this CPU the dial has 1 chain or {made.chains}; got {chains}")
    run = made.one if chains == 1 else made.many
    used = 1 if chains == 1 else made.chains
    step_of = made.chains * made.lanes
    copy = making.make().streams["copy"]
    core = host.cores()[0]
    with Crew([{core}]) as crew:
        [buffer] = crew.each(lambda _: Buffer(SIZE + (1 << 20)))
        crew.each(lambda _: buffer.fill(next(iter(copy.values()))))
        steps = []
        for i, f in enumerate(FS):
            tick(f"F = {f}", i / len(FS))
            size = SIZE if f < LONG_F else SMALLER
            elements = size // dial.BYTES // step_of * step_of
            x, z, _ = buffer.arrays("copy", elements)
            load = Load(_work(run, x, z, elements, f), elements, SAMPLE_S)
            steps.append(Step(f, rate(crew.samples(load, SAMPLES))))
        clock_hz = _clock(crew, made)
    latency = None
    if chains == 1:
        # One vector is under way at a time: as many elements as it has lanes.
        latency = dial.cycles_per_fma(steps[-1], made.lanes, clock_hz)
    told = (
        f"one core of {host.cpu().model}",
        f"{used} vector{'s' * (used > 1)} of {4 * made.lanes} B at a time",
        f"clock {clock_hz / 1e6:.0f} MHz, from dependent additions",
        made.made_by,
    )
    return dial.outcome(
        host.cpu().model, steps, gpu=False, latency=latency,
        chains=1 if chains == 1 else max(chains, CHAINS), conditions=told,
    )  # fmt: skip


def rate(samples: Samples) -> float:
    """Units a second of the clean samples; on a busy machine units a second of CPU time."""
    if samples.level is not None:
        return samples.level
    return median(sample.rate / sample.busy for sample in samples.all if sample.busy > 0)


def _work(
    run: Callable[[int, int, int, int, int], None], x: int, z: int, elements: int, f: int
) -> Callable[[int, int], object]:
    return lambda _, passes: run(x, z, elements, f, passes)


def _clock(crew: Crew, made: Loops) -> float:
    """The core's clock [Hz]: one dependent addition is one cycle."""
    additions = 1 << 16
    load = Load(lambda _, passes: [made.ticks(additions) for _ in range(passes)], additions, 5e-3)
    return rate(crew.samples(load, SAMPLES))
