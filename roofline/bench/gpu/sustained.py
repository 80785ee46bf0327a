"""What is left after seconds under load, with the state of the card beside it."""

import time
from collections.abc import Callable, Sequence
from math import ceil

from roofline.bench.gpu.card import State
from roofline.bench.gpu.record import Recorder
from roofline.bench.gpu.timing import Load, Timer
from roofline.device import Ceiling, Reach, Resource, Trace, Variant

SECONDS = 10.0
ROW_S = 0.25  # between the rows of a trace
_REST_S = 1.0  # before, so that a trace begins with a card at rest
_CHUNK_S = 0.04  # of work queued at a time


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
    """The rate of `load` after `seconds` of it, and the trace of that time."""
    variant = Variant(access=burst.access, reach=burst.reach, way=burst.way, sustained=True)
    rows = _under_load(recorder.timer, load, seconds, tick)
    taken = recorder.timer.take(load, rest=False)
    told = (f"after {seconds:g} s of it", *about)
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
) -> list[tuple[float, State]]:
    """Keep the card busy; a row of (seconds since the start, state) now and then."""
    import torch

    passes = max(1, ceil(_CHUNK_S * timer.quick_rate(load) / load.amount))
    time.sleep(_REST_S)
    rows, start, turn, ahead = [(0.0, timer.driver.state())], time.monotonic(), 0, None
    while (now := time.monotonic() - start) < seconds:
        if now - rows[-1][0] >= ROW_S:
            rows.append((now, timer.driver.state()))
            tick(now / seconds)
        for _ in range(passes):
            load.run(turn)
            turn += 1
        event = torch.cuda.Event()
        event.record()
        if ahead is not None:
            ahead.synchronize()  # one chunk runs while the next is queued
        ahead = event
    rows.append((time.monotonic() - start, timer.driver.state()))
    return rows


LIBRARY = Variant(reach=Reach.LIBRARY)
REGISTER = Variant(reach=Reach.REGISTER)
COPY = Variant(access="copy")
