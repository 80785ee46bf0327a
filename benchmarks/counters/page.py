"""The page of a recording of `counters_gpu.py`: sampled bytes beside formulas and a profiler's.

python benchmarks/counters/page.py counters.json counters.roof > docs/counters.md
"""

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from roofline import runfile
from roofline.runfile import Run

READ, WRITE = "dram__bytes_read.sum", "dram__bytes_write.sum"
Bytes = tuple[float, float]  # read, written


@dataclass(frozen=True, slots=True)
class Row:
    """One call of a case, median over the steps; bytes."""

    name: str
    us: float
    sampled: Bytes
    formula: Bytes | None
    flushed: Bytes | None  # by the profiler, with caches flushed; None: it does not see copies
    left_alone: Bytes | None  # the same with caches as the program left them

    @property
    def off(self) -> float:
        """How far the sampled bytes are from the formula's, else from those with caches alone."""
        reference = self.formula or self.left_alone
        if reference is None:
            raise ValueError(f"{self.name}: nothing to hold it against")
        return sum(self.sampled) / sum(reference) - 1


def rows(document: dict[str, Any], run: Run, repeat: int | None = None) -> list[Row]:
    """Every case of the recording, its last call or another of its repeats.

    A step's operators are its cases in order, each so often.
    """
    events = run.rows()
    caused: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        if event["kind"] in ("kernel", "memcpy") and event["parent"] is not None:
            caused[event["parent"]].append(event)
    steps = [
        [at for at, e in enumerate(events) if e["kind"] == "op" and e["step"] == step]
        for step in range(len(run.steps))
    ]
    repeats, seen = document["repeats"], 0
    repeat = repeats - 1 if repeat is None else repeat
    found = []
    for number, case in enumerate(document["cases"]):
        calls = [caused[ops[number * repeats + repeat]] for ops in steps]
        known = [call for call in calls if all(event["counters"] for event in call)]
        kernels = sum(event["kind"] == "kernel" for event in calls[0])
        replays = [document["ncu"][cache][seen : seen + kernels] for cache in ("all", "none")]
        seen += kernels
        found.append(
            Row(
                f"{case['name']}, {case['size']}",
                median(sum(event["duration_ns"] for event in call) for call in known) / 1000,
                (_sampled(known, READ), _sampled(known, WRITE)),
                None if case["read"] is None else (case["read"], case["written"]),
                *(_replayed(each) for each in replays),
            )
        )
    return found


def _sampled(calls: list[list[dict[str, Any]]], name: str) -> float:
    return median(sum(event["counters"][name] for event in call) for call in calls)


def _replayed(kernels: list[dict[str, float]]) -> Bytes | None:
    if not kernels:
        return None
    return sum(k["read"] for k in kernels), sum(k["written"] for k in kernels)


def page(document: dict[str, Any], run: Run) -> str:
    """The page, in Markdown."""
    every = rows(document, run)
    first = max((abs(r.off), r.name) for r in rows(document, run, repeat=0) if r.formula)
    long, short = [r for r in every if r.us >= 100], [r for r in every if 20 <= r.us < 100]
    times = {state: [1000 * s for s in values] for state, values in document["step_s"].items()}
    without, sampled = median(times["without"]), median(times["with"])
    lines = [
        "# Counters without replay: how far they can be trusted",
        "",
        "<!-- Written by benchmarks/counters/page.py from a recording of counters_gpu.py. -->",
        "",
        "`roofline run --counters` samples the bytes that cross an NVIDIA GPU's memory while the",
        "program runs at its own speed, with the caches that it has, and gives each kernel its own",
        "([how](guide/counters.md)). Here the same kernels are held against formulas, counted by hand",
        "from their sizes, and against Nsight Compute.",
        "",
        f"One {document['device']}, torch {document['torch']}, Nsight Compute "
        f"{document['ncu_version']}, clocks left alone. Each case is called {document['repeats']}",
        f"times a step, one after the other; the row is the last of them, median of {len(run.steps)} "
        "steps. Bytes in MB, read and written.",
        "",
        "| kernel | time | sampled, warm | formula | off by | `ncu`, flushed | `ncu`, not flushed |",
        "|---|--:|--:|--:|--:|--:|--:|",
        *(
            f"| {r.name} | {r.us:.1f} us | {_mb(r.sampled)} | {_mb(r.formula)} | {r.off:+.2%} "
            f"| {_mb(r.flushed)} | {_mb(r.left_alone)} |"
            for r in every
        ),
        "",
        f"- The {len(long)} kernels of 100 us and more are off by at most "
        f"{max(abs(r.off) for r in long):.2%}, the {len(short)} of 20 us and more by at most",
        f"  {max(abs(r.off) for r in short):.2%}. Without a formula (random elements, the tiles of a "
        "matrix product) they are held",
        "  against `ncu` with caches not flushed. Those are reads and writes together; apart, reads are off by at",
        f"  most {_apart(every, 0):.2%} of their formula, and writes, which wait in the L2, by {_apart(every, 1):.2%}.",
        "- A flushed cache is empty and clean: what a kernel leaves in the L2 unwritten is missing from",
        f"  its bytes, {_share(every)} of them here at most. In the running program as much of another's",
        "  leavings is written out meanwhile. Copies by the copy engine are no kernels, and `ncu` does",
        "  not see them.",
        "- For the same reason a call's own bytes depend on what ran before it. The first of the calls in",
        f"  a row, right after another case, is off by up to {first[0]:.0%} ({first[1]}); steps are whole.",
        f"- The step itself: {without:.3f} ms without sampling, {sampled:.3f} ms with it, measured in",
        f"  turns ({_range(times['without'])} and {_range(times['with'])} of {len(times['with'])} "
        f"each): {sampled / without - 1:+.2%}.",
    ]
    return "\n".join(lines) + "\n"


def _mb(moved: Bytes | None) -> str:
    return "-" if moved is None else " + ".join(f"{part / 1e6:.1f}" for part in moved)


def _apart(every: list[Row], side: int) -> float:
    """How far the sampled reads (0) or writes (1) are from their formula, at most."""
    held = [(r.sampled[side], r.formula[side]) for r in every if r.formula and r.formula[side]]
    return max(abs(sampled / formula - 1) for sampled, formula in held)


def _share(every: list[Row]) -> str:
    """The largest part of a formula's bytes that a flushed replay misses."""
    missing = [1 - sum(r.flushed) / sum(r.formula) for r in every if r.flushed and r.formula]
    return f"{max(missing):.0%}"


def _range(values: list[float]) -> str:
    return f"{min(values):.3f} to {max(values):.3f}"


if __name__ == "__main__":
    given, recording = (Path(argument) for argument in sys.argv[1:3])
    sys.stdout.write(page(json.loads(given.read_text()), runfile.load(recording)))
