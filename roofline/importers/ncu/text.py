"""From a stream of text to tables: Nsight Compute prints its CSV among everything else.

Around, between and inside the tables stand the profiler's own lines (``==PROF==``), and whatever
the profiled program printed.  A header is known by its column names, a row by its shape.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from roofline.importers.lines import cells

_MESSAGE = re.compile(r"==(?P<kind>[A-Z]+)== ?(?P<text>.*)")
KERNEL, METRIC, VALUE, UNIT, AVERAGE = (
    "Kernel Name", "Metric Name", "Metric Value", "Metric Unit", "Average",
)  # fmt: skip
DELIMITERS = (",", ";", "\t")
HELD_LINES = 50  # lines that one quoted cell may span


@dataclass(slots=True)
class Table:
    """One CSV table as it stands in the file, the wanted columns only."""

    header: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    left_out: frozenset[str] = frozenset()  # metrics that nobody wanted


@dataclass(slots=True)
class Text:
    """Everything one export holds."""

    tables: list[Table] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)  # ==ERROR== lines
    warnings: list[str] = field(default_factory=list)  # ==WARNING== lines
    noise: int = 0  # lines that belong to the profiled program
    short: int = 0  # rows that were cut off
    printed: bool = False  # the page meant for people stands among it


def parse(lines: Iterable[str], wanted: Callable[[Sequence[str]], Sequence[int]]) -> Text:
    """Sort the lines of an export into tables, messages and noise.

    `wanted` picks columns, at least two, by their positions in a header.
    """
    text = Text()
    table: Table | None = None
    reader: _Row | None = None
    pick: Callable[[list[str]], tuple[str, ...]] = tuple
    for line in _whole_lines(lines):
        if "==" in line and (message := _MESSAGE.search(line)) and not line.startswith('"'):
            _say(text, message["kind"], message["text"].strip())
            continue
        if KERNEL in line and (found := _header(line)):
            header, delimiter = found
            columns = wanted(header)
            pick = itemgetter(*columns)
            table = Table(
                pick(header),
                left_out=frozenset(n for n in header if "__" in n) - {*pick(header)},
            )
            text.tables.append(table)
            reader = _Row(header, delimiter, quoted='"' in line)
            continue
        row = reader.read(line) if reader is not None else None
        if row is None or table is None or reader is None:
            text.noise += bool(line.strip())
            text.printed = text.printed or line.lstrip().startswith("Section: ")
        elif len(row) < reader.least:
            text.short += 1
        else:
            row += [""] * (reader.width - len(row))
            table.rows.append(pick(row))
    return text


def _say(text: Text, kind: str, message: str) -> None:
    if kind == "ERROR":
        text.errors.append(message)
    elif kind == "WARNING":
        text.warnings.append(message)


def _whole_lines(lines: Iterable[str]) -> Iterator[str]:
    """Lines, those joined that one quoted cell spans."""
    held: list[str] = []
    for raw in lines:
        line = raw.rstrip("\n")
        if not held:
            if line.startswith('"') and line.count('"') % 2:
                held = [line]
                continue
            yield line
            continue
        held.append(line)
        if line.count('"') % 2:
            yield "\n".join(held)
            held = []
        elif len(held) > HELD_LINES or (line.startswith('"') and line.endswith('"')):
            yield from held
            held = []
    yield from held


def _header(line: str) -> tuple[list[str], str] | None:
    """Column names and delimiter, where this line is the head of a table."""
    start = line.find('"')
    if start > 0 and not line.startswith(("ID", "Process ID", KERNEL)):
        line = line[start:]
    for delimiter in DELIMITERS:
        names = [name.strip() for name in cells(line, delimiter)]
        if KERNEL not in names:
            continue
        long = METRIC in names and (VALUE in names or AVERAGE in names)
        if long or any("__" in name for name in names):
            return names, delimiter
    return None


class _Row:
    """Splits the rows of one table."""

    __slots__ = ("delimiter", "least", "quoted", "seam", "width")

    def __init__(self, header: list[str], delimiter: str, quoted: bool) -> None:
        self.width = len(header)
        self.delimiter = delimiter
        self.quoted = quoted
        self.seam = f'"{delimiter}"'
        value = VALUE if VALUE in header else AVERAGE if AVERAGE in header else None
        # A rule stands in the last columns of a long page, which other rows leave out.
        self.least = len(header) if value is None else header.index(value) + 1

    def read(self, line: str) -> list[str] | None:
        """The cells of a row; None where the line is no row of this table."""
        if self.quoted and not line.startswith('"'):
            # Output without a line end may stand before the row.
            start = line.find('"')
            if start < 0 or line.count(self.seam) < 3:
                return self._unquoted(line)
            line = line[start:]
        row = self._split(line.rstrip())
        if len(row) > self.width or (len(row) < self.least and len(row) < 5):
            return None
        return row

    def _unquoted(self, line: str) -> list[str] | None:
        """A row that another tool saved again, without the quotes."""
        if line.count(self.delimiter) + 1 < self.least:
            return None
        row = cells(line, self.delimiter)
        return row if self.least <= len(row) <= self.width else None

    def _split(self, line: str) -> list[str]:
        """Cells by the seams between quoted cells, checked; by the csv module otherwise."""
        body = line[:-1] if line.endswith(self.delimiter) else line
        if body.endswith('"') and len(body) > 1:
            parts = body[1:-1].split(self.seam)
            if body.count('"') == 2 * len(parts):
                return parts
        return cells(line, self.delimiter)
