"""Text files of other people: their lines and their rows, whatever state they are in."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from roofline.importers.format import DAMAGE, Source


def decoded(stream: BinaryIO, head: bytes) -> Iterable[str]:
    """Lines of UTF-8 or, redirected by PowerShell, UTF-16, as `head` tells; any line ends."""
    wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    encoding = "utf-16" if wide else "utf-8-sig"
    return io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline=None)


class Lines:
    """The lines of one file as far as they are whole; `early` then says how it ends, "" is well.

    A last line without its end counts where it has as many cells as the line before it.  Whether
    its last number is whole nobody knows, unless a quote closes it: that is said.
    """

    def __init__(self, source: Source):
        self.early = ""
        self._source = source

    def __iter__(self) -> Iterator[str]:
        quotes, before = 0, ""
        with self._source.open() as stream:
            try:
                for line in decoded(stream, self._source.head):
                    quotes += line.count('"')
                    if line.endswith("\n") or (line.endswith('"') and quotes % 2 == 0):
                        yield line
                    elif line.strip(" \t\0"):
                        yield from self._last(line, before, open_=quotes % 2 == 1)
                    before = line
            except DAMAGE as error:
                self.early = damaged(self._source, error)

    def _last(self, line: str, before: str, open_: bool) -> Iterator[str]:
        self.early = f"the last line of {self._source.name} has no end, so it may be cut: "
        if open_ or len(cells(line)) != len(cells(before)):
            self.early += "left out"
        else:
            self.early += "its last cell may not be whole"
            yield line


def whole(source: Source) -> tuple[bytes, str]:
    """A file's bytes as far as they can be read, and how it ends early; "" when it does not."""
    parts = []
    with source.open() as stream:
        try:
            while part := stream.read1(1 << 20):
                parts.append(part)
        except DAMAGE as error:
            return b"".join(parts), damaged(source, error)
    return b"".join(parts), ""


def damaged(source: Source, error: object) -> str:
    """What is said of a file that could be read up to some place."""
    return f"{source.name} is damaged or cut off ({error}); what stands before that was read"


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
