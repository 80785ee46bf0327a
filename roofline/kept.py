"""Tables and objects that stay in memory while they are small and go to a file when they are not.

What comes back from the file is mapped, not read: its pages are the system's to drop, so that the
memory a process holds does not grow with what is kept.  The file is temporary and has no name: it
goes when the process does, however that ends.
"""

import mmap
import os
import pickle
import tempfile
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from roofline.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 128 << 20  # bytes that stay in memory
_ALIGNED = 64  # bytes: how Arrow wants its buffers


class Kept:
    """Tables by key; those of one key are pieces of one table."""

    def __init__(self, most: int = MOST):
        """Of more than `most` bytes everything is in the file."""
        self._most = most
        self._held = 0
        self._pieces: dict[Hashable, list[Any]] = {}  # tables, or where they begin in the file
        self._file: IO[bytes] | None = None
        self._mapped: mmap.mmap | None = None

    def add(self, key: Hashable, rows: "pa.Table") -> None:
        """Keep more rows of `key`."""
        self._pieces.setdefault(key, []).append(rows if self._file is None else self._write(rows))
        self._held += rows.nbytes
        if self._file is None and self._held > self._most:
            self._file = _file()
            for each in self._pieces.values():
                each[:] = [self._write(piece) for piece in each]

    def take(self, key: Hashable) -> "pa.Table | None":
        """Everything of `key`, which is given up; None when there is nothing."""
        import pyarrow as pa

        pieces = self._pieces.pop(key, [])
        if not pieces:
            return None
        return pa.concat_tables(p if self._file is None else self._read(p) for p in pieces)

    def _write(self, rows: "pa.Table") -> int:
        import pyarrow as pa

        assert self._file is not None
        with _full_disk():
            at = self._file.seek(0, 2)
            self._file.write(bytes(-at % _ALIGNED))
            with pa.ipc.new_stream(self._file, rows.schema) as stream:
                stream.write_table(rows)
        return at + -at % _ALIGNED

    def _read(self, at: int) -> "pa.Table":
        import pyarrow as pa

        assert self._file is not None
        if self._mapped is None or at >= len(self._mapped):
            with _full_disk():
                self._file.flush()
            self._mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        whole = pa.py_buffer(self._mapped)
        return pa.ipc.open_stream(pa.BufferReader(whole.slice(at))).read_all()


class Shelf:
    """Objects that are put away in order and looked at in order, one at a time."""

    def __init__(self, several: bool):
        """Only where there are `several` is a file worth it."""
        self._file = _file() if several else None
        self._held: list[Any] = []
        self._count = 0

    def put(self, what: Any) -> None:
        """Put one away behind the others."""
        if self._file is None:
            self._held.append(what)
        else:
            with _full_disk():
                pickle.dump(what, self._file, protocol=5)
        self._count += 1

    def __iter__(self) -> Iterator[Any]:
        """Every object; those held in memory are given up as they are taken."""
        if self._file is None:
            while self._held:
                yield self._held.pop(0)
            return
        with _full_disk():
            self._file.seek(0)
        for _ in range(self._count):
            yield pickle.load(self._file)  # our own, of this very process


def column(length: int, most: int = MOST) -> memoryview:
    """`length` whole numbers of 64 bits, all 0; in a file when they need more than `most` bytes."""
    size = 8 * length
    if size <= most or not size:
        return memoryview(bytearray(size)).cast("q")
    with _full_disk(), _file() as file:
        os.posix_fallocate(file.fileno(), 0, size)  # a hole could not be filled on a full disk
        return memoryview(mmap.mmap(file.fileno(), size)).cast("q")


def _file() -> IO[bytes]:
    with _full_disk():
        return tempfile.TemporaryFile(prefix="roofline-")


@contextmanager
def _full_disk() -> Iterator[None]:
    """One sentence for what only more room can cure."""
    try:
        yield
    except OSError as error:
        raise BadInput(
            f"columns that are too long for memory do not fit {tempfile.gettempdir()}: "
            f"{error.strerror or error}; TMPDIR names another folder"
        ) from None
