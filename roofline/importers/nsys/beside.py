"""What stands beside a database: a write-ahead log, or the journal of an interrupted write.

SQLite itself takes of either what is whole, leaves out the rest and says nothing.
Spec: SQLite, "Database File Format", the rollback journal and the write-ahead log.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roofline.errors import BadInput
from roofline.units import number_of

LOG, JOURNAL = "-wal", "-journal"  # by the ends of their names
_MAGIC = {
    LOG: (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"),
    JOURNAL: (b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", bytes(8)),  # zeros where its write was ended
}
_HEADER, _FRAME = 32, 24  # bytes before all frames, and before the page in each
_LARGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class Log:
    """A write-ahead log, as far as it is of one piece."""

    pages: tuple[int, ...] = ()  # the number of the page in each frame since it last began anew
    torn: bool = False  # whether it ends within one of them

    def unused(self, frames: int, file: str) -> list[str]:
        """What to say where only the first `frames` of them count."""
        there = len(self.pages) + self.torn
        left = there - max(frames, 0)
        return [
            f"of {file} {left} of {number_of(there, 'page')} left out: cut, damaged, or of a write "
            "that did not end"
        ] * (left > 0)


def beside(path: Path) -> Iterator[tuple[str, Path]]:
    """The files beside a database that are not empty, with the ends of their names."""
    for end in (LOG, JOURNAL):
        found = Path(f"{path}{end}")
        if found.is_file() and found.stat().st_size:
            yield end, found


def foreign(end: str, path: Path) -> bool:
    """Whether what has the name of a log or journal is none; BadInput where nobody may read it."""
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise BadInput(f"cannot read {path.name}: {error.strerror or error}") from None
    return not head.startswith(_MAGIC[end])


def log(path: Path) -> Log:
    """The frames of a log; those behind, of before it began anew, are none of it."""
    pages: list[int] = []
    with path.open("rb") as file:
        header = file.read(_HEADER)
        size, salt = int.from_bytes(header[8:12], "big"), header[16:24]
        if len(header) < _HEADER or not 512 <= size <= _LARGEST:
            return Log(torn=True)
        while frame := file.read(_FRAME):
            if len(frame) == _FRAME and frame[8:16] != salt:
                break
            at = file.seek(size, 1)
            if len(frame) < _FRAME or at > path.stat().st_size:
                return Log(tuple(pages), torn=True)
            pages.append(int.from_bytes(frame[:4], "big"))
    return Log(tuple(pages))
