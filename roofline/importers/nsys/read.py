"""From the tables of a database to Arrow columns with fixed names."""

import sqlite3
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from roofline.errors import BadInput
from roofline.importers.nsys.database import fetch, opened
from roofline.importers.nsys.ranges import PUSH_POP, Range
from roofline.importers.nsys.schema import Table, schema

if TYPE_CHECKING:
    import pyarrow as pa

ACTIVITY = (
    "start", "stop", "device", "stream", "correlation", "process", "name", "grid", "block",
    "registers", "shared", "bytes", "what",
)  # fmt: skip
CALL = ("start", "stop", "thread", "correlation", "process", "name")
WHAT = ("kernel", "memcpy", "memset")  # the column `what` is a position here
_CALLS = ("runtime", "driver")
_SIDE_BY_SIDE = 1 << 20  # rows from which on two halves of a table are read at once
_PLAIN_ID = 1 << 24  # globalTid is vm << 48 | process << 24 | thread, globalPid has no thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """What was read of one export."""

    activities: "pa.Table"  # columns ACTIVITY: kernels, copies and memsets
    calls: "pa.Table"  # columns CALL: of the runtime and the driver
    ranges: list[Range]
    strings: Mapping[int, str]  # what names stand for
    gpus: Mapping[int, str]  # number -> name
    export: Mapping[str, str]
    lacks: tuple[str, ...] = field(default=())  # facts that this file has not, in words


def read(path: Path, name: str) -> Database:
    """Everything of a run that the database holds; BadInput where nothing ran on a GPU."""
    with opened(path, name) as connection:
        tables = schema(connection)
        if "kernel" not in tables:
            raise BadInput(
                f"{name} has no kernels: record with `nsys profile --trace=cuda,nvtx` "
                "and export with `nsys export --type sqlite`"
            )
        strings = _pairs(connection, tables.get("strings"), "id", "value")
        gpus = _pairs(connection, tables.get("gpu"), "id", "gpu_name")
        export = _export(connection, tables.get("export"))
        ranges = _ranges(connection, tables.get("nvtx"), strings)
        queries = [
            (what, part)
            for what in (*WHAT, *_CALLS)
            if what in tables
            for part in _parts(connection, tables[what], what)
        ]
    # Each query has a connection of its own, and the driver works outside the interpreter's lock.
    with ThreadPoolExecutor(max_workers=2) as pool:
        found = list(pool.map(lambda query: (query[0], fetch(path, query[1], name)), queries))
    words = _Words(strings)
    try:
        ran = [
            _typed(words.numbered(t), ACTIVITY, {"what": WHAT.index(what)})
            for what, t in found
            if what in WHAT
        ]
        called = [_typed(words.numbered(_of(t)), CALL, {}) for what, t in found if what in _CALLS]
    except ValueError as error:  # of Arrow: text where a number belongs
        raise BadInput(f"{name} is damaged: {error}") from None
    return Database(
        activities=_together(ran, ACTIVITY),
        calls=_together(called, CALL),
        ranges=ranges,
        strings=words.known,
        gpus=gpus,
        export=export,
        lacks=tuple(_lacks(tables)),
    )


class _Words:
    """Names as numbers: ids into the file's strings, or new ones where a table spells them."""

    def __init__(self, strings: Mapping[int, str]) -> None:
        self.known = dict(strings)

    def numbered(self, table: "pa.Table") -> "pa.Table":
        """The same table, its names as numbers."""
        import pyarrow as pa
        import pyarrow.compute as pc

        at = table.column_names.index("name")
        names = table["name"]
        if not (pa.types.is_string(names.type) or pa.types.is_large_string(names.type)):
            return table
        spelled = pc.unique(names)
        first = max(self.known, default=0) + 1
        self.known |= {first + n: text for n, text in enumerate(spelled.to_pylist()) if text}
        numbers = pc.add(pc.index_in(names, value_set=spelled).cast(pa.int64()), first)
        return table.set_column(at, "name", numbers)


