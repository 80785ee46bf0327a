"""Which tables and columns a Nsight Systems export has, under whatever name of the years.

Versions append ``_V2`` to tables and rename columns; the older profiler nvprof spells some of them
its own way.  A column that is absent is null.
"""

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

# table -> names it has had; column -> names it has had, or an expression over them
TABLES = {
    "kernel": ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"),
    "memcpy": ("CUPTI_ACTIVITY_KIND_MEMCPY",),
    "memset": ("CUPTI_ACTIVITY_KIND_MEMSET",),
    "graph": ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",),
    "runtime": ("CUPTI_ACTIVITY_KIND_RUNTIME",),
    "driver": ("CUPTI_ACTIVITY_KIND_DRIVER",),
    "nvtx": ("NVTX_EVENTS",),
    "strings": ("StringIds", "StringTable"),
    "gpu": ("TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU"),
    "export": ("META_DATA_EXPORT",),
}
COLUMNS = {
    "start": ("start", "startNs", "timestamp"),
    "end": ("end", "endNs", "stop"),
    "device": ("deviceId", "device"),
    "stream": ("streamId", "stream"),
    "correlation": ("correlationId", "correlation"),
    "process": ("globalPid", "processId", "pid"),
    "thread": ("globalTid", "threadId", "tid"),
    "name": ("demangledName", "name", "kernelName", "nameId", "shortName", "mangledName"),
    "short": ("shortName", "mangledName"),
    "bytes": ("bytes", "size"),
    "copy_kind": ("copyKind",),
    "graph_id": ("graphId", "graphExecId"),
    "registers": ("registersPerThread",),
    "static_shared": ("staticSharedMemory",),
    "dynamic_shared": ("dynamicSharedMemory",),
    **{
        f"{what}_{axis.lower()}": (f"{what}{axis}",) for what in ("grid", "block") for axis in "XYZ"
    },
    "event_type": ("eventType",),
    "text": ("text",),
    "text_id": ("textId",),
    "id": ("id", "_id_", "gpuId"),
    "value": ("value",),
    "gpu_name": ("name",),
}
_VERSION = re.compile(r"_V\d+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Table:
    """One table as this file has it."""

    name: str
    columns: Mapping[str, str]  # lower case -> as spelled

    def has(self, column: str) -> bool:
        """Whether any name of `column` is here."""
        return any(name.lower() in self.columns for name in COLUMNS[column])

    def sql(self, column: str) -> str:
        """An expression for `column`: the first of its names that is not null."""
        names = [self.columns[n.lower()] for n in COLUMNS[column] if n.lower() in self.columns]
        quoted = [f'"{name}"' for name in dict.fromkeys(names)]
        return "NULL" if not quoted else quoted[0] if len(quoted) == 1 else _first(quoted)

    def select(self, **columns: str) -> str:
        """A query of expressions by their names."""
        wanted = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
        return f'SELECT {wanted} FROM "{self.name}"'


def _first(names: list[str]) -> str:
    return f"COALESCE({', '.join(names)})"


def schema(connection: sqlite3.Connection) -> dict[str, Table]:
    """The tables of TABLES that the file has; of several versions the one with most columns."""
    listed = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    found: dict[str, Table] = {}
    present = [str(name) for (name,) in listed]
    for table, names in TABLES.items():
        known = {name.lower() for name in names}
        candidates = [n for n in present if _VERSION.sub("", n).lower() in known]
        described = [_described(connection, name) for name in candidates]
        if described:
            found[table] = max(described, key=lambda t: len(t.columns))
    return found


def _described(connection: sqlite3.Connection, name: str) -> Table:
    quoted = name.replace('"', '""')
    columns = connection.execute(f'PRAGMA table_info("{quoted}")')
    return Table(quoted, {str(row[1]).lower(): str(row[1]).replace('"', '""') for row in columns})
