"""From the tables of a database to Arrow columns with fixed names."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from roofline.errors import BadInput
from roofline.importers.limits import LONGEST_NS
from roofline.importers.nsys import graphs
from roofline.importers.nsys.database import gather, opened
from roofline.importers.nsys.gathered import Gathered, Value, together
from roofline.importers.nsys.graphs import GRAPH
from roofline.importers.nsys.ranges import PUSH_POP, Range
from roofline.importers.nsys.schema import Table, schema
from roofline.importers.private import pathless
from roofline.units import number_of

if TYPE_CHECKING:
    import pyarrow as pa

WHAT = ("kernel", GRAPH, "memcpy", "memset")
_CALLS = ("runtime", "driver")
# Columns of activities and of calls that become numbers, alone or together.
KEY, CONFIGURATION = ("name", "bytes"), ("grid", "block", "registers", "shared")
_OF_ACTIVITY = {
    "key": KEY, "configuration": CONFIGURATION,
    "device": ("device",), "stream": ("stream",), "process": ("process",),
}  # fmt: skip
_OF_RANGE = ("start", "end", "thread")
_OF_CALL = {"name": ("name",), "thread": ("thread",)}
_SIDE_BY_SIDE = 1 << 20  # rows from which on two halves of a table are read at once
_PLAIN_ID = 1 << 24  # globalTid is vm << 48 | process << 24 | thread, globalPid has no thread

_OF = {
    "kernel": "kernels", GRAPH: "whole graphs", "memcpy": "copies", "memset": "memsets",
    "runtime": "calls of the runtime", "driver": "calls of the driver", "strings": "strings",
    "nvtx": "NVTX ranges",
}  # fmt: skip
_UNJOINED = "and so kernels no launch, thread or range"
# table, column, and what is not known without it
_MISSED = (
    ("kernel", "end", "end, and so no duration"),
    ("kernel", "name", "name"),
    ("kernel", "correlation", "correlation ids, and so no launch, thread or range"),
    (GRAPH, "end", "end, and so no duration"),
    (GRAPH, "correlation", "correlation ids, and so no launch, thread or range"),
    *(
        missed
        for calls in _CALLS
        for missed in (
            (calls, "start", f"start, {_UNJOINED}"),
            (calls, "correlation", f"correlation ids, {_UNJOINED}"),
            (calls, "thread", "threads, and so kernels no range"),
        )
    ),
    *(
        missed
        for copied in ("memcpy", "memset")
        for missed in ((copied, "end", "end, and so no duration"), (copied, "bytes", "bytes"))
    ),
    ("memcpy", "copy_kind", "direction"),
    ("strings", "id", "ids, and so kernels have numbers for names"),
    ("strings", "value", "texts, and so kernels have numbers for names"),
    *(("nvtx", column, f"{column}: no modules and no steps") for column in _OF_RANGE),
)

Values = Mapping[str, Sequence[Value]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """What was read of one export."""

    # "activities" (kernels, whole graphs, copies, memsets): start, duration, correlation, and the
    # numbers of _OF_ACTIVITY; "calls": these, process, those of _OF_CALL.  Given up when joined.
    rows: dict[str, "pa.Table"]
    values: Values  # what the numbers of activities stand for; before those of KEY, one of WHAT
    called: Values  # what the numbers of calls stand for
    processes: Sequence[int]  # what the numbers of processes stand for, of both
    ranges: list[Range]
    strings: Mapping[int, str]  # what names stand for
    gpus: Mapping[int, str]  # number -> name
    export: Mapping[str, str]
    keep: Callable[[str], str]  # what is kept of a text
    lacks: tuple[str, ...] = field(default=())  # facts that this file has not, in words

    def named(self, name: int | str | None) -> str:
        """A name as the file spells it out, or by its number."""
        if isinstance(name, str):
            return self.keep(name) or "unnamed"
        return "unnamed" if name is None else self.strings.get(name, f"name {name}")


def read(path: Path, name: str, keep_private: bool) -> Database:
    """Everything of a run that the database holds; BadInput where nothing ran on a GPU.

    Paths in names and ranges are cut to their last part, unless `keep_private`.
    """
    keep = str if keep_private else pathless
    with opened(path, name) as connection:
        tables = schema(connection)
        if not tables.keys() & {"kernel", GRAPH}:
            raise BadInput(
                f"{name} has no kernels: record with `nsys profile --trace=cuda,nvtx` "
                "and export with `nsys export --type sqlite`"
            )
        strings = _pairs(connection, tables.get("strings"), "id", "value")
        strings = {number: keep(text) for number, text in strings.items()}
        gpus = _pairs(connection, tables.get("gpu"), "id", "gpu_name")
        export = _export(connection, tables.get("export"))
        ranges = _ranges(connection, tables.get("nvtx"), strings, keep)
        queries = [
            (what, part)
            for what in (*WHAT, *_CALLS)
            if what in tables
            for part in _parts(connection, tables[what], what)
        ]

    def gathered(query: tuple[str, str]) -> Gathered:
        groups = _OF_CALL if query[0] in _CALLS else _OF_ACTIVITY
        return gather(path, query[1], name, lambda: Gathered(groups))

    # Each query has a connection of its own, and works outside the interpreter's lock.
    with ThreadPoolExecutor(max_workers=2) as pool:
        parts = list(pool.map(gathered, queries))
    found = [(what, part) for (what, _), part in zip(queries, parts, strict=True)]
    activities, values = together([((w,), p) for w, p in found if w in WHAT], _OF_ACTIVITY, "key")
    calls, names = together([((), p) for w, p in found if w in _CALLS], _OF_CALL, "")
    processes: dict[int, int] = {}
    return Database(
        rows={
            "activities": _of_process(activities, "process", values["process"], processes),
            "calls": _of_process(calls, "thread", names["thread"], processes),
        },
        values=values,
        called=names,
        processes=list(processes),
        ranges=ranges,
        strings=strings,
        gpus=gpus,
        export=export,
        keep=keep,
        lacks=(*_lacks(tables), *_unread(sum(part.unread for part in parts))),
    )


def _of_process(
    rows: "pa.Table", column: str, values: Sequence[Value], processes: dict[int, int]
) -> "pa.Table":
    """The rows with the numbers of their processes, which `column` tells; null for none."""
    import pyarrow as pa

    own = (None if each is None else _process(each) for (each,) in values)
    of = [None if each is None else processes.setdefault(each, len(processes)) for each in own]
    numbers = pa.array(of, pa.int32()).take(rows[column])
    if column == "process":
        return rows.set_column(rows.column_names.index(column), column, numbers)
    return rows.append_column("process", numbers)


def _process(id: int) -> int:
    return id if id < _PLAIN_ID else id >> 24 & _PLAIN_ID - 1


def _lacks(tables: Mapping[str, Table]) -> list[str]:
    lacks = []
    if "gpu" not in tables:
        lacks.append("no table names the GPU; --device NAME does")
    if "runtime" not in tables and "driver" not in tables:
        lacks.append("no calls of the runtime: kernels have no launch, thread or range")
    if "nvtx" not in tables:
        lacks.append("no NVTX ranges: no modules and no steps")
    if "strings" not in tables:
        lacks.append("no table of strings: kernels have numbers for names")
    return lacks + [
        f"{_OF.get(table, table)} have no {words}"
        for table, column, words in _MISSED
        if table in tables and not tables[table].has(column)
    ]


def _unread(cells: int) -> list[str]:
    return [f"{number_of(cells, 'cell')} without a number where one belongs: unknown"] * (cells > 0)


def _parts(connection: sqlite3.Connection, table: Table, what: str) -> list[str]:
    """The query of a table's rows, in order; of many rows the halves of them."""
    query = _call(table) if what in _CALLS else _activity(table, what)
    if "rowid" in table.columns:  # one of its own, with whatever in it
        return [query]
    try:
        (last,) = connection.execute(f'SELECT max(rowid) FROM "{table.name}"').fetchone()
    except sqlite3.OperationalError:  # a view, or a table without them
        return [query]
    if last is None or last < _SIDE_BY_SIDE:
        return [query]
    return [f"{query} WHERE rowid <= {last // 2}", f"{query} WHERE rowid > {last // 2}"]


