"""Text files of other people: their lines and their rows, whatever state they are in."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import BinaryIO


def decoded(stream: BinaryIO, head: bytes) -> Iterable[str]:
    """Lines of UTF-8 or, redirected by PowerShell, UTF-16, as `head` tells; any line ends."""
    wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    encoding = "utf-16" if wide else "utf-8-sig"
    return io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline=None)


def rows(lines: Iterable[str], delimiter: str = ",") -> Iterator[list[str]]:
    """The rows of a table; a row that cannot be split is left out."""
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error:  # a cell beyond the limit, a stray line end
            continue


def cells(line: str, delimiter: str = ",") -> list[str]:
    """The cells of one line; none where it cannot be split."""
    return next(rows([line], delimiter), [])
