"""What starting a kernel costs: back to back, waited for, from a captured graph; and an operator's.

Back to back and from a graph are timed by device events around many launches.  Launch and wait is
timed by the host's clock, since the host's waiting is what is asked for.
"""

import time
from collections.abc import Callable, Iterator
from importlib.resources import files

from roofline.bench.gpu.cuda import module
from roofline.bench.gpu.record import Recorder, judged
from roofline.bench.gpu.timing import Taken, Timer
from roofline.bench.record import Found
from roofline.device import DISPATCH, LAUNCH, PLAIN, Variant
from roofline.errors import Missing

MANY, GRAPHED, WAITED = 1000, 1000, 250  # launches in one sample
# A host takes a second of launching to come to its speed, and does not always keep it.
WARM_S, QUICK_WARM_S, _TRIES = 0.5, 0.2, 4
BACK_TO_BACK, AND_WAIT, FROM_GRAPH = "back to back", "launch and wait", "from a graph"
WAYS = (BACK_TO_BACK, AND_WAIT, FROM_GRAPH)


def launches(recorder: Recorder, quick: bool) -> Iterator[Found]:
    """Launches a second of an empty kernel in three ways, and eager operators a second."""
    warm_s = QUICK_WARM_S if quick else WARM_S
    empty, what = kernel(recorder.timer)
    for way in WAYS:
        taken = settled(recorder.timer, empty, way, warm_s)
        yield recorder.of(LAUNCH, taken, f"{what}, {way}", (ABOUT[way],), Variant(way=way))
    operator = eager()
    taken = settled(recorder.timer, operator, BACK_TO_BACK, warm_s)
    yield recorder.of(
        DISPATCH,
        taken,
        "eager torch add_ of one element on the card",
        (ABOUT[BACK_TO_BACK],),
        PLAIN,
    )


def settled(timer: Timer, start: Callable[[], object], way: str, warm_s: float = WARM_S) -> Taken:
    """Samples; taken again while they are no one number, since the host's own speed wanders."""
    _warm(start, warm_s)
    for _ in range(_TRIES):
        taken = _take(timer, start, way)
        if not judged(taken, LAUNCH):
            break
    return taken


ABOUT = {
    BACK_TO_BACK: f"device events around {MANY} launches from Python",
    AND_WAIT: "host clock around a launch and the wait for it",
    FROM_GRAPH: f"device events around the replay of {GRAPHED} captured launches",
}


def kernel(timer: Timer) -> tuple[Callable[[], object], str]:
    """A function that launches an empty kernel, and what it is."""
    card = timer.card
    if card.nvidia:
        try:
            source = files("roofline.bench.gpu.kernels").joinpath("clock.cu").read_text()
            function = module(source, card.target).function("nothing")
            return function.launcher(1, 32, ()), "empty CUDA kernel by cuLaunchKernel"
        except Missing:  # then by Triton, as on cards of other makers
            return _triton(), "empty Triton kernel"
    return _triton(), "empty Triton kernel"


def _triton() -> Callable[[], object]:
    from roofline.bench.gpu.kernels import loops

    return lambda: loops.nothing[(1,)](num_warps=1)


def eager() -> Callable[[], object]:
    """One eager operator whose own work is nothing."""
    import torch

    value, one = torch.zeros(1, device="cuda"), torch.ones(1, device="cuda")

    return lambda: value.add_(one)


def _take(timer: Timer, start: Callable[[], object], way: str) -> Taken:
    """Samples of launches a second."""
    import torch

    sample = {BACK_TO_BACK: _back_to_back, AND_WAIT: _and_wait, FROM_GRAPH: _from_graph}[way]
    with torch.inference_mode():
        before = timer.driver.state()
        rates = sample(start, max(20, timer.effort.count))
    return Taken(rates=tuple(rates), clocks=(), before=before, after=timer.driver.state())


def _warm(start: Callable[[], object], seconds: float) -> None:
    """Launch until the host's clock has risen and its caches are full."""
    import torch

    until = time.perf_counter() + seconds
    with torch.inference_mode():
        while time.perf_counter() < until:
            for _ in range(WAITED):
                start()
            torch.cuda.synchronize()


def _back_to_back(start: Callable[[], object], count: int) -> list[float]:
    return [MANY / _between_events(start, MANY) for _ in range(count)]


def _and_wait(start: Callable[[], object], count: int) -> list[float]:
    import torch

    rates = []
    for _ in range(count):
        begin = time.perf_counter()
        for _ in range(WAITED):
            start()
            torch.cuda.synchronize()
        rates.append(WAITED / (time.perf_counter() - begin))
    return rates


def _from_graph(start: Callable[[], object], count: int) -> list[float]:
    import torch

    graph = torch.cuda.CUDAGraph()
    # Without one of its own torch takes the stream of its first graph, of whichever card.
    with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        for _ in range(GRAPHED):
            start()
    graph.replay()
    return [GRAPHED / _between_events(graph.replay, 1) for _ in range(count)]


def _between_events(start: Callable[[], object], times: int) -> float:
    import torch

    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(times):
        start()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / 1e3