def _lacks(tables: Mapping[str, Table]) -> list[str]:
    lacks = []
    if "gpu" not in tables:
        lacks.append("no table names the GPU; --device NAME does")
    if "runtime" not in tables and "driver" not in tables:
        lacks.append("no calls of the runtime: kernels have no launch, thread or range")
    elif not tables["kernel"].has("correlation"):
        lacks.append("kernels have no correlation ids, and so no launch, thread or range")
    if "nvtx" not in tables:
        lacks.append("no NVTX ranges: no modules and no steps")
    if "strings" not in tables:
        lacks.append("no table of strings: kernels have numbers for names")
    return lacks


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
    columns = {
        "start": "start", "stop": "end", "device": "device", "stream": "stream",
        "correlation": "correlation", "process": "process",
    }  # fmt: skip
    query = {name: table.sql(column) for name, column in columns.items()}
    if what == "kernel":
        query["name"] = table.sql("name")
        query |= {name: _product(table, name) for name in ("grid", "block")}
        query["registers"] = table.sql("registers")
        query["shared"] = f"{table.sql('static_shared')} + {table.sql('dynamic_shared')}"
    else:
        query["name"] = table.sql("copy_kind") if what == "memcpy" else "NULL"
        query["bytes"] = table.sql("bytes")
    return table.select(**query)


def _product(table: Table, stem: str) -> str:
    return " * ".join(table.sql(f"{stem}_{axis}") for axis in "xyz")


def _call(table: Table) -> str:
    columns = {
        "start": "start", "stop": "end", "thread": "thread", "correlation": "correlation",
        "name": "name",
    }  # fmt: skip
    return table.select(**{name: table.sql(column) for name, column in columns.items()})


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
    connection: sqlite3.Connection, table: Table | None, strings: Mapping[int, str]
) -> list[Range]:
    if table is None or not (table.has("start") and table.has("end") and table.has("thread")):
        return []
    query = table.select(
        thread=table.sql("thread"), start=table.sql("start"), stop=table.sql("end"),
        text=table.sql("text"), text_id=table.sql("text_id"), kind=table.sql("event_type"),
    )  # fmt: skip
    found = []
    for thread, start, stop, text, text_id, kind in connection.execute(query):
        words = text if isinstance(text, str) else strings.get(text_id, "")
        times = all(isinstance(value, int) for value in (thread, start, stop))
        if times and words and kind in (PUSH_POP, None) and stop >= start:
            found.append((thread, start, stop, words))
    return found


def _of(calls: "pa.Table") -> "pa.Table":
    """Calls with their processes, which the ids of their threads tell."""
    return calls.append_column("process", calls["thread"])


def _typed(table: "pa.Table", columns: tuple[str, ...], constant: Mapping[str, int]) -> "pa.Table":
    """Whole numbers under fixed names, null where the file has none; processes as their own ids."""
    import pyarrow as pa

    made = {}
    for column in columns:
        if column in constant:
            values = pa.repeat(pa.scalar(constant[column], pa.int64()), table.num_rows)
        elif column in table.column_names:
            values = table[column].cast(pa.int64(), safe=False)
        else:
            values = pa.nulls(table.num_rows, pa.int64())
        made[column] = _process(values) if column == "process" else values
    return pa.table(made)


def _process(ids: "pa.ChunkedArray") -> "pa.ChunkedArray":
    import pyarrow.compute as pc

    inner = pc.bit_wise_and(pc.shift_right(ids, 24), _PLAIN_ID - 1)
    return pc.if_else(pc.less(ids, _PLAIN_ID), ids, inner)


def _together(tables: list["pa.Table"], columns: tuple[str, ...]) -> "pa.Table":
    import pyarrow as pa

    return pa.concat_tables(tables) if tables else _typed(pa.table({}), columns, {})
