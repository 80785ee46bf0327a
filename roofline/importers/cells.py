"""Numbers in the cells of a table, with a decimal point or a decimal comma."""

import math
import re
from typing import Literal

Mark = Literal[".", ","]

NUMBER = re.compile(r"[+-]?\d[\d.,]*(?:[eE][+-]?\d+)?")
# Between groups of digits some locales put one of these.
SPACES = str.maketrans("", "", " '\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}")


def number(text: str, mark: Mark) -> float | None:
    """The number in a cell, given the file's decimal mark; None where there is none.

    >>> number("5,318,969,728.00", "."), number("27.595.520", ","), number("n/a", ".")
    (5318969728.0, 27595520.0, None)
    """
    plain = text.replace(",", "") if mark == "." else text.replace(".", "").replace(",", ".")
    try:
        value = float(plain)
    except ValueError:
        value = _first(text, mark)
    return value if math.isfinite(value) else None


def _first(text: str, mark: Mark) -> float:
    """The first number of a cell that holds more, such as ``12 (3; 4; 5)``; NaN without one."""
    head = text.partition("(")[0].translate(SPACES).rstrip("%")
    if not NUMBER.fullmatch(head):
        return math.nan
    plain = head.replace(",", "") if mark == "." else head.replace(".", "").replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return math.nan
