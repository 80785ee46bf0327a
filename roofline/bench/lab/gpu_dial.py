"""The intensity dial on a GPU, in Triton; its machine code is looked into where somebody can."""

import re
from collections.abc import Callable
from typing import Any

from roofline.bench.gpu.card import Driver, card, working_on
from roofline.bench.gpu.record import common
from roofline.bench.gpu.timing import Effort, Load, timer
from roofline.bench.lab import dial
from roofline.bench.lab.dial import CHAINS, FS, Step
from roofline.bench.lab.outcome import Outcome

ELEMENTS = 1 << 28  # 1 GiB an array
FEW_ELEMENTS = 1 << 22  # with few chains: they are slow
WARPS, UNROLLED = 4, 64
EFFORT = Effort(count=15, sample_s=1e-3, pause_s=0.05)


def measure(index: int, chains: int, tick: Callable[[str, float], None]) -> Outcome:
    """Turn the dial on ``cuda:index``.

    With 4 chains or more every lane has that many elements and the card is full.  With fewer there
    is one warp for each scheduler only, so that nothing hides the wait of an FMA for the last.
    """
    import torch

    unit = card(index)
    with working_on(unit):
        driver = Driver(unit)
        clock = timer(unit, driver, EFFORT)
        full = chains >= CHAINS
        elements = ELEMENTS if full else FEW_ELEMENTS
        room = torch.cuda.mem_get_info(index)[0] // 16
        while elements > room:
            elements //= 2
        x = torch.rand(elements, device="cuda").add_(0.5)
        z = torch.empty_like(x)
        steps, latency = [], None
        block = chains * unit.lanes * WARPS
        for i, f in enumerate(FS):
            tick(f"F = {f}", i / len(FS))
            grid = elements // block if full else unit.units
            made, load = _load(x, z, f, block, grid)
            taken = clock.take(load)
            rate = sorted(taken.rates)[len(taken.rates) // 2]
            steps.append(Step(f, rate, holds(made, f, chains)))
            if f == FS[-1] and taken.clock_hz and not full:
                latency = dial.cycles_per_fma(steps[-1], grid * block, taken.clock_hz)
        told = (_shape(chains, full), *common(unit, driver.settings()))
        return dial.outcome(
            unit.name, steps, gpu=True, latency=latency, chains=chains, conditions=told
        )


def _shape(chains: int, full: bool) -> str:
    where = "the card full" if full else "one warp for each scheduler"
    return f"Triton, {chains} independent chain{'s' * (chains > 1)} in every lane, {where}"


def _load(x: Any, z: Any, f: int, block: int, grid: int) -> tuple[Any, Load]:
    from roofline.bench.gpu.kernels import loops

    steps = x.numel() // (block * grid)
    rounds = max(1, f // UNROLLED)

    def run(_turn: int) -> Any:
        return loops.dial[(grid,)](
            x, z, -1.0, 2.0, steps, BLOCK=block, F=f, ROUNDS=rounds, num_warps=WARPS
        )

    return run(0), Load(run, block * grid * steps)


def holds(made: Any, f: int, chains: int) -> str:
    """How many FMAs the compiled kernel holds, from its machine code; "" where nobody can read it.

    A long dial is a loop around fewer, and a compiler may unroll loops: there must be a whole
    number of rounds.
    """
    try:
        code = str(made.asm["sass"])
    except Exception:  # Triton raises whatever its disassembler's absence makes of it
        return ""
    found = len(re.findall(r"\bFFMA2?\b", code))
    each, rest = divmod(found, min(f, UNROLLED) * chains)
    if not each or rest:
        return f"{found} FMAs for {chains} chains: not {f} each"
    text = f"{min(f, UNROLLED)} a chain" + (f", {f // UNROLLED} times" if f > UNROLLED else "")
    return text if each == 1 else f"{text}, unrolled {each} times"
