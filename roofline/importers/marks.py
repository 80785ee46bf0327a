"""The decimal mark of tables whose tools print points: a spreadsheet may have made them commas."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from roofline.errors import BadInput
from roofline.importers.cells import Mark
from roofline.importers.format import Options
from roofline.importers.ncu.number import SURE, evidence

_LOOKED_AT = 1000  # rows of a file


def mark_of(
    table: Iterator[list[str]], options: Options, file: str
) -> tuple[Mark, Iterator[list[str]]]:
    """The decimal mark of a table, and its rows: as stated, else as cells give it away.

    Raises BadInput where cells contradict each other, or commas could be either.
    """
    if options.decimal is not None:
        return options.decimal, table
    first = list(islice(table, _LOOKED_AT))
    return _decided((cell for row in first for cell in row), file), chain(first, table)


def _decided(cells: Iterable[str], file: str) -> Mark:
    votes: dict[Mark, int] = {".": 0, ",": 0}
    unsure = ""
    for cell in cells:
        if "," not in cell and "." not in cell:
            continue
        mark = evidence(cell)
        if mark is not None:
            votes[mark] += 1
        elif _either(cell):
            unsure = unsure or cell.strip()
    if max(votes.values()) > SURE * min(votes.values()):
        return max(votes, key=lambda mark: votes[mark])
    if not unsure and not any(votes.values()):
        return "."
    raise BadInput(
        f"{file}: {unsure or 'its numbers'} can be read with a decimal point or a decimal comma; "
        "say which with --decimal . or --decimal ,"
    )


def _either(cell: str) -> bool:
    """Whether it is a number with one comma, that groups its digits or ends its whole ones."""
    parts: Sequence[str] = cell.strip().split(",")
    return len(parts) == 2 and all(part.isdecimal() for part in parts)
