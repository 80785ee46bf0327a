"""Kernels with one planted sickness each, and their cured twins, on an NVIDIA GPU.

    python benchmarks/sick_kernels/sick.py time  OUT.json [NAME...]   median times, cuda events
    python benchmarks/sick_kernels/sick.py trace OUT.json [NAME...]   a torch profiler trace
    ncu --profile-from-start off ... python benchmarks/sick_kernels/sick.py ncu [NAME...]

Both states of each, of all or of those named.  The last profiles each once: 16 of the tiny
launches, which are 512 without a profiler.  Needs torch and nvcc; knows nothing of roofline.  The
findings are looked for by tests/diagnosis/test_sick_kernels.py in what was recorded.
"""

import ctypes
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch

HERE = Path(__file__).parent
N = 1 << 28  # fp32 elements: 1 GiB an array, far beyond any cache
SMALL = 1 << 21  # 8 MiB: stays in the L2
TINY, MANY, PROFILED = 1 << 12, 512, 16  # elements of a tiny launch, and how many launches
REPEATED = 4  # copies, as a benchmark repeats them


def library() -> ctypes.CDLL:
    """The CUDA kernels, built for this card, once for each state of their source."""
    source = HERE / "kernels.cu"
    mark = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    built = Path(tempfile.gettempdir()) / f"libsick-{mark}.so"
    if not built.exists():
        command = ["nvcc", "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC"]
        subprocess.run([*command, str(source), "-o", str(built)], check=True)
    return ctypes.CDLL(str(built))


def pairs(launches: int) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Sickness -> (sick, cured); `launches` are those of the tiny ones."""
    lib = library()
    x = torch.randn(N, device="cuda")
    y = torch.empty_like(x)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    a = torch.randn(4096, 4096, device="cuda")
    b = torch.randn(4096, 4096, device="cuda")
    row = torch.randn(1, 8192, device="cuda", dtype=torch.bfloat16)
    rows = torch.randn(64, 8192, device="cuda", dtype=torch.bfloat16)
    weight = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    small, copied = torch.randn(SMALL, device="cuda"), torch.empty(SMALL, device="cuda")
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def both(name: str, *arguments: object) -> tuple[Callable[[], object], Callable[[], object]]:
        function = getattr(lib, name)
        return tuple(  # type: ignore[return-value]
            (
                lambda cured=cured: function(
                    *(cured if v == "cured" else v for v in arguments), stream
                )
            )
            for cured in (0, 1)
        )

    def pointer(tensor: torch.Tensor) -> ctypes.c_void_p:
        return ctypes.c_void_p(tensor.data_ptr())

    def long(value: int) -> ctypes.c_long:
        return ctypes.c_long(value)

    def product(precision: str) -> Callable[[], object]:
        def run() -> object:
            torch.set_float32_matmul_precision(precision)
            return torch.mm(a, b)

        return run

    def repeated(to: torch.Tensor, source: torch.Tensor) -> Callable[[], object]:
        # Times one, so that a kernel copies and not the driver, whose copies ncu does not see.
        return lambda: [torch.mul(source, 1.0, out=to) for _ in range(REPEATED)]

    px, py = pointer(x), pointer(y)
    return {
        "uncoalesced": both("strided_copy", px, py, long(N), "cured"),
        "one_warp": both("one_warp", px, py, long(N // 4), "cured", sms),
        "tail": both("tail", py, "cured", sms),
        "spill": both("spill", px, py, long(N // 16), "cured"),
        "bank_conflicts": both("bank", px, py, long(N // 8), "cured"),
        "fp32_gemm": (product("highest"), product("high")),
        "m1_gemm": (lambda: torch.mm(row, weight), lambda: torch.mm(rows, weight)),
        "exp_heavy": both("exps", px, py, long(N // 4), "cured"),
        "camping": both("camp", px, py, "cured", sms),
        "conversions": both("convert", px, py, long(N // 4), "cured"),
        "tiny_launches": (
            lambda: lib.tiny(py, long(launches * TINY), launches, stream),
            lambda: lib.tiny(py, long(launches * TINY), 1, stream),
        ),
        "cached_copy": (repeated(copied, small), repeated(y, x)),
    }


def median_us(run: Callable[[], object], samples: int = 20) -> float:
    """Median of `samples` by device events, after warming up."""
    for _ in range(3):
        run()
    times = []
    for _ in range(samples):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1000)
    return statistics.median(times)


def main() -> None:
    """One of the three recordings."""
    what, *words = sys.argv[1:]
    path = None if what == "ncu" else words.pop(0)
    made = pairs(PROFILED if what == "ncu" else MANY)
    made = {name: both for name, both in made.items() if not words or name in words}
    if path is not None and what == "time":
        times = {
            name: {"sick_us": median_us(sick), "cured_us": median_us(cured)}
            for name, (sick, cured) in made.items()
        }
        device = torch.cuda.get_device_name()
        Path(path).write_text(
            json.dumps({"device": device, "torch": torch.__version__, "times": times}, indent=1)
        )
        return
    runs = [
        (f"{name}:{state}", run)
        for name, both in made.items()
        for state, run in zip(("sick", "cured"), both, strict=True)
    ]
    for _, run in runs:
        run()
    torch.cuda.synchronize()
    profiled(runs) if path is None else traced(runs, path)


def traced(runs: list[tuple[str, Callable[[], object]]], path: str) -> None:
    """A trace of each, under its name."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, record_shapes=True) as profiler:
        for name, run in runs:
            with torch.profiler.record_function(name):
                run()
            torch.cuda.synchronize()
    profiler.export_chrome_trace(path)


def profiled(runs: list[tuple[str, Callable[[], object]]]) -> None:
    """Each once under a profiler that waits for the call."""
    for name, run in runs:
        torch.cuda.nvtx.range_push(name)
        torch.cuda.profiler.start()
        run()
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
        torch.cuda.nvtx.range_pop()


main()
