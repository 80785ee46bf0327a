"""Columns of a table of ``nsys stats``: their names, with units in parentheses behind them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from roofline.importers.cells import Mark, number

# No two parts may match the same characters: a cell is as long as who wrote it likes.
_HEAD = re.compile(r"(?P<name>[^()]*)(?:\((?P<unit>[^()]*)\))?")


@dataclass(frozen=True, slots=True)
class Columns:
    """Where each column is, and its unit."""

    at: dict[str, int]
    unit: dict[str, str]
    width: int
    mark: Mark  # of decimals

    def has(self, names: Sequence[str]) -> bool:
        """Whether all of `names` are here."""
        return all(name in self.at for name in names)

    def value(self, row: Sequence[str], name: str, units: dict[str, float]) -> float | None:
        """A number in base units; None where the column or the number is absent."""
        if name not in self.at:
            return None
        found = number(row[self.at[name]], self.mark)
        return None if found is None else found * units.get(self.unit[name], 1.0)


def header_of(row: Sequence[str], mark: Mark) -> Columns | None:
    """The columns that a row names; None for a row of values."""
    if not any(cell.strip() in ("Name", "Operation") for cell in row):
        return None
    cells = [match for cell in row if (match := _HEAD.fullmatch(cell.strip()))]
    if len(cells) != len(row):
        return None
    names = [match["name"].rstrip() for match in cells]
    units = {name: match["unit"] or "" for name, match in zip(names, cells, strict=True)}
    return Columns({name: at for at, name in enumerate(names)}, units, len(row), mark)
