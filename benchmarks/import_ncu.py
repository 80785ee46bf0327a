"""Importing a raw page of Nsight Compute: 10,000 launches x 1,764 columns, beside two csv readers.

Run with ``python benchmarks/import_ncu.py [LAUNCHES]``.  Each reader runs in a process of its own,
so that peak memory is its own too.  `csv` splits every cell with the standard library and keeps
none; `arrow` reads the needed columns with pyarrow.csv and converts nothing.
"""

import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from roofline.counters import needed
from roofline.importers.ncu.pages import IDENTITY

COLUMNS = 1764
KERNELS = 200
METRICS = (
    ("gpu__time_duration.sum", "us"), ("dram__bytes_read.sum", "Mbyte"),
    ("dram__bytes_write.sum", "Mbyte"), ("lts__t_sectors.sum", "sector"),
    ("smsp__cycles_elapsed.avg", "cycle"), ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    ("sm__ops_path_tensor_src_bf16_dst_fp32.sum", ""),
    *((f"smsp__sass_thread_inst_executed_op_{t}{op}_pred_on.sum.per_cycle_elapsed", "inst/cycle")
      for t in "dfh" for op in ("add", "mul", "fma")),
    *((f"smsp__average_warps_issue_stalled_reason{n}_per_issue_active.ratio", "") for n in range(100)),
    *((f"sm__ops_path_tensor_src_{t}.sum{roll}", "") for t in ("fp16", "fp64", "int8", "tf32_dst_fp32")
      for roll in ("", ".per_cycle_elapsed", ".per_second")),
    ("launch__waves_per_multiprocessor", ""), ("launch__registers_per_thread", "register/thread"),
)  # fmt: skip


def write(path: Path, launches: int) -> None:
    """A raw page like the profiler's: every cell quoted, numbers grouped by commas."""
    head = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
            "Block Size", "Grid Size", "Device", "CC"]  # fmt: skip
    filler = COLUMNS - len(head) - len(METRICS)
    names = [
        *head,
        *(n for n, _ in METRICS),
        *(f"unit__other_metric_{i}.sum" for i in range(filler)),
    ]
    units = [*[""] * len(head), *(u for _, u in METRICS), *["inst"] * filler]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(names)
        writer.writerow(units)
        for at in range(launches):
            kernel = f"void kernel_{at % KERNELS}<float, 4>(T1 *, const T2 *, int)"
            identity = [
                at,
                7,
                "python",
                "host",
                kernel,
                1,
                7,
                "(256, 1, 1)",
                "(4096, 1, 1)",
                0,
                "9.0",
            ]
            values = [f"{(at * 37 + i * 11) % 99999 / 7:,.6f}" for i in range(len(METRICS))]
            writer.writerow([*identity, *values, *(f"{at + i:,}" for i in range(filler))])


def roofline_reads(path: Path) -> int:
    """The importer, to a run with its events table."""
    from roofline.importers import load

    return len(load([path]).events)


def csv_reads(path: Path) -> int:
    """Every cell split, nothing kept."""
    with path.open(newline="") as file:
        return sum(1 for _ in csv.reader(file)) - 2


def arrow_reads(path: Path) -> int:
    """The needed columns as text, nothing converted."""
    import pyarrow.csv as arrow

    with path.open(newline="") as file:
        head = next(csv.reader(file))
    wanted = [name for name in head if name in IDENTITY or needed(name)]
    types = arrow.ConvertOptions(
        include_columns=wanted, column_types=dict.fromkeys(wanted, "string")
    )
    return int(arrow.read_csv(path, convert_options=types).num_rows) - 1


READERS = {"roofline": roofline_reads, "csv": csv_reads, "arrow": arrow_reads}


def measured(reader: str, path: Path) -> dict[str, float]:
    """Wall and CPU seconds and peak memory of one reader in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", reader, str(path)], check=True, capture_output=True
    )
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def one(reader: str, path: Path) -> None:
    """Read once and print what it took."""
    before, cpu = time.perf_counter(), time.process_time()
    launches = READERS[reader](path)
    wall, spent = time.perf_counter() - before, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"launches": launches, "wall_s": wall, "cpu_s": spent, "peak_bytes": peak}))


def main(launches: int) -> None:
    """Write the page, let every reader read it three times, print the best and the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "raw"
        write(path, launches)
        print(f"{launches} launches x {COLUMNS} columns, {path.stat().st_size / 1e6:.0f} MB")
        best = {
            reader: min((measured(reader, path) for _ in range(3)), key=lambda m: m["cpu_s"])
            for reader in READERS
        }
        for reader, took in best.items():
            print(
                f"{reader:9} {took['wall_s']:6.2f} s wall {took['cpu_s']:6.2f} s CPU "
                f"{took['peak_bytes'] / 1e6:6.0f} MB, {took['cpu_s'] / best['csv']['cpu_s']:.2f} of csv"
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], Path(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
