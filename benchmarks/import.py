"""Importing a profiler trace: to the finished placement document, beside `json.load` of the file.

    python benchmarks/import.py [--once] [EVENTS ...]

Writes its own traces (1,000,000 and 8,000,000 events when nothing is said; about 290 bytes an
event): training steps of a transformer with nested operators, launches, kernels and flow arrows.
Every reader runs in a fresh process, in turn, round after round; CPU time and peak memory are the
process's own.  Memory is what nobody but the process can give up (RssAnon of /proc, looked at every
10 ms); `resident` has with it the pages of its temporary files, which the system drops when it needs
them.  `import` parses, joins, accounts, places and diagnoses; `json` only loads the text.  Look at
the ratios: the machine may be busy.  35,000,000 events are 11 GB, once: `--once 35000000`.
"""

import gzip
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

ROUNDS = 3
EVENTS = (1_000_000, 8_000_000)
LAYERS = 48
JSON_UP_TO = 2_000_000  # events: json.load of more takes many gigabytes
GOALS = "goals for 1,000,000 events: 5 s of CPU, 0.6 GB, gzip 1.15 times as long"
READERS = {
    "json.load": "import json, sys; json.load(open(sys.argv[1]))",
    "import": "import sys; import roofline; roofline.load(sys.argv[1]).document()",
}
HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}],
  "record_shapes": 1,
  "displayTimeUnit": "ms",
  "traceEvents": [
"""
TAIL = """
  ],
  "traceName": "benchmark.json"
}
"""


class Clock:
    """Time on the host and on the device, and the next number."""

    def __init__(self) -> None:
        self.host = 5094218856710.5  # us, as a recent trace has it
        self.device = self.host
        self.number = 0


def op(clock: Clock, name: str, us: float, dims: str, kinds: str, strides: str, values: str) -> str:
    """One operator; the clock moves to where an inner one begins."""
    clock.number += 1
    clock.host += 0.5
    return f"""  {{
    "ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 609, "tid": 609,
    "ts": {clock.host:.3f}, "dur": {us:.3f},
    "args": {{
      "External id": {clock.number},"Record function id": 0, "Concrete Inputs": {values}, "Input type": {kinds}, "Input Strides": {strides}, "Input Dims": {dims}, "Ev Idx": {clock.number}
    }}
  }}"""


def kernel(clock: Clock, name: str, us: float, grid: int) -> Iterator[str]:
    """A launch, a kernel, and the arrow between them."""
    clock.number += 1
    clock.host += 1.0
    clock.device = max(clock.device + 1.5, clock.host + 6.0)
    at, began, number = f"{clock.host:.3f}", f"{clock.device:.3f}", clock.number
    yield f"""  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 609, "tid": 609,
    "ts": {at}, "dur": 4.217,
    "args": {{
      "External id": {number}, "cbid": 211, "correlation": {number}
    }}
  }}"""
    yield f"""  {{
    "ph": "s", "id": {number}, "pid": 609, "tid": 609, "ts": {at},
    "cat": "ac2g", "name": "ac2g"
  }}"""
    yield f"""  {{
    "ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7,
    "ts": {began}, "dur": {us:.3f},
    "args": {{
      "External id": {number}, "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": {number},
      "registers per thread": 32, "shared memory": 16,
      "blocks per SM": 7.757576, "warps per SM": 124.121216,
      "grid": [{grid}, 1, 1], "block": [256, 1, 1], "est. achieved occupancy %": 100
    }}
  }}"""
    yield f"""  {{
    "ph": "f", "id": {number}, "pid": 0, "tid": 7, "ts": {began},
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }}"""
    clock.device += us
    clock.host += 5.0


def layer(clock: Clock, at: int) -> Iterator[str]:
    """A linear layer and an addition, of a width of its own: nine operators, two kernels."""
    rows, width = 8192, 512 + 16 * at
    x, w = f"[{rows}, {width}]", f"[{width}, {width}]"
    half, steps = '"c10::BFloat16"', f"[{width}, 1]"
    one = (f"[{x}]", f"[{half}]", f"[{steps}]", '[""]')
    yield op(clock, "aten::linear", 40, f"[{x}, {w}, [{width}]]", f"[{half}, {half}, {half}]",
             f"[{steps}, {steps}, [1]]", '["", "", ""]')  # fmt: skip
    yield op(clock, "aten::t", 4, f"[{w}]", f"[{half}]", f"[{steps}]", '[""]')
    yield op(clock, "aten::transpose", 2, f"[{w}, [], []]", f'[{half}, "Scalar", "Scalar"]',
             f"[{steps}, [], []]", '["", "0", "1"]')  # fmt: skip
    clock.host += 4
    yield op(clock, "aten::addmm", 25, f"[[{width}], {x}, {w}, [], []]",
             f'[{half}, {half}, {half}, "Scalar", "Scalar"]',
             f"[[1], {steps}, [1, {width}], [], []]", '["", "", "", "1", "1"]')  # fmt: skip
    yield from kernel(
        clock, f"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TN{'TN'[at % 2]}", 40.125, 132
    )
    clock.host += 30
    yield op(clock, "aten::view", 1, *one)
    clock.host += 2
    yield op(clock, "aten::add", 15, f"[{x}, {x}, []]", f'[{half}, {half}, "Scalar"]',
             f"[{steps}, {steps}, []]", '["", "", "1"]')  # fmt: skip
    name = (
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
        "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"
    )
    yield from kernel(clock, name, 12.5, 8192)
    clock.host += 20


def events(clock: Clock) -> Iterator[str]:
    """Step after step, without end."""
    while True:
        clock.number += 1
        begun, number = clock.host, clock.number
        yield f"""  {{
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{number}", "pid": 609, "tid": 609,
    "ts": {begun:.3f}, "dur": {LAYERS * 150 * 20:.3f},
    "args": {{
      "External id": {number}, "Record function id": 0, "Ev Idx": {number}
    }}
  }}"""
        for _ in range(20):
            for at in range(LAYERS):
                yield from layer(clock, at)
        clock.host = max(clock.host, begun + LAYERS * 150 * 20)


def write(path: Path, count: int) -> None:
    """A trace of `count` events."""
    made = islice(events(Clock()), count)
    with path.open("w") as file:
        file.write(HEAD + next(made))
        while batch := list(islice(made, 10_000)):
            file.write(",\n" + ",\n".join(batch))
        file.write(TAIL)


def anonymous(process: int) -> int:
    """Bytes of a running process that are in no file; 0 once it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


