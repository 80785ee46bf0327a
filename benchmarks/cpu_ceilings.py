"""CPU ceilings beside what others reach on the same machine, as ratios of medians from one run.

    python benchmarks/cpu_ceilings.py [--rounds N] [--size MIB]

Rivals: for DRAM a STREAM-like C loop as one writes it (below; gcc -O3 -march=native, ordinary
memory, arrays of a third of the size each), for arithmetic torch.mm, N = 512 or 1024 cubed,
whichever is faster.  Ours is what `roofline measure` finds: the DRAM plateau of a small sweep, the
chains in registers, the best matrix product of its search.  In every round each has its turn on
the same pinned CPUs, judged by the same clock, with one thread and with one on every core; the
whole comparison runs twice.  A ratio is ours over theirs and shall not be below 0.95.
"""

import argparse
import ctypes
import mmap
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import torch

from roofline.bench.cpu import host, making
from roofline.bench.cpu.chosen import sampled
from roofline.bench.cpu.crew import Crew, Load
from roofline.bench.cpu.matrix import Effort, product
from roofline.bench.cpu.memory import bandwidths
from roofline.bench.cpu.sweep import Plan
from roofline.bench.cpu.vector import chains
from roofline.device import DRAM, TENSOR_BF16, VECTOR_FP32, VECTOR_FP64, Ceiling
from roofline.units import show

GOAL = 0.95
MIB = 1 << 20
SIZES = 512, 1024
SAMPLES = 5
MOVED = {"read": 1, "copy": 2, "triad": 3, "update": 2, "write": 1}  # arrays, each way
STREAM = """
double read(double *restrict a, double *restrict b, double *restrict c, long n) {
  double sum = 0;
  for (long i = 0; i < n; i++) sum += a[i];
  return sum;
}
double copy(double *restrict a, double *restrict b, double *restrict c, long n) {
  for (long i = 0; i < n; i++) a[i] = b[i];
  return a[0];
}
double triad(double *restrict a, double *restrict b, double *restrict c, long n) {
  for (long i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
  return a[0];
}
double update(double *restrict a, double *restrict b, double *restrict c, long n) {
  for (long i = 0; i < n; i++) a[i] = 3.0 - a[i];
  return a[0];
}
double write(double *restrict a, double *restrict b, double *restrict c, long n) {
  for (long i = 0; i < n; i++) a[i] = n;
  return a[0];
}
"""
PRODUCTS = (
    (VECTOR_FP32, "float32", ("torch.mm", "linear in oneDNN's layout")),
    (VECTOR_FP64, "float64", ("torch.mm",)),
    (TENSOR_BF16, "bfloat16", ("torch.mm",)),
)

# One turn: what was reached, by name; what the machine disturbed is left out.
Turn = Callable[[], dict[str, float]]


