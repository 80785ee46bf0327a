"""Ceilings of a GPU beside what others reach on it, as ratios of medians from one run.

    python benchmarks/ceilings_gpu.py [--device 0] [--gpu-benches FOLDER] [-o FILE]

Rivals are torch's own operators and the first Triton kernel one would write; torch's products at
8192 cubed, which everyone quotes, and at the best of a wide search, both timed in turns with the
shape that our ceiling is of; launches of torch's smallest operator, in turns with our empty kernel.  With --gpu-benches also programs of a clone of RRZE-HPC/gpu-benches,
given as FOLDER with the built programs `gpu-l2-cache`, `gpu-cache` and `gpu-stream` in it.  A ratio
is ours over theirs; above 1 ours is faster.  -o writes the ceilings that were measured as JSON.
"""

import argparse
import itertools
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch

from roofline.bench.gpu import ceilings, gemm, launch, memory
from roofline.bench.gpu.card import Driver, card, working_on
from roofline.bench.gpu.timing import Load, Timer, timer
from roofline.bench.plateau import Point
from roofline.device import Ceiling, Device, Reach
from roofline.devices.kept import SCHEMA
from roofline.units import show

CUBE = (8192, 8192, 8192)
# Every pair of these as rows and columns, with every depth that keeps a product short.
SIZES, DEPTHS, LONGEST = (4096, 6144, 8192, 8448, 12288, 16384), (2048, 4096, 8192, 16384), 2.5e12
SLOW_SIZES, SLOW_DEPTHS, SLOW_LONGEST = (4096, 6144, 8192, 8448), (2048, 4096, 8192), 0.6e12
# For each product; shapes that did not get their turn are counted and told.
SEARCH_S, AGAIN, TURNS = 1.5, 4, 2
LIMIT_S = {"gpu-l2-cache": 60, "gpu-cache": 25, "gpu-stream": 60}  # beyond, sizes we do not quote
# What of torch's add_ is in each way of launching it.
ADD = {
    launch.BACK_TO_BACK: "torch add_ of one element, an operator with its dispatch",
    launch.AND_WAIT: "torch add_ of one element, an operator with its dispatch",
    launch.FROM_GRAPH: "torch add_ of one element, captured: its kernel without dispatch",
}
# Ceiling (resource and variant), rival, its rate, and ours where it was timed again beside it.
Row = tuple[str, str, float, float | None]


def median_rate(clock: Timer, load: Load) -> float:
    """The rival's median, taken as ours is."""
    return median(clock.take(load).rates)


def torch_streams(clock: Timer, pool: memory.Pool) -> Iterator[Row]:
    """torch's own read, write, copy and triad over the same arrays."""
    size = pool.n * memory.ELEMENT

    def over(run: Callable[[Any, Any, Any], object], arrays: int) -> float:
        return median_rate(clock, Load(lambda turn: run(*pool.three(turn)), arrays * size))

    yield "dram read", "torch sum", over(lambda x, y, z: x.sum(), 1), None
    yield "dram write", "torch fill_", over(lambda x, y, z: z.fill_(1.5), 1), None
    yield "dram copy", "torch copy_", over(lambda x, y, z: z.copy_(x), 2), None
    add = over(lambda x, y, z: torch.add(x, y, alpha=1.25, out=z), 3)
    yield "dram triad", "torch add", add, None


def torch_products(clock: Timer, ours: dict[str, Ceiling]) -> Iterator[Row]:
    """8192 cubed, the shape everyone quotes, and the best of many shapes and layouts."""
    for product in gemm.products(clock.card):
        name = f"{product.resource.name} {product.variant}"
        if product.sparse or name not in ours:
            continue
        with product.setting():
            try:
                best, searched = widest(clock, product)
                ways = (ours_of(ours[name], product, clock.card.units), (CUBE, "nt"), best)
                mine, cube, wide = in_turns(clock, product, ways)
            except (RuntimeError, NotImplementedError) as error:
                print(f"{product.call}: {error}", file=sys.stderr)
                continue
        yield name, f"{product.call}, 8192 cubed", cube, mine
        yield name, f"{product.call}, {gemm.named(*best)}, {searched}", wide, mine


def ours_of(ceiling: Ceiling, product: gemm.Product, units: int) -> gemm.Way:
    """The shape and layout that a ceiling of ours names."""
    return next(
        (shape, layout)
        for shape in gemm.shapes(units, slow=product.slow)
        for layout in product.layouts
        if f"{gemm.named(shape, layout)}, the best" in ceiling.provenance.source
    )


