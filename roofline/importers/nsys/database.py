"""A Nsight Systems database: opened read-only, its queries answered a batch at a time.

With the ADBC driver (``pip install adbc-driver-sqlite``) a million rows take half a second, without
it the standard library's sqlite3 reads the same in a few.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from roofline.errors import BadInput
from roofline.importers.format import Source
from roofline.importers.nsys.beside import LOG, beside, foreign, log
from roofline.importers.nsys.cut import cut
from roofline.importers.nsys.gathered import Gathered

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 1 << 18  # fetched at a time: as many as are then looked at together


class Damaged(BadInput):
    """What SQLite cannot read."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A database as a plain file that nobody else changes."""

    path: Path
    missing: str = ""  # of its last page, in words; "" is nothing
    doubts: tuple[str, ...] = ()  # of what stood beside it


@contextmanager
def on_disk(source: Source) -> Iterator[Plain]:
    """The database as a plain file; BadInput where pages of it are missing.

    A gzipped one is unpacked into a temporary one.  One with rows beside it (a write-ahead log, or
    the journal of a write that was interrupted) is copied with them, which go into the copy.
    """
    ends = {} if source.gzipped else dict(beside(source.path))
    no_such = [end for end, path in ends.items() if foreign(end, path)]
    doubts = [f"{ends.pop(end).name} is damaged: nothing in it counts" for end in no_such]
    if not source.gzipped and not ends:
        yield Plain(source.path, cut(source.path, source.name), tuple(doubts))
        return
    with tempfile.TemporaryDirectory(prefix="roofline-") as folder:
        plain = Path(folder) / "database"
        try:
            with source.open() as packed, plain.open("wb") as into:
                shutil.copyfileobj(packed, into)
            for end, path in ends.items():
                shutil.copyfile(path, f"{plain}{end}")
        except EOFError as error:
            raise BadInput(f"{source.name} is a damaged gzip file: {error}") from None
        except OSError as error:
            raise BadInput(f"cannot copy {source.name}: {error.strerror or error}") from None
        missing = ""
        if LOG in ends:
            written = log(Path(f"{plain}{LOG}"))
            missing = cut(plain, source.name, written.pages)
            doubts += written.unused(_put_in_order(plain, source.name), ends[LOG].name)
        elif ends:
            _put_in_order(plain, source.name)
        yield Plain(plain, missing or cut(plain, source.name), tuple(doubts))


def _put_in_order(path: Path, name: str) -> int:
    """Put what stands beside a database into it: so many frames of its log."""
    connection = sqlite3.connect(path)
    try:
        ((_, frames, _),) = connection.execute("PRAGMA wal_checkpoint").fetchall()
        connection.execute("PRAGMA journal_mode=DELETE").fetchall()
    except sqlite3.Error as error:
        raise _damaged(name, error) from None
    finally:
        connection.close()
    return int(frames)


def _damaged(name: str, error: Exception) -> Damaged:
    return Damaged(f"{name} is a damaged database: {' '.join(str(error).split())}")


@contextmanager
def opened(path: Path, name: str) -> Iterator[sqlite3.Connection]:
    """A read-only connection; BadInput for what sqlite calls no database."""
    connection = sqlite3.connect(_uri(path), uri=True)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter for names of columns
        raise _damaged(name, error) from None
    finally:
        connection.close()


def gather(path: Path, query: str, name: str, new: Callable[[], Gathered]) -> Gathered:
    """The rows of a query, taken in by what `new` makes."""
    if find_spec("adbc_driver_sqlite") is not None:
        import adbc_driver_sqlite.dbapi as adbc

        try:
            with adbc.connect(_uri(path)) as connection, connection.cursor() as cursor:
                return _taken_in(new(), _by_columns(cursor, query))
        except adbc.Error:
            # It guesses a column's type from its first rows and gives up where a later one differs.
            pass
    with opened(path, name) as connection:
        return _taken_in(new(), _by_rows(connection, query))


def _taken_in(into: Gathered, batches: "Iterable[pa.RecordBatch]") -> Gathered:
    for batch in batches:
        into.add(batch)
    return into


def _by_columns(cursor: Any, query: str) -> "Iterator[pa.RecordBatch]":
    cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(ROWS)})
    cursor.execute(query)
    with cursor.fetch_record_batch() as batches:
        yield from batches


def _by_rows(connection: sqlite3.Connection, query: str) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description]
    while rows := cursor.fetchmany(ROWS):
        yield pa.record_batch(dict(zip(names, map(_array, zip(*rows, strict=True)), strict=True)))


def _array(values: tuple[Any, ...]) -> "pa.Array":
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # text or octets among numbers
        return pa.array([None if value is None else str(value) for value in values])


def _uri(path: Path) -> str:
    return f"file:{quote(str(path))}?mode=ro&immutable=1"
