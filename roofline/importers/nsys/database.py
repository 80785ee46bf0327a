"""A Nsight Systems database: opened read-only, queried into Arrow tables.

With the ADBC driver (``pip install adbc-driver-sqlite``) a million rows take half a second, without
it the standard library's sqlite3 reads the same in a few.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from roofline.errors import BadInput
from roofline.importers.format import DAMAGE, Source

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 65_536  # fetched at a time


@contextmanager
def on_disk(source: Source) -> Iterator[Path]:
    """The database as a plain file: a gzipped one is unpacked into a temporary one."""
    if not source.gzipped:
        yield source.path
        return
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as plain:
        try:
            with source.open() as packed:
                shutil.copyfileobj(packed, plain)
        except DAMAGE as error:
            raise BadInput(f"{source.name} is a damaged gzip file: {error}") from None
        plain.flush()
        yield Path(plain.name)


@contextmanager
def opened(path: Path, name: str) -> Iterator[sqlite3.Connection]:
    """A read-only connection; BadInput for what sqlite calls no database."""
    connection = sqlite3.connect(_uri(path), uri=True)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter for names of columns
        raise BadInput(f"{name} is a damaged database: {' '.join(str(error).split())}") from None
    finally:
        connection.close()


def fetch(path: Path, query: str, name: str) -> "pa.Table":
    """The rows of a query as columns."""
    if find_spec("adbc_driver_sqlite") is None:
        return _by_rows(path, query, name)
    import adbc_driver_sqlite.dbapi as adbc

    try:
        with adbc.connect(_uri(path)) as connection, connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(ROWS)})
            cursor.execute(query)
            return cursor.fetch_arrow_table()
    except adbc.Error:
        # It guesses a column's type from its first rows and gives up where a later one differs.
        return _by_rows(path, query, name)


def _by_rows(path: Path, query: str, name: str) -> "pa.Table":
    import pyarrow as pa

    with opened(path, name) as connection:
        cursor = connection.execute(query)
        names = [column[0] for column in cursor.description]
        parts: list[list[Any]] = [[] for _ in names]
        while rows := cursor.fetchmany(ROWS):
            for part, values in zip(parts, zip(*rows, strict=True), strict=True):
                part.append(_array(values))
    return pa.table(
        {n: pa.chunked_array(p) if p else pa.nulls(0) for n, p in zip(names, parts, strict=True)}
    )


def _array(values: tuple[Any, ...]) -> "pa.Array":
    import pyarrow as pa

    try:
        return pa.array(values)
    except pa.ArrowInvalid:  # text among numbers
        return pa.array([None if value is None else str(value) for value in values])


def _uri(path: Path) -> str:
    return f"file:{quote(str(path))}?mode=ro&immutable=1"
