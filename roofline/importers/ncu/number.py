"""Numbers as Nsight Compute prints them: grouped digits, two locales, scaled units.

``K``, ``M``, ``G``, ``T`` are powers of 1000 (Kbyte is 1000 bytes).  ``n/a``, empty, ``no data``
and ``nan`` are unknown.  Base units come out: byte, second, hertz, counts; percent as printed.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from roofline.errors import BadInput
from roofline.importers.cells import NUMBER, SPACES, Mark, number

_SEPARATED = re.compile(r"[+-]?(\d+)([.,])(\d+)(?:[eE][+-]?\d+)?")
SURE = 20  # so many unambiguous cells of one mark outweigh one of the other
ENOUGH = 1000  # unambiguous cells, after which the rest of a file is not looked at
MOST_PERCENT = 1000.0  # a percentage above this says that a separator was read the wrong way

_PREFIXES = {"": 1.0, "K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_SECONDS = {
    "second": 1.0, "s": 1.0, "sec": 1.0,
    "msecond": 1e3, "ms": 1e3, "msec": 1e3,
    "usecond": 1e6, "us": 1e6, "usec": 1e6, "\N{MICRO SIGN}s": 1e6,
    "nsecond": 1e9, "ns": 1e9, "nsec": 1e9,
}  # fmt: skip
_COUNTED = (
    "byte", "B", "inst", "cycle", "sector", "request", "warp", "block", "thread", "register",
    "pass", "wavefront", "cluster", "SM", "op", "ops", "flop", "FLOP", "instruction", "count",
)  # fmt: skip
_BYTES = ("byte", "B")
_PLAIN = re.compile(rf"(?P<prefix>[KkMGTP]?)(?P<word>{'|'.join(_COUNTED)})s?")
_HERTZ = re.compile(r"(?P<prefix>[KkMGT]?)[Hh]z")
_PERCENT = ("%", "percent", "pct")


@lru_cache(maxsize=1024)
def scale(unit: str) -> tuple[float, float] | None:
    """Multiplier and divisor that turn a number in `unit` into base units; None is not known.

    Two exact powers of ten, so that a value is rounded once.

    >>> scale("MB"), scale("KB/s"), scale("Byte")
    ((1000000.0, 1.0), (1000.0, 1.0), None)
    >>> scale("Mbyte"), scale("us"), scale("Gbyte/s"), scale("cycle/nsecond"), scale("%")
    ((1000000.0, 1.0), (1.0, 1000000.0), (1000000000.0, 1.0), (1000000000.0, 1.0), (1.0, 1.0))
    """
    above, _, below = unit.strip().partition("/")
    dividend = _one(above)
    divisor = _one(below) if below else (1.0, 1.0)
    if dividend is None or divisor is None:
        return None
    times, over = dividend[0] * divisor[1], dividend[1] * divisor[0]
    return (times / over, 1.0) if times >= over else (1.0, over / times)


def _one(word: str) -> tuple[float, float] | None:
    word = word.strip()
    if word in _SECONDS:
        return 1.0, _SECONDS[word]
    if not word or word in _PERCENT:
        return 1.0, 1.0
    match = _PLAIN.fullmatch(word) or _HERTZ.fullmatch(word)
    return None if match is None else (_PREFIXES[match["prefix"]], 1.0)


def kind(word: str) -> str:
    """What a unit is one of: time, byte, percent, hertz or count; "" for none and for no unit.

    >>> kind("usecond"), kind("Kbyte"), kind("sector"), kind("Ghz"), kind("%")
    ('time', 'byte', 'count', 'hertz', 'percent')
    """
    if word in _SECONDS:
        return "time"
    if word in _PERCENT:
        return "percent"
    if _HERTZ.fullmatch(word):
        return "hertz"
    match = _PLAIN.fullmatch(word)
    return "" if match is None else "byte" if match["word"] in _BYTES else "count"


def evidence(text: str) -> Mark | None:
    """The decimal mark that a cell gives away; None where it could be either.

    >>> evidence("402,339.36"), evidence("27.595.520"), evidence("65,77"), evidence("1,024")
    ('.', ',', ',', None)
    """
    text = text.translate(SPACES)
    if not NUMBER.fullmatch(text):
        return None
    commas, points = text.count(","), text.count(".")
    if commas and points:
        return "." if text.rfind(".") > text.rfind(",") else ","
    if commas > 1 or points > 1:
        return "." if commas else ","
    match = _SEPARATED.fullmatch(text)
    if match is None:
        return None
    whole, separator, rest = match.groups()
    grouped = len(rest) == 3 and len(whole) <= 3 and not whole.startswith("0")
    mark: Mark = "." if separator == "." else ","
    return None if grouped else mark


# (metric name, unit, cell)
Cell = tuple[str, str, str]


def decimal_mark(cells: Iterable[Cell], file: str) -> Mark:
    """The decimal mark of a file: from unambiguous cells, else from what numbers can be.

    Raises BadInput where both readings are possible.
    """
    votes: dict[Mark, int] = {".": 0, ",": 0}
    unsure: list[Cell] = []
    for cell in cells:
        mark = evidence(cell[2])
        if mark is not None:
            votes[mark] += 1
            if votes[mark] > ENOUGH and votes[mark] > SURE * min(votes.values()):
                return mark
        elif _SEPARATED.fullmatch(cell[2].translate(SPACES)):
            unsure.append(cell)
    if max(votes.values()) > SURE * min(votes.values()):
        return max(votes, key=lambda mark: votes[mark])
    if not unsure and not any(votes.values()):
        return "."
    left: list[Mark] = [m for m in votes if not any(_implausible(c, m) for c in unsure)]
    if len(left) == 1 and not any(votes.values()):
        return left[0]
    example = " ".join(unsure[0][2].split()) if unsure else "its numbers"
    raise BadInput(
        f"{file}: {example} can be read with a decimal point or a decimal comma; "
        "say which with --decimal . or --decimal ,"
    )


def _implausible(cell: Cell, mark: Mark) -> bool:
    """Whether a cell cannot mean what it would under `mark`: a broken count, a huge percentage.

    A count is printed whole or with other than three decimals, so that 8,000 bytes are no eight.
    """
    name, unit, text = cell
    value = number(text, mark)
    if value is None:
        return False
    if unit in _PERCENT:
        return value > MOST_PERCENT
    whole = name.endswith(".sum") or name.startswith(("launch__", "device__attribute_"))
    return whole and unit in _WHOLE and mark in text


_WHOLE = ("", "inst", "sector", "byte", "request", "thread", "register/thread", "SM", "ns")