def measure(code: str, path: Path) -> tuple[float, float, float]:
    """CPU seconds, peak gigabytes of memory and peak gigabytes resident of a fresh interpreter."""
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.DEVNULL)
    most = 0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        most = max(most, anonymous(process.pid))
        time.sleep(0.01)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{code!r} failed on {path.name}")
    return usage.ru_utime + usage.ru_stime, most / 1e9, usage.ru_maxrss / 1e6


def compare(folder: Path, count: int, rounds: int) -> None:
    """Print one table for one size."""
    plain = folder / f"{count}.json"
    write(plain, count)
    packed = plain.with_suffix(".json.gz")
    with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    runs = {"import": (READERS["import"], plain), "import, gzipped": (READERS["import"], packed)}
    if count <= JSON_UP_TO:
        runs = {"json.load": (READERS["json.load"], plain), **runs}
    taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, (code, path) in runs.items():
            taken[name].append(measure(code, path))
    size = plain.stat().st_size
    print(f"{count:,} events, {size / 1e6:,.0f} MB ({packed.stat().st_size / 1e6:,.0f} MB gzipped)")
    base = statistics.median(cpu for cpu, _, _ in taken.get("json.load", taken["import"]))
    for name, samples in taken.items():
        cpu = statistics.median(cpu for cpu, _, _ in samples)
        memory, resident = (max(sample[at] for sample in samples) for at in (1, 2))
        print(
            f"  {name:<16}{cpu:7.2f} s CPU {cpu / base:6.2f} x  {memory:6.2f} GB "
            f"({resident:.2f} resident)  {size / cpu / 1e6:6.0f} MB/s"
        )
    plain.unlink()
    packed.unlink()


def main() -> None:
    """Every size that was asked for."""
    print(GOALS)
    rounds = 1 if "--once" in sys.argv else ROUNDS
    counts = [int(text) for text in sys.argv[1:] if text != "--once"] or EVENTS
    with tempfile.TemporaryDirectory() as folder:
        for count in counts:
            compare(Path(folder), count, rounds)


if __name__ == "__main__":
    main()
