"""Importing a Nsight Systems database of 4 M kernels and 4 M launches, beside reading its rows.

    python benchmarks/import_nsys.py [KERNELS]

`run` is the importer, from the file to the run: read, joined, the events table in memory.  `document`
goes on to the finished placement document, with every kernel placed and diagnosed.  `rows` is the
standard library's sqlite3 fetching the same columns as Python tuples and joining nothing.  Each
reader runs in a process of its own, its imports counted, so that peak memory is its own too.
"""

import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

KERNEL = (
    'start INTEGER, "end" INTEGER, deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, '
    "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, "
    "shortName INTEGER, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, "
    "registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, "
    "blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, "
    "localMemoryPerThread INTEGER, localMemoryTotal INTEGER, gridId INTEGER, "
    "sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER"
)
RUNTIME = (
    'start INTEGER, "end" INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, '
    "nameId INTEGER, returnValue INTEGER, callchainId INTEGER"
)
PROCESS = 1234 << 24
NAMES = 500
ROWS = (
    'SELECT start, "end", streamId, correlationId, globalPid, demangledName, gridX, blockX, '
    "registersPerThread FROM CUPTI_ACTIVITY_KIND_KERNEL",
    'SELECT start, "end", globalTid, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME',
)


def write(path: Path, count: int) -> None:
    """A database of one process that launches `count` kernels of 500 names."""
    connection = sqlite3.connect(path)
    connection.executescript(
        "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF;"
        "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
        "CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT);"
        f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL({KERNEL});"
        f"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME({RUNTIME});"
    )
    strings = [(at, f"void kernel_{at}<float>(T1 *)") for at in range(NAMES)]
    connection.executemany(
        "INSERT INTO StringIds VALUES (?, ?)", [*strings, (NAMES, "cudaLaunchKernel")]
    )
    connection.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200')")
    for table, rows in (("KERNEL", _kernels(count)), ("RUNTIME", _launches(count))):
        marks = ", ".join("?" * (28 if table == "KERNEL" else 8))
        connection.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_{table} VALUES ({marks})", rows)
    connection.commit()
    connection.close()


def _kernels(count: int) -> Iterator[tuple[int | None, ...]]:
    for at in range(count):
        start, name = at * 10_000, at % NAMES
        yield (start, start + 5000 + at % 100, 0, 1, None, 7, at, PROCESS, name, name, None, 1, 1,
               32, 128 + at % 3, 1, 1, 256, 1, 1, 0, 1024, 0, 0, at, 65536, None, 0)  # fmt: skip


def _launches(count: int) -> Iterator[tuple[int | None, ...]]:
    for at in range(count):
        start = at * 10_000 - 4000
        yield start, start + 3000, 0, PROCESS | 1234, at, NAMES, 0, None


def run_reads(path: Path) -> int:
    """The importer, to a run with its events table."""
    from roofline.importers import load

    return len(load([path]).events)


def document_reads(path: Path) -> int:
    """The importer and all that comes after it."""
    import roofline

    return len(roofline.load(path).document())


def rows_reads(path: Path) -> int:
    """The same columns as tuples."""
    connection = sqlite3.connect(path)
    return sum(len(connection.execute(query).fetchall()) for query in ROWS)


READERS = {"run": run_reads, "document": document_reads, "rows": rows_reads}


def main(count: int) -> None:
    """Write the database, let each reader read it twice, print the better and the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export"
        write(path, count)
        print(f"{count} kernels, {count} launches, {path.stat().st_size / 1e6:.0f} MB")
        best = {}
        for reader in READERS:
            runs = [
                json.loads(
                    subprocess.run(
                        [sys.executable, __file__, "--one", reader, str(path)],
                        check=True,
                        capture_output=True,
                    ).stdout
                )
                for _ in range(2)
            ]
            best[reader] = min(runs, key=lambda run: run["cpu_s"])
        for reader, took in best.items():
            ratio = took["cpu_s"] / best["rows"]["cpu_s"]
            print(
                f"{reader:9}{took['wall_s']:7.2f} s wall{took['cpu_s']:7.2f} s CPU"
                f"{took['peak_bytes'] / 1e9:6.2f} GB, {ratio:.2f} of rows"
            )


def one(reader: str, path: Path) -> None:
    """Read once and print what it took."""
    before, cpu = time.perf_counter(), time.process_time()
    READERS[reader](path)
    wall, spent = time.perf_counter() - before, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"wall_s": wall, "cpu_s": spent, "peak_bytes": peak}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], Path(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 4_000_000)
