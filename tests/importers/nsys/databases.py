"""Nsight Systems databases written by hand, in the form of ``nsys export --type sqlite``."""

import sqlite3
from pathlib import Path

from roofline.importers import Options, load
from roofline.runfile import Run

TABLES = {
    "StringIds": "id INTEGER PRIMARY KEY, value TEXT",
    "META_DATA_EXPORT": "name TEXT, value TEXT",
    "TARGET_INFO_GPU": "id INTEGER, name TEXT, busLocation TEXT",
    "TARGET_INFO_SYSTEM_ENV": "name TEXT, nameEnum INTEGER, value TEXT",
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        'start INTEGER, "end" INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, '
        "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, "
        "registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, "
        "blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER"
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        'start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, '
        "globalPid INTEGER, bytes INTEGER, copyKind INTEGER"
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": (
        'start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, '
        "globalPid INTEGER, bytes INTEGER"
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        'start INTEGER, "end" INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER'
    ),
    "NVTX_EVENTS": (
        'start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT, textId INTEGER, '
        "globalTid INTEGER"
    ),
}
NAMES = {
    1: "void gemm<float>(T1 *)",
    2: "add",
    10: "cudaLaunchKernel_v7000",
    11: "cudaMemcpyAsync_v3020",
}


def pid(process: int) -> int:
    """A globalPid."""
    return process << 24


def tid(process: int, thread: int = 1) -> int:
    """A globalTid."""
    return pid(process) | thread


def kernel(start, end, correlation, name=1, process=5, device=0, stream=7) -> dict:
    """A row of the kernel table."""
    return {
        "start": start, "end": end, "deviceId": device, "contextId": 1, "streamId": stream,
        "correlationId": correlation, "globalPid": pid(process), "demangledName": name,
        "shortName": name, "registersPerThread": 32, "gridX": 10, "gridY": 2, "gridZ": 1,
        "blockX": 128, "blockY": 1, "blockZ": 1, "staticSharedMemory": 0, "dynamicSharedMemory": 1024,
    }  # fmt: skip


def launch(start, end, correlation, process=5, thread=1, name=10) -> dict:
    """A row of the runtime table."""
    return {
        "start": start, "end": end, "globalTid": tid(process, thread), "correlationId": correlation,
        "nameId": name,
    }  # fmt: skip


def pushed(start, end, text, process=5, thread=1, kind=59) -> dict:
    """A row of the NVTX table."""
    return {
        "start": start,
        "end": end,
        "eventType": kind,
        "text": text,
        "globalTid": tid(process, thread),
    }


def write(path: Path, tables=None, without=(), renamed=None, **rows) -> Path:
    """A database; rows by a short name of the table: kernels, runtime, memcpy, memset, nvtx; or all."""
    renamed = renamed or {}
    connection = sqlite3.connect(path)
    for name, columns in (tables or TABLES).items():
        if name not in without:
            connection.execute(f'CREATE TABLE "{renamed.get(name, name)}" ({columns})')
    fixed = {
        "StringIds": [{"id": k, "value": v} for k, v in NAMES.items()],
        "TARGET_INFO_GPU": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],
        "META_DATA_EXPORT": [{"name": "EXPORT_SCHEMA_VERSION", "value": "3.24.14"}],
        "TARGET_INFO_SYSTEM_ENV": [{"name": "Environment", "value": "SECRET_TOKEN=hunter2"}],
    }
    short = {"kernels": "KERNEL", "runtime": "RUNTIME", "memcpy": "MEMCPY", "memset": "MEMSET"}
    held = {
        f"CUPTI_ACTIVITY_KIND_{short[k]}" if k in short else "NVTX_EVENTS" if k == "nvtx" else k: v
        for k, v in rows.items()
    }
    for name, each in (fixed | held).items():
        if name in without:
            continue
        for row in each:
            columns = ", ".join(f'"{c}"' for c in row)
            marks = ", ".join("?" * len(row))
            connection.execute(
                f'INSERT INTO "{renamed.get(name, name)}" ({columns}) VALUES ({marks})',
                list(row.values()),
            )
    connection.commit()
    connection.close()
    return path


def run(folder: Path, **made) -> Run:
    """Write and import."""
    return load([write(folder / "export", **made)], Options())


def kernels(imported: Run) -> list[dict]:
    """Rows of kernels and copies."""
    return [row for row in imported.rows() if row["kind"] != "launch"]