def stream() -> ctypes.CDLL:
    """The rival's loops, compiled."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "stream.c", Path(folder) / "stream.so"
        source.write_text(STREAM)
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, str(source), "-o", str(library)], check=True)
        loaded = ctypes.CDLL(str(library))
    for access in MOVED:
        getattr(loaded, access).argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long]
        getattr(loaded, access).restype = ctypes.c_double
    return loaded


def our_memory(crew: Crew, cpus: tuple[int, ...], size: int) -> Turn:
    """DRAM ceilings from a sweep of working sets of a quarter of `size` up to `size`."""
    made = making.make()
    far = replace(made, smallest=size // len(cpus) // 4)
    caches = host.caches(cpus)
    plan = Plan(
        per_octave=2, largest=size, caches=max(caches.values(), default=32 * MIB),
        sample_s=2e-3, visit=1, rounds=3, least_rounds=3, budget_s=60,
    )  # fmt: skip

    def turn() -> dict[str, float]:
        found = list(bandwidths(crew, far, plan, caches, (), lambda _: None))
        return {
            f"dram {c.variant.access}": c.rate
            for c in found
            if isinstance(c, Ceiling) and c.resource == DRAM
        }

    return turn


def their_memory(crew: Crew, cpus: tuple[int, ...], size: int) -> Turn:
    """The same by plain loops; every thread has its own arrays and touched them first."""
    loops = stream()
    each = size // len(cpus) // 3 // 4096 * 4096
    blocks = [mmap.mmap(-1, 3 * each, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in cpus]
    starts = [ctypes.addressof(ctypes.c_char.from_buffer(block)) for block in blocks]
    crew.each(lambda index: ctypes.memset(starts[index], 0, 3 * each))

    def load(access: str) -> Load:
        function = getattr(loops, access)

        def run(index: int, passes: int) -> None:
            a, b, c = (starts[index] + k * each for k in range(3))
            for _ in range(passes):
                function(a, b, c, each // 8)

        return Load(run, MOVED[access] * each * len(cpus), 2e-3, keeps=blocks)

    loads = {f"dram {access}": load(access) for access in MOVED}
    return lambda: middle(crew, loads)


def our_arithmetic(crew: Crew, leader: Crew, threads: int) -> Turn:
    """Register chains, and the best product of the search."""
    made = making.make()
    effort = Effort(
        largest=max(SIZES), count=SAMPLES, sample_s=5e-3, slowest_s=0.04, search_s=1.0, least_s=0.0
    )

    def turn() -> dict[str, float]:
        registers = {c.resource: c for c in chains(crew, made, SAMPLES, 2e-3, ())}
        found = {"fp32 registers": registers[VECTOR_FP32], "fp64 registers": registers[VECTOR_FP64]}
        chosen = [product(leader, *of, threads, effort, ()) for of in PRODUCTS]
        for (_, dtype, _), best in zip(PRODUCTS, sampled(leader, chosen, SAMPLES), strict=True):
            found[f"{dtype} product"] = best
        return {name: c.rate for name, c in found.items() if isinstance(c, Ceiling)}

    return turn


def their_arithmetic(leader: Crew, threads: int) -> Turn:
    """torch.mm; the register chains are compared with it too."""

    def load(dtype: torch.dtype, n: int) -> Load:
        a, b = torch.randn(n, n).to(dtype), torch.randn(n, n).to(dtype)

        def run(_: int, passes: int) -> None:
            torch.set_num_threads(threads)
            for _ in range(passes):
                torch.mm(a, b)

        return Load(run, 2 * n**3, 5e-3)

    loads = [
        {f"{d} product": load(getattr(torch, d), n) for d in ("float32", "float64", "bfloat16")}
        for n in SIZES
    ]

    def turn() -> dict[str, float]:
        found: dict[str, float] = {}
        for of_size in loads:
            for name, rate in middle(leader, of_size).items():
                found[name] = max(rate, found.get(name, 0.0))
        for registers, dtype in (("fp32 registers", "float32"), ("fp64 registers", "float64")):
            if f"{dtype} product" in found:
                found[registers] = found[f"{dtype} product"]
        return found

    return turn


def middle(crew: Crew, loads: dict[str, Load]) -> dict[str, float]:
    """Median of the clean samples of each load."""
    taken = {name: crew.samples(load, SAMPLES).rates for name, load in loads.items()}
    return {name: median(rates) for name, rates in taken.items() if rates}


def compare(threads: int, rounds: int, size: int) -> Iterator[tuple[str, list[float], list[float]]]:
    """Name, our rates and theirs, of every quantity, over `rounds` rounds."""
    cpus = host.cores()[:threads]
    with Crew([{c} for c in cpus]) as crew, Crew([cpus]) as leader:
        pairs = [
            (our_memory(crew, cpus, size), their_memory(crew, cpus, size)),
            (our_arithmetic(crew, leader, threads), their_arithmetic(leader, threads)),
        ]
        ours: dict[str, list[float]] = {}
        theirs: dict[str, list[float]] = {}
        for _ in range(rounds):
            for our_turn, their_turn in pairs:
                for kept, turn in ((ours, our_turn), (theirs, their_turn)):
                    for name, rate in turn().items():
                        kept.setdefault(name, []).append(rate)
    for name in [*ours, *(n for n in theirs if n not in ours)]:
        yield name, ours.get(name, []), theirs.get(name, [])


def main() -> None:
    """Compare twice and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", type=int, default=512, metavar="MIB", help="working set")
    options = parser.parse_args()
    print(f"{host.cpu().model}, torch {torch.__version__}, {making.make().made_by}")
    print(f"medians of {options.rounds} rounds, DRAM working sets up to {options.size} MiB")
    for comparison in (1, 2):
        print(
            f"\n{'comparison ' + str(comparison):18}{'threads':>8}{'ours':>15}{'theirs':>15}{'ratio':>7}"
        )
        for threads in dict.fromkeys((1, len(host.cores()))):
            for name, ours, theirs in compare(threads, options.rounds, options.size * MIB):
                unit = "B/s" if name.startswith("dram") else "flop/s"
                cells = [show(median(r), unit) if r else "disturbed" for r in (ours, theirs)]
                ratio = median(ours) / median(theirs) if ours and theirs else None
                verdict = "" if ratio is None else f"{ratio:7.2f}"
                missed = "  below the goal" if ratio is not None and ratio < GOAL else ""
                print(f"{name:18}{threads:8}{cells[0]:>15}{cells[1]:>15}{verdict}{missed}")


if __name__ == "__main__":
    main()
