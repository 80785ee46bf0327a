"""Sampled counters of an NVIDIA GPU against formulas and against Nsight Compute, on one machine.

    python benchmarks/counters/counters_gpu.py OUT
    python benchmarks/counters/page.py OUT/counters.json OUT/counters.roof > docs/counters.md

Records the cases with ``counters=True``; runs each again under ``ncu``, with caches flushed and with
caches left alone; and takes the time of the same step with and without sampling, in turns.  OUT gets
the run file and a JSON document with the rest.
"""

import json
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import torch
from cases import REPEATS, Case, cases

import roofline as rl
from roofline.capture.sampling.sampler import Sampler

STEPS = 5
ROUNDS = 4
PROFILED = "--profiled"
METRICS = "dram__bytes_read.sum,dram__bytes_write.sum,gpu__time_duration.sum"


def step(every: list[Case]) -> None:
    """All cases, each so often, one after the other."""
    for case in every:
        for repeat in range(REPEATS):
            case.call(repeat)


def record(every: list[Case], out: Path) -> None:
    """The run file."""
    began = perf_counter()
    with rl.profile(warmup=1, counters=True) as run:
        for _ in range(1 + STEPS):
            step(every)
            torch.cuda.synchronize()
            run.step()
    run.save(out / "counters.roof")
    print(f"recorded in {perf_counter() - began:.1f} s: {run.run.recorder.counters}", flush=True)
    for gap in run.run.gaps:
        print("gap:", gap.name, gap.what, flush=True)


def ncu_version() -> str:
    """Of the profiler on the PATH."""
    done = subprocess.run(["ncu", "--version"], capture_output=True, text=True, check=False)
    return next((word for word in done.stdout.split() if word.count(".") > 1), "of no version")


def profiled(every: list[Case]) -> None:
    """What runs under the profiler: it looks at the last call of each case."""
    for case in every:
        for repeat in range(REPEATS - 1):
            case.call(repeat)
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStart()
        case.call(REPEATS - 1)
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()


def replayed(cache: str) -> list[dict[str, object]]:
    """Every kernel that the profiler saw, in order, with caches flushed (all) or not (none)."""
    command = [
        "ncu", "--profile-from-start", "off", "--metrics", METRICS, "--clock-control", "none",
        "--cache-control", cache, "--csv", "--page", "raw", sys.executable, __file__, PROFILED,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print("ncu failed:", done.stdout[-2000:], done.stderr[-2000:], flush=True)
        return []
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "ncu.csv"
        page.write_text(done.stdout)
        run = rl.load(page).run
    names = [signature.name for signature in run.signatures]
    return [
        {
            "kernel": names[row["signature"]],
            "ns": row["duration_ns"],
            "read": row["counters"].get("dram__bytes_read.sum"),
            "written": row["counters"].get("dram__bytes_write.sum"),
        }
        for row in run.rows()
        if row["kind"] == "kernel"
    ]


def timed(every: list[Case], steps: int = 5) -> float:
    """Seconds of a step."""
    torch.cuda.synchronize()
    began = perf_counter()
    for _ in range(steps):
        step(every)
    torch.cuda.synchronize()
    return (perf_counter() - began) / steps


def in_turns(every: list[Case]) -> dict[str, list[float]]:
    """Seconds of a step without and with sampling, each pair measured one after the other."""
    times: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(ROUNDS):
        timed(every, 1)
        times["without"].append(timed(every))
        sampler = Sampler()
        sampler.start()
        times["with"].append(timed(every))
        sampler.stop()
        if sampler.failure:
            print("sampler:", sampler.failure, flush=True)
    return times


def main() -> None:
    """Everything, or what the profiler is to look at."""
    torch.manual_seed(0)
    every = cases()
    step(every)
    torch.cuda.synchronize()
    if sys.argv[1] == PROFILED:
        profiled(every)
        return
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    record(every, out)
    document: dict[str, object] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "ncu_version": ncu_version(),
        "repeats": REPEATS,
        "cases": [
            {"name": c.name, "size": c.size, "read": c.read, "written": c.written} for c in every
        ],
        "step_s": in_turns(every),
    }
    for state, values in document["step_s"].items():  # type: ignore[attr-defined]
        print(state, f"{statistics.median(values) * 1e3:.3f} ms", values, flush=True)
    del every
    torch.cuda.empty_cache()
    document["ncu"] = {cache: replayed(cache) for cache in ("all", "none")}
    (out / "counters.json").write_text(json.dumps(document, indent=1))
    print("ncu kernels:", {k: len(v) for k, v in document["ncu"].items()}, flush=True)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
