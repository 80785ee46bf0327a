"""A database that was cut: its first page tells how many there are.

SQLite itself reads what is missing of the last page as zeros, and says nothing.
Spec: SQLite, "Database File Format", the database header.
"""

from collections.abc import Collection
from pathlib import Path

from roofline.errors import BadInput
from roofline.units import number_of

AGAIN = "export or copy it again"
_HEADER = 100  # bytes
_LARGEST = 1 << 16  # bytes of a page, which two bytes do not hold: it is written as 1


def cut(path: Path, name: str, brought: Collection[int] = ()) -> str:
    """What is missing of the last page, "" is nothing; BadInput where whole pages are.

    A log beside the database may have `brought` pages, by their numbers from 1 on.  One whose last
    writer did not count its pages is only known to end within one.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER)
    page = _number(header, 16, 2)
    page = _LARGEST if page == 1 else page
    size = path.stat().st_size
    if len(header) < _HEADER or page < 512:  # no database, as whoever opens it will say
        return ""
    counted = _number(header, 24, 4) == _number(header, 92, 4)
    pages = _number(header, 28, 4) if counted else 0
    whole, rest = divmod(size, page)
    last = pages or whole + (rest > 0)
    got = {number for number in brought if whole < number <= last}
    lost = last - whole - len(got)
    partly = rest > 0 and whole < last and whole + 1 not in got
    if lost > partly:
        raise BadInput(
            f"{name} is cut: {last - lost} of its {number_of(last, 'page')} of {page} B are there; "
            f"{AGAIN}"
        )
    return f"{page - rest} of {page} B of its last page are missing" if partly else ""


def _number(header: bytes, at: int, size: int) -> int:
    return int.from_bytes(header[at : at + size], "big")
