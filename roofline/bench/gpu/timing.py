"""Timing on the device: events around queued work, a clock probe between the samples.

Everything of one measurement is queued before the device reaches it, so the host's own time is
nowhere inside.  Burst is what this takes: a pause, a few milliseconds of warm-up, then samples
for `BURST_S`, and again until there are enough.

A card whose matrix units work for longer meets its power cap, which is another measurement
(`sustained`).  An H200 took 20 to 60 ms to get there from rest.  Bursts of 16 ms gave the same rate
after pauses of 0.1, 0.2, 0.3 and 0.6 s; bursts of 36 ms lost a twentieth after 0.15 s.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import ceil
from statistics import median
from typing import TypeVar

from roofline.bench.gpu.card import Card, Driver, State
from roofline.bench.gpu.cuda import module
from roofline.errors import Missing

BURST_S = 0.012  # of samples between two pauses
_WORKED_S = 0.016  # with the warm-up before them
PROBE_NS = 20_000  # a clock probe lasts this long and a tick of the timer more
Way = TypeVar("Way")
# The device waits while the host queues: so long at least, and so long at most.
_HOLD_S, _LONGEST_HOLD_S = 2e-3, 50e-3
_CYCLES_PER_S = 2e9  # of a fast card; a slower one waits longer, which does no harm


@dataclass(frozen=True, slots=True)
class Load:
    """Work to time.  `run(i)` launches it once; i counts up, for buffers to take turns."""

    run: Callable[[int], object]
    amount: float  # units of work in one run
    # The clock inside the kernels since it was last asked for [Hz], where they tell; None is not.
    clock_hz: Callable[[], float | None] = lambda: None
    compile: Callable[[], object] = lambda: None  # make its kernel ready without launching it


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is taken of everything."""

    count: int  # samples
    sample_s: float
    pause_s: float  # idle before every burst
    cool_s: float = 0.1  # the same where the matrix units work, for the card to forget it
    warm_s: float = 4e-3
    search_s: float = 0.02  # idle before every candidate of a search


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Samples of one load with the state around them."""

    rates: tuple[float, ...]  # units a second
    clocks: tuple[float, ...]  # Hz, sampled between the samples; empty is not sampled
    inside_hz: float | None = None  # inside the kernels, where they tell
    before: State
    after: State

    @property
    def clock_hz(self) -> float | None:
        """The clock inside the kernels, else between them, else what the driver says."""
        if self.inside_hz is not None:
            return self.inside_hz
        if self.clocks:
            return median(self.clocks)
        return self.after.clock_hz


class Clock:
    """Samples of the compute clock, by cycles over nanoseconds inside a kernel of one thread."""

    def __init__(self, card: Card, slots: int) -> None:
        import ctypes

        import torch

        source = files("roofline.bench.gpu.kernels").joinpath("clock.cu").read_text()
        function = module(source, card.target).function("sampled_clock")
        self._out = torch.zeros(slots, 2, dtype=torch.int64, device="cuda")
        self._slot = ctypes.c_int(0)
        least = ctypes.c_uint64(PROBE_NS)
        self._run = function.launcher(1, 1, (self._out, self._slot, least))
        self.slots = slots

    def launch(self, slot: int) -> None:
        """Queue one probe."""
        self._slot.value = slot  # copied when the kernel is launched
        self._run()

    def read(self, count: int) -> tuple[float, ...]:
        """The first `count` samples [Hz]."""
        rows = self._out[:count].tolist()
        return tuple(1e9 * cycles / ns for cycles, ns in rows if ns)


@dataclass(slots=True)
class Timer:
    """Takes samples on one card."""

    card: Card
    driver: Driver
    effort: Effort
    clock: Clock | None = None
    no_clock: str = ""  # why the clock is not sampled
    _worked_s: float = 0.0  # since the last rest

    def take(self, load: Load, count: int | None = None, *, cool: bool = False) -> Taken:
        """Samples of `load` in bursts with pauses between, longer ones to `cool`."""
        count = count or self.effort.count
        if self.clock is not None:
            count = min(count, self.clock.slots)
        once_s, host_s = self._once(load)
        passes = max(1, round(self.effort.sample_s / once_s))
        warm = min(400, ceil(self.effort.warm_s / once_s))
        together = max(1, int(BURST_S / (passes * once_s)))
        load.clock_hz()  # forget what ran before
        seconds: list[float] = []
        clocks: list[float] = []
        before: State | None = None
        while len(seconds) < count:
            self._rest(self.effort.cool_s if cool else self.effort.pause_s)
            before = before or self.driver.state()
            some = min(together, count - len(seconds))
            seconds += self._queue(load, some, passes, warm, host_s)
            clocks += self.clock.read(some) if self.clock else ()
        inside_hz = load.clock_hz()
        return Taken(
            rates=tuple(load.amount * passes / s for s in seconds),
            clocks=tuple(clocks),
            inside_hz=inside_hz,
            before=before or self.driver.state(),
            after=self.driver.state(),
        )

    def quick_rate(self, load: Load, count: int = 3, *, cool: bool = False) -> float:
        """The best rate of a few short samples, the first a warm-up, to choose among ways by.

        To `cool` the card rests before in proportion to what it worked since it last did.
        """
        rest = self._worked_s * self.effort.cool_s / _WORKED_S if cool else 0.0
        self._rest(min(self.effort.cool_s, max(self.effort.search_s, rest)))
        once_s, host_s = self._once(load)
        passes = max(1, ceil(0.3e-3 / once_s))
        seconds = self._queue(load, count, passes, 0, host_s, probe=False)
        return load.amount * passes / min(seconds)

    def _rest(self, seconds: float) -> None:
        time.sleep(seconds)
        self._worked_s = 0.0

    def best(self, loads: Sequence[tuple[Way, Load]]) -> tuple[Way, Load]:
        """The fastest of several ways to do the same, with its name."""
        if len(loads) == 1:
            return loads[0]
        return max(loads, key=lambda named: self.quick_rate(named[1]))

    def _once(self, load: Load) -> tuple[float, float]:
        """Seconds of one run, roughly, compiled and warm: of the device, and of the host."""
        import torch

        load.run(0)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        load.run(1)
        host_s = time.perf_counter() - begin
        [seconds] = self._queue(load, 1, 1, 0, host_s, probe=False)
        self._worked_s += 2 * seconds
        return max(seconds, 1e-6), host_s

    def _queue(
        self, load: Load, count: int, passes: int, warm: int, host_s: float, probe: bool = True
    ) -> list[float]:
        """Seconds of `count` samples that the host, `host_s` a run, queues before they begin."""
        import torch

        events = [
            (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
            for _ in range(count)
        ]
        torch.cuda.synchronize()
        torch.cuda._sleep(int(_CYCLES_PER_S * held_s(host_s * (warm + count * passes))))
        turn = 0
        for _ in range(warm):
            load.run(turn)
            turn += 1
        for slot, (start, end) in enumerate(events):
            start.record()
            for _ in range(passes):
                load.run(turn)
                turn += 1
            end.record()
            if probe and self.clock is not None:
                self.clock.launch(slot)
        torch.cuda.synchronize()
        seconds = [start.elapsed_time(end) / 1e3 for start, end in events]
        self._worked_s += sum(seconds) * (1 + warm / (count * passes))
        return seconds


def held_s(queueing_s: float) -> float:
    """How long the device is kept waiting for a host that queues for about `queueing_s`.

    >>> held_s(1e-4), held_s(8e-3), held_s(1.0)
    (0.002, 0.012, 0.05)
    """
    return min(_LONGEST_HOLD_S, max(_HOLD_S, 1.5 * queueing_s))


def timer(card: Card, driver: Driver, effort: Effort, slots: int = 64) -> Timer:
    """A timer for one card, with a clock probe where CUDA C++ runs."""
    made = Timer(card, driver, effort)
    if not card.nvidia:
        made.no_clock = "the clock is sampled on NVIDIA cards only"
        return made
    try:
        made.clock = Clock(card, slots)
    except Missing as error:
        made.no_clock = str(error)
    return made
