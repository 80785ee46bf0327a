"""Experiment B, the matrix peak: what accumulating in fp16 instead of fp32 buys.

On a GPU fp16 products with both accumulators, as matrix instructions in registers and as PyTorch's
product.  On consumer cards the narrow accumulator is twice as fast, on data centre cards it is not.
A CPU has no such pair: there the question is what bf16 buys over fp32.
"""

from collections.abc import Callable, Iterable, Iterator
from statistics import median
from typing import Literal

from roofline.bench.cpu import host
from roofline.bench.cpu.chosen import sampled
from roofline.bench.cpu.crew import Crew
from roofline.bench.cpu.matrix import Effort as CpuEffort
from roofline.bench.cpu.matrix import products as cpu_products
from roofline.bench.cpu.matrix import without_fallbacks
from roofline.bench.gpu import gemm, tensor
from roofline.bench.gpu.card import Driver, card, working_on
from roofline.bench.gpu.record import recorder
from roofline.bench.gpu.timing import Effort, timer
from roofline.bench.lab.outcome import Cell, Column, Outcome, Question
from roofline.bench.record import Absent, Found
from roofline.device import (
    TENSOR_BF16,
    TENSOR_FP16,
    TENSOR_FP16_ACC16,
    VECTOR_FP32,
    Ceiling,
    Resource,
)

COLUMNS = (
    Column("pipe"),
    Column("reached by"),
    Column("rate", "flop/s"),
    Column("95 % of median from", "flop/s"),
    Column("to", "flop/s"),
    Column("in doubt"),
    Column("clock", "Hz"),
)
EFFORT = Effort(count=20, sample_s=1e-3, pause_s=0.1)
QUESTIONS = {
    "gpu": Question(
        "how many times as fast is fp16 with fp16 accumulation as with fp32 accumulation?",
        "",
        "twice where the maker halves the rate of the wide accumulator, once where not",
    ),
    "cpu": Question(
        "how many times as fast is a bf16 matrix product as an fp32 one?",
        "",
        "8 and more with matrix units (AMX), 2 with bf16 dot products, less than 1 without either",
    ),
}
CPU_PAIR = (VECTOR_FP32, TENSOR_BF16)
CPU_EFFORT = CpuEffort(
    largest=1024, count=15, sample_s=5e-3, slowest_s=0.05, search_s=0.5, least_s=3.0
)


def on_gpu(index: int, tick: Callable[[str, float], None]) -> Outcome:
    """fp16 with fp16 accumulators against fp32 ones on ``cuda:index``."""
    unit = card(index)
    pair = (TENSOR_FP16, TENSOR_FP16_ACC16)
    with working_on(unit):
        driver = Driver(unit)
        made = recorder(timer(unit, driver, EFFORT), driver.settings())
        tick("in registers", 0.0)
        found: list[Found] = list(tensor.pipes(made, pair))
        tick("PyTorch", 0.4)
        wanted = [p for p in gemm.products(unit) if p.resource in pair]
        found += gemm.gemms(made, wanted, quick=True)
    return _outcome(unit.name, "gpu", found, pair, made.common)


def on_cpu(tick: Callable[[str, float], None]) -> Outcome:
    """bf16 against fp32 on one core."""
    import torch

    tick("matrix products", 0.0)
    before = torch.get_num_threads()
    try:
        with Crew([{host.cores()[0]}]) as leader:
            chosen = list(cpu_products(leader, 1, CPU_EFFORT, (), only=CPU_PAIR))
            taken = sampled(leader, chosen, CPU_EFFORT.count, CPU_EFFORT.least_s)
            found = without_fallbacks(taken)
    finally:
        torch.set_num_threads(before)
    told = ("one core", f"torch {torch.__version__}")
    return _outcome(host.cpu().model, "cpu", found, CPU_PAIR, told)


def _outcome(
    device: str,
    kind: Literal["cpu", "gpu"],
    found: Iterable[Found],
    pair: tuple[Resource, Resource],
    conditions: tuple[str, ...],
) -> Outcome:
    found = list(found)
    of_pair = [c for c in found if isinstance(c, Ceiling) and c.resource in pair]
    return Outcome(
        experiment="matmul",
        device=device,
        kind=kind,
        question=QUESTIONS[kind],
        answer=ratio(of_pair, pair),
        columns=COLUMNS,
        rows=tuple(map(_row, of_pair)),
        notes=(
            *(
                f"* {c.resource.name} {c.variant}: {s.unstable}"
                for c in of_pair
                if (s := c.provenance.spread) and s.unstable
            ),
            *_range(of_pair, pair),
            *(str(a) for a in found if isinstance(a, Absent) and a.resource in pair),
        ),
        conditions=conditions,
    )


def _row(c: Ceiling) -> tuple[Cell, ...]:
    spread = c.provenance.spread
    low, high, doubt = (spread.low, spread.high, spread.unstable) if spread else (None, None, "")
    mark = "*" if doubt else ""
    return c.resource.name, str(c.variant.reach), c.rate, low, high, mark, c.clock_hz


def ratio(ceilings: Iterable[Ceiling], pair: tuple[Resource, Resource]) -> float | None:
    """Rate of the second over the first, of the same reach; the median where there are several."""
    ratios = [second.rate / first.rate for first, second in _pairs(ceilings, pair)]
    return median(ratios) if ratios else None


def _range(ceilings: Iterable[Ceiling], pair: tuple[Resource, Resource]) -> Iterator[str]:
    """How far each ratio can be off, by the intervals of both medians."""
    for first, second in _pairs(ceilings, pair):
        below, above = first.provenance.spread, second.provenance.spread
        if below and above and below.low and below.high and above.low and above.high:
            low, high = above.low / below.high, above.high / below.low
            yield f"by both intervals the ratio ({first.variant.reach}) is {low:.2f} to {high:.2f}"


def _pairs(
    ceilings: Iterable[Ceiling], pair: tuple[Resource, Resource]
) -> list[tuple[Ceiling, Ceiling]]:
    """Ceilings of both resources that have the same reach."""
    by = {(c.resource, c.variant.reach): c for c in ceilings}
    first, second = pair
    return [
        (one, by[second, reach])
        for (resource, reach), one in by.items()
        if resource == first and (second, reach) in by
    ]