def in_turns(clock: Timer, product: gemm.Product, ways: Sequence[gemm.Way]) -> list[float]:
    """The median of each, sampled one after the other, again and again."""
    loads = [gemm.load(product, *way) for way in ways]
    few = gemm.COUNT // TURNS
    turns = [
        [clock.take(load, few, cool=product.cool).rates for load in loads] for _ in range(TURNS)
    ]
    return [median(itertools.chain(*rates)) for rates in zip(*turns, strict=True)]


def widest(clock: Timer, product: gemm.Product) -> tuple[gemm.Way, str]:
    """The best of every shape and layout that time allows, and how many that were."""
    ways = [(shape, layout) for shape in shapes(product.slow) for layout in product.layouts]
    random.Random(0).shuffle(ways)  # what a search that ends early leaves out is no corner
    until, rates = time.monotonic() + SEARCH_S, {}
    for way in ways:
        if time.monotonic() > until:
            break
        rates[way] = clock.quick_rate(gemm.load(product, *way))
    # Without long pauses, as here, the card is at its power cap; those ahead are looked at again.
    first = sorted(rates, key=lambda way: rates[way], reverse=True)[:AGAIN]
    cooled = {way: clock.quick_rate(gemm.load(product, *way), cool=product.cool) for way in first}
    best = max(cooled, key=lambda way: cooled[way])
    return best, f"the best of {len(rates)} of {len(ways)}"


def shapes(slow: bool) -> list[gemm.Shape]:
    """m, n, k of the wide search."""
    sizes, depths, longest = (
        (SLOW_SIZES, SLOW_DEPTHS, SLOW_LONGEST) if slow else (SIZES, DEPTHS, LONGEST)
    )
    return [
        s for s in itertools.product(sizes, sizes, depths) if 2.0 * s[0] * s[1] * s[2] < longest
    ]


def torch_launches(clock: Timer) -> Iterator[Row]:
    """Our empty kernel and torch's add of one element, in the three ways, in turns.

    Launched from Python theirs is an operator: arguments are checked and a kernel is looked up.
    That is what `dispatch` is of, so the same samples stand beside it too.
    """
    starts = launch.kernel(clock)[0], launch.eager()
    for way in launch.WAYS:
        turns = [
            [launch.settled(clock, start, way).rates for start in starts] for _ in range(TURNS)
        ]
        mine, theirs = (median(itertools.chain(*rates)) for rates in zip(*turns, strict=True))
        yield f"launch {way}", ADD[way], theirs, mine
        if way == launch.BACK_TO_BACK:
            yield "dispatch", "torch add_ of one element, the same operator again", theirs, None


def naive_fma(clock: Timer) -> Iterator[Row]:
    """The first FMA loop one writes: one program a block of 1024, 4 warps, unrolled 8 times."""
    from roofline.bench.gpu.kernels import loops

    x = torch.rand(1024 * 4096, device="cuda")

    def run(_turn: int) -> None:
        loops.registers[(4096,)](x, -1.0, 2.0, 256, BLOCK=1024, UNROLL=8, STEP="fma")

    work = 2.0 * 1024 * 4096 * 256 * 8
    yield "vector-fp32 register", "naive Triton loop", median_rate(clock, Load(run, work)), None


def gpu_benches(folder: Path) -> Iterator[Row]:
    """The programs of RRZE-HPC/gpu-benches; their best figure in the range ours is quoted for."""
    cached = [(kib * 1024, rate * 1e9) for kib, rate in _cached(_output(folder / "gpu-l2-cache"))]
    inside = [rate for size, rate in cached if 12e6 <= size <= 25e6]
    if inside:
        yield "l2 read", "RRZE gpu-l2-cache, 12 to 25 MB", max(inside), None
    outside = [rate for size, rate in cached if 0.6e9 <= size <= 1.1e9]
    if outside:
        yield "dram read", "RRZE gpu-l2-cache, 0.6 to 1.1 GB", max(outside), None
    inner = [rate for kib, rate in _cached(_output(folder / "gpu-cache")) if kib <= 128]
    if inner:
        yield "l1 read", "RRZE gpu-cache", 1e9 * max(inner), None
    told = _output(folder / "gpu-stream")
    # block smBlocks threads occ% | GB/s: init read scale triad 3pt 5pt, all in double
    rows = [[float(x) for x in re.findall(r"[\d.]+", line.split("GB/s:")[1])]
            for line in told.splitlines() if "GB/s:" in line]  # fmt: skip
    for name, column in (("read", 1), ("write", 0), ("copy", 2)):
        if rates := [row[column] for row in rows if len(row) > column]:
            yield f"dram {name}", "RRZE gpu-stream", 1e9 * max(rates), None


