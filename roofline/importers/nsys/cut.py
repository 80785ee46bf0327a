"""A database that was cut: its first page tells how many there are.

SQLite itself reads what is missing of the last page as zeros, and says nothing.
Spec: SQLite, "Database File Format", the database header.
"""

from pathlib import Path

from roofline.errors import BadInput
from roofline.units import number_of

_HEADER = 100  # bytes
_LARGEST = 1 << 16  # bytes of a page, which two bytes do not hold: it is written as 1


def cut(path: Path, name: str) -> list[str]:
    """What to say of a database that ends within its last page; BadInput where pages are missing.

    One whose last writer did not count its pages is only known to end within one.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER)
    page = _number(header, 16, 2)
    page = _LARGEST if page == 1 else page
    size = path.stat().st_size
    if len(header) < _HEADER or page < 512:  # no database, as whoever opens it will say
        return []
    counted = _number(header, 24, 4) == _number(header, 92, 4)
    pages = _number(header, 28, 4) if counted else 0
    there = -(-size // page)
    if there < pages:
        raise BadInput(
            f"{name} is cut: {size // page} of its {number_of(pages, 'page')} of {page} B are "
            "there; export or copy it again"
        )
    short = (pages or there) * page - size
    if short <= 0:
        return []
    return [
        f"the file is cut: {short} of {page} B of its last page are missing, so rows that stood "
        "there are lost or wrong; export or copy it again"
    ]


def _number(header: bytes, at: int, size: int) -> int:
    return int.from_bytes(header[at : at + size], "big")
