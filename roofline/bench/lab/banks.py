"""Experiment D, bank conflicts: what it costs when lanes of a warp want one bank of shared memory.

Shared memory has 32 banks of 4 bytes, and a bank serves one word at a time.  With n lanes on each
bank that is used, a load takes n turns: 1/n of the bandwidth is left.
"""

from collections.abc import Callable

from roofline.bench.gpu.card import Driver, card, working_on
from roofline.bench.gpu.onchip import Kernels
from roofline.bench.gpu.record import common
from roofline.bench.gpu.timing import Effort, timer
from roofline.bench.lab.outcome import Cell, Column, Outcome, Question

DEGREES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
EFFORT = Effort(count=11, sample_s=0.5e-3, pause_s=0.0)
COLUMNS = (Column("lanes on a bank"), Column("bandwidth", "B/s"), Column("times slower"))
QUESTION = Question(
    "how many times slower are loads with all 32 lanes of a warp on one bank?",
    "",
    "a bank serves one lane at a time",
)


def on_gpu(index: int, tick: Callable[[str, float], None]) -> Outcome:
    """Conflicts of 1 to 32 lanes on ``cuda:index``."""
    unit = card(index)
    with working_on(unit):
        driver = Driver(unit)
        clock = timer(unit, driver, EFFORT)
        kernels = Kernels(unit)
        rates: dict[int, float] = {}
        for degree in DEGREES:
            tick(f"{degree} lanes", len(rates) / len(DEGREES))
            taken = sorted(clock.take(kernels.conflicts(degree)).rates)
            rates[degree] = taken[len(taken) // 2]
        told = ("4 B a lane", kernels.made_by, *common(unit, driver.settings()))
    rows: list[tuple[Cell, ...]] = [(n, rate, rates[1] / rate) for n, rate in rates.items()]
    return Outcome(
        experiment="banks", device=unit.name, kind="gpu", question=QUESTION,
        answer=rates[1] / rates[32], columns=COLUMNS, rows=tuple(rows), conditions=told,
    )  # fmt: skip