def _cached(told: str) -> Iterator[tuple[float, float]]:
    """Working set [KiB] and GB/s of every line."""
    for line in told.splitlines():
        sizes, rates = re.findall(r"(\d+) kB", line), re.findall(r"([\d.]+) GB/s", line)
        if sizes and rates:
            yield float(sizes[-1]), float(rates[0])


def _output(program: Path) -> str:
    if not program.exists():
        print(f"no {program}", file=sys.stderr)
        return ""
    limit_s = LIMIT_S[program.name]
    try:
        done = subprocess.run([program], capture_output=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired as late:  # what it printed until then counts
        return (late.stdout or b"").decode()
    return done.stdout.decode()


def rivals(index: int, ours: dict[str, Ceiling], folder: Path | None) -> Iterator[Row]:
    """Everyone else's figures on this card, now."""
    unit = card(index)
    with working_on(unit):
        clock = timer(unit, Driver(unit), ceilings.FULL)
        yield from torch_products(clock, ours)
        torch.cuda.empty_cache()
        pool = memory.pool(torch.cuda.mem_get_info(index)[0], quick=False)
        yield from torch_streams(clock, pool)
        del pool
        torch.cuda.empty_cache()
        yield from naive_fma(clock)
        yield from torch_launches(clock)
    if folder:
        yield from gpu_benches(folder)


def line(ours: dict[str, Ceiling], row: Row) -> str:
    """One ceiling beside one rival."""
    name, rival, theirs, again = row
    mine = ours.get(name)
    if mine is None:
        return f"{name:<36}{'':>16}{'':>16}{'':>8}  {rival}: no such ceiling here"
    rate, unit = again or mine.rate, f"{mine.resource.unit}/s"
    return f"{name:<36}{show(rate, unit):>16}{show(theirs, unit):>16}{rate / theirs:>8.3f}  {rival}"


def of_clock(device: Device) -> Iterator[str]:
    """Pipes and on-chip memory as a share of what the chip could do at the clock it ran at."""
    units = next(f.value for f in device.facts if f.name == "sm_count")
    per_clock = {"vector-fp32": 256, "l1": 128, "shared": 128}
    for c in device.ceilings:
        most = per_clock.get(c.resource.name)
        if most is None or c.clock_hz is None or c.variant.reach is Reach.LIBRARY or c.variant.way:
            continue
        share = c.rate / (float(units) * most * c.clock_hz)
        yield (
            f"{c.resource.name} {c.variant}: {share:.3f} of {units:g} x {most} "
            f"{c.resource.unit} x {c.clock_hz / 1e6:.0f} MHz"
        )


def sweep_text(sweep: list[Point]) -> str:
    """The working-set sweep behind the L2 ceiling."""
    return "\n".join(f"{p.size / 2**20:8.1f} MiB {show(p.rate, 'B/s'):>12}" for p in sweep)


def main() -> None:
    """Measure, let the rivals run, print both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--gpu-benches", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    began = time.monotonic()
    ours = ceilings.measured(asked.device)
    print(f"measured in {time.monotonic() - began:.0f} s")
    device = ceilings.device(ours)
    if asked.output:
        import msgspec

        document = {"schema": SCHEMA, "device": device}
        asked.output.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1))
    for c in device.ceilings:
        spread = c.provenance.spread
        print(f"{c.resource.name:<20}{c.variant!s:<36}{show(c.rate, c.resource.unit + '/s'):>16}  "
              f"{(c.clock_hz or 0) / 1e6:6.0f} MHz  {spread.unstable if spread else ''}  {c.provenance.source}")  # fmt: skip
    print(device.note.replace(". ", "\n"))
    print(sweep_text(ours.sweep))
    named = {f"{c.resource.name} {c.variant}".strip(): c for c in device.ceilings}
    print("\n".join(of_clock(device)))
    print(f"\n{'ceiling':<36}{'ours':>16}{'theirs':>16}{'ratio':>8}  rival", flush=True)
    for row in rivals(asked.device, named, asked.gpu_benches):
        print(line(named, row), flush=True)


if __name__ == "__main__":
    main()
