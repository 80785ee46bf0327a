"""Ten kernels with one planted sickness each, and their cured twins, on an NVIDIA GPU.

    python benchmarks/sick_kernels/sick.py time  OUT.json     median times of both, cuda events
    python benchmarks/sick_kernels/sick.py trace OUT.json     a torch profiler trace of the sick ones
    ncu --profile-from-start off ... python benchmarks/sick_kernels/sick.py ncu    one launch of each

Needs torch and nvcc; knows nothing of roofline.  The findings are looked for by
tests/diagnosis/test_sick_kernels.py in what was recorded.
"""

import ctypes
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


def library() -> ctypes.CDLL:
    """The CUDA kernels, built for this card."""
    built = Path(tempfile.mkdtemp()) / "libsick.so"
    command = ["nvcc", "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC"]
    subprocess.run([*command, str(HERE / "kernels.cu"), "-o", str(built)], check=True)
    return ctypes.CDLL(str(built))


def pairs() -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Sickness -> (sick, cured)."""
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
        "tiny_launches": both("tiny", py, long(SMALL), "cured"),
        "cached_copy": (lambda: copied.copy_(small), lambda: y.copy_(x)),
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
    what, *out = sys.argv[1:]
    made = pairs()
    if what == "time":
        times = {
            name: {"sick_us": median_us(sick), "cured_us": median_us(cured)}
            for name, (sick, cured) in made.items()
        }
        device = torch.cuda.get_device_name()
        Path(out[0]).write_text(
            json.dumps({"device": device, "torch": torch.__version__, "times": times}, indent=1)
        )
    elif what == "trace":
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        for sick, _ in made.values():
            sick()
        torch.cuda.synchronize()
        with torch.profiler.profile(activities=activities, record_shapes=True) as profiler:
            for name, (sick, _) in made.items():
                with torch.profiler.record_function(f"sick:{name}"):
                    sick()
                torch.cuda.synchronize()
        profiler.export_chrome_trace(out[0])
    elif what == "ncu":
        for sick, cured in made.values():
            sick(), cured()
        torch.cuda.synchronize()
        for name, (sick, cured) in made.items():
            for state, run in (("sick", sick), ("cured", cured)):
                if name == "tiny_launches" and state == "sick":
                    continue  # 512 launches of the twin's kernel: the trace shows them
                torch.cuda.nvtx.range_push(f"{name}:{state}")
                torch.cuda.profiler.start()
                run()
                torch.cuda.synchronize()
                torch.cuda.profiler.stop()
                torch.cuda.nvtx.range_pop()


main()