def _activity(table: Table, what: str) -> str:
    columns = _columns(table, "device", "stream", "process")
    if what == GRAPH:
        return graphs.query(table, columns)
    if what == "kernel":
        more = {"name": table.sql("name"), "registers": table.sql("registers")}
        more |= {name: _product(table, name) for name in ("grid", "block")}
        more["shared"] = f"{table.sql('static_shared')} + {table.sql('dynamic_shared')}"
    else:
        more = {"bytes": table.sql("bytes")}
        more |= {"name": table.sql("copy_kind")} if what == "memcpy" else {}
    return table.select(**columns, **more)


def _product(table: Table, stem: str) -> str:
    return " * ".join(table.sql(f"{stem}_{axis}") for axis in "xyz")


def _call(table: Table) -> str:
    return table.select(**_columns(table, "thread"), name=table.sql("name"))


def _columns(table: Table, *others: str) -> dict[str, str]:
    """Those that the table has: one of nulls would be read row by row as well."""
    columns = {"start": "start", "stop": "end", "correlation": "correlation"}
    columns |= {name: name for name in others}
    return {name: table.sql(column) for name, column in columns.items() if table.has(column)}


def _pairs(
    connection: sqlite3.Connection, table: Table | None, key: str, value: str
) -> dict[int, str]:
    if table is None or not (table.has(key) and table.has(value)):
        return {}
    rows = connection.execute(table.select(k=table.sql(key), v=table.sql(value)))
    return {k: str(v) for k, v in rows if isinstance(k, int) and v is not None}


def _export(connection: sqlite3.Connection, table: Table | None) -> dict[str, str]:
    """Product and schema versions: other rows of this table may hold paths."""
    if table is None or "name" not in table.columns or "value" not in table.columns:
        return {}
    rows = connection.execute(f'SELECT name, value FROM "{table.name}"')
    return {str(k): str(v) for k, v in rows if str(k).endswith("_VERSION")}


def _ranges(
    connection: sqlite3.Connection,
    table: Table | None,
    strings: Mapping[int, str],
    keep: Callable[[str], str],
) -> list[Range]:
    if table is None or not all(table.has(column) for column in _OF_RANGE):
        return []
    query = table.select(
        thread=table.sql("thread"), start=table.sql("start"), stop=table.sql("end"),
        text=table.sql("text"), text_id=table.sql("text_id"), kind=table.sql("event_type"),
    )  # fmt: skip
    found = []
    for thread, start, stop, text, text_id, kind in connection.execute(query):
        words = keep(text) if isinstance(text, str) else strings.get(text_id, "")
        times = all(isinstance(value, int) for value in (thread, start, stop))
        if times and words and kind in (PUSH_POP, None) and 0 <= stop - start < LONGEST_NS:
            found.append((thread, start, stop, words))
    return found
