"""Experiment C, the cost of starting work that does nothing, in three ways.

On a GPU an empty kernel: back to back, launched and waited for, from a captured graph.  On a CPU
PyTorch's smallest operator: recording gradients, without them, and a function of C for comparison.
"""

from collections.abc import Callable

from roofline.bench.cpu import host
from roofline.bench.cpu.crew import Crew, Load
from roofline.bench.gpu import launch
from roofline.bench.gpu.card import Driver, card, working_on
from roofline.bench.gpu.record import common
from roofline.bench.gpu.timing import Effort, timer
from roofline.bench.lab.cpu_dial import loops, rate
from roofline.bench.lab.outcome import Cell, Column, Outcome, Question
from roofline.errors import Missing
from roofline.provenance import spread

COLUMNS = (
    Column("way"),
    Column("one start", "s"),
    Column("quartiles from", "s"),
    Column("to", "s"),
)
QUESTIONS = {
    "gpu": Question(
        "how long does an empty kernel take when launched back to back?",
        "s",
        "a few microseconds: the host prepares a launch while the card does nothing",
    ),
    "cpu": Question(
        "how long does the smallest PyTorch operator take?",
        "s",
        "about a microsecond: argument checks, dispatch, and Python's call around it",
    ),
}
EAGER = "eager operator"
EFFORT = Effort(count=20, sample_s=1e-3, pause_s=0.0)
CPU_SAMPLES, CPU_SAMPLE_S = 15, 5e-3


def on_gpu(index: int, tick: Callable[[str, float], None]) -> Outcome:
    """Empty kernels on ``cuda:index``."""
    unit = card(index)
    with working_on(unit):
        driver = Driver(unit)
        clock = timer(unit, driver, EFFORT)
        start, what = launch.kernel(clock)
        rows: list[tuple[Cell, ...]] = []
        for i, way in enumerate(launch.WAYS):
            tick(way, i / len(launch.WAYS))
            found = spread([1 / r for r in launch.settled(clock, start, way).rates], best="min")
            rows.append((way, found.median, found.q1, found.q3))
        told = (what, *common(unit, driver.settings()))
    first = rows[0][1]
    return Outcome(
        experiment="launch", device=unit.name, kind="gpu", question=QUESTIONS["gpu"],
        answer=float(first) if isinstance(first, float) else None,
        columns=COLUMNS, rows=tuple(rows), conditions=told,
    )  # fmt: skip


def on_cpu(tick: Callable[[str, float], None]) -> Outcome:
    """PyTorch's smallest operator on one core, and a function of C."""
    import torch

    rows: list[tuple[Cell, ...]] = []
    with Crew([{host.cores()[0]}]) as crew:
        for i, (way, run) in enumerate(_cpu_ways()):
            tick(way, i / 3)
            taken = crew.samples(Load(run, 1, CPU_SAMPLE_S), CPU_SAMPLES)
            seconds = [1 / s.rate for s in taken.all if s.clean] or [1 / rate(taken)]
            found = spread(seconds, best="min")
            rows.append((way, found.median, found.q1, found.q3))
    answer = next((row[1] for row in rows if row[0] == EAGER), None)
    return Outcome(
        experiment="launch", device=host.cpu().model, kind="cpu", question=QUESTIONS["cpu"],
        answer=answer if isinstance(answer, float) else None,
        columns=COLUMNS, rows=tuple(rows),
        conditions=("one core, Python's loop included", f"torch {torch.__version__}"),
    )  # fmt: skip


def _cpu_ways() -> list[tuple[str, Callable[[int, int], object]]]:
    import torch

    value, one = torch.zeros(1), torch.ones(1)
    leaf = torch.zeros(1, requires_grad=True)

    def eager(_: int, passes: int) -> None:
        with torch.inference_mode():
            for _ in range(passes):
                value.add_(one)

    def recording(_: int, passes: int) -> None:
        for _ in range(passes):
            leaf.add(one)

    ways: list[tuple[str, Callable[[int, int], object]]] = [
        (EAGER, eager),
        ("eager operator, recording gradients", recording),
    ]
    try:
        empty = loops().ticks
    except Missing:
        return ways

    def foreign(_: int, passes: int) -> None:
        for _ in range(passes):
            empty(0)

    return [*ways, ("function of C through ctypes", foreign)]
