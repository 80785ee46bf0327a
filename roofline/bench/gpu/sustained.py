"""What is left after seconds under load, with the state of the card beside it."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

from roofline.bench.gpu.card import State
from roofline.bench.gpu.record import Recorder
from roofline.bench.gpu.timing import Load, Taken, Timer
from roofline.device import Ceiling, Reach, Resource, Trace, Variant

LIBRARY = Variant(reach=Reach.LIBRARY)
REGISTER = Variant(reach=Reach.REGISTER)
COPY = Variant(access="copy")
SECONDS = 10.0
ROW_S = 0.25  # between the rows of a trace
_REST_S = 1.0  # before, so that a trace begins with a card at rest
# A sample, and what is queued at a time: a card at its power cap hunts about a clock within less.
_CHUNK_S, _SAMPLES = 0.04, 30


def sustained(
    recorder: Recorder,
    resource: Resource,
    burst: Variant,
    load: Load,
    method: str,
    about: Sequence[str],
    tick: Callable[[float], None],
    seconds: float = SECONDS,
) -> tuple[Ceiling, Trace]:
    """The rate of `load` at the end of `seconds` of it, and the trace of that time."""
    variant = Variant(access=burst.access, reach=burst.reach, way=burst.way, sustained=True)
    taken, rows = _under_load(recorder.timer, load, seconds, tick)
    told = (f"the end of {seconds:g} s of it, {1e3 * _CHUNK_S:g} ms a sample", *about)
    return (
        recorder.of(resource, taken, method, told, variant),
        Trace(
            resource=resource,
            variant=variant,
            at_s=tuple(round(at, 3) for at, _ in rows),
            clock_hz=tuple(s.clock_hz for _, s in rows),
            memory_clock_hz=tuple(s.memory_clock_hz for _, s in rows),
            power_w=tuple(s.power_w for _, s in rows),
            temperature_c=tuple(s.temperature_c for _, s in rows),
            held_back=tuple(s.held_back for _, s in rows),
        ),
    )


def _under_load(
    timer: Timer, load: Load, seconds: float, tick: Callable[[float], None]
) -> tuple[Taken, list[tuple[float, State]]]:
    """Keep the card busy; samples of the end, and a row of (seconds, state) now and then."""
    import torch

    passes = max(1, ceil(_CHUNK_S * timer.quick_rate(load) / load.amount))
    time.sleep(_REST_S)
    rows, start = [(0.0, timer.driver.state())], time.monotonic()
    kept = _SAMPLES + 1  # ends of chunks, between which the samples are
    ends: deque[Any] = deque(maxlen=kept)
    chunk, turn = 0, 0
    while (now := time.monotonic() - start) < seconds:
        if now - rows[-1][0] >= ROW_S:
            rows.append((now, timer.driver.state()))
            tick(now / seconds)
        for _ in range(passes):
            load.run(turn)
            turn += 1
        if timer.clock is not None:
            timer.clock.launch(chunk % kept)
        ends.append(torch.cuda.Event(enable_timing=True))
        ends[-1].record()
        if len(ends) > 1:
            ends[-2].synchronize()  # one chunk runs while the next is queued
        chunk += 1
    rows.append((time.monotonic() - start, timer.driver.state()))
    torch.cuda.synchronize()
    pairs = zip(ends, list(ends)[1:], strict=False)
    clocks = timer.clock.read(kept) if timer.clock else ()
    oldest = chunk % kept if chunk > kept else 0
    taken = Taken(
        rates=tuple(load.amount * passes / (a.elapsed_time(b) / 1e3) for a, b in pairs),
        clocks=(*clocks[oldest + 1 :], *clocks[:oldest]),
        before=rows[0][1],
        after=rows[-1][1],
    )
    return taken, rows
