"""Base units inside, prefixes only here.

Inside the library every number is in flop, op, B (byte), launch, s, Hz, one of those a second, or
flop/B.  This file alone turns text into such numbers and back.  n u m k M G T P E are powers of
1000; Ki Mi Gi Ti are powers of 1024; neither is ever guessed, so ``KB`` (which people use for
both) is refused, as is ``b`` (bit).  n u m are of seconds alone: ``12 mB`` is no quantity, but a
mistaken ``12 MB``.
"""

import math
import re

from roofline.errors import BadInput

DECIMAL = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0,
           "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}  # fmt: skip
BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
PREFIXES = DECIMAL | BINARY
BELOW_ONE = ("n", "u", "m")  # of seconds alone

# Every accepted spelling of a unit, with the one spelling used inside and on output.
SPELLINGS = {
    "B": "B", "byte": "B", "bytes": "B", "B/s": "B/s",
    "flop": "flop", "FLOP": "flop", "Flop": "flop", "FLOPs": "flop",
    "flop/s": "flop/s", "FLOP/s": "flop/s", "Flop/s": "flop/s", "FLOPS": "flop/s",
    "op": "op", "OP": "op", "op/s": "op/s", "OP/s": "op/s", "OPS": "op/s",
    "launch": "launch", "launches": "launch", "launch/s": "launch/s", "launches/s": "launch/s",
    "element": "element", "elements": "element", "element/s": "element/s",
    "s": "s", "Hz": "Hz", "flop/B": "flop/B", "FLOP/B": "flop/B",
}  # fmt: skip

# Numbers of these units are written plainly: "156 flop/B" and never "0.156 kflop/B".
UNPREFIXED = {"flop/B"}

_MICRO = str.maketrans({"\N{MICRO SIGN}": "u", "\N{GREEK SMALL LETTER MU}": "u"})
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*"
    r"(?P<prefix>[KMGT]i|[numkMGTPE]?)(?P<unit>" + "|".join(sorted(map(re.escape, SPELLINGS))) + ")"
)


def parse(text: str, unit: str) -> float:
    """Read `text` as a finite number, zero or more, of `unit`; refuse any other unit.

    >>> parse("4.8 TB/s", "B/s"), parse("120TFLOP/s", "flop/s"), parse("17 µs", "s")
    (4800000000000.0, 120000000000000.0, 1.7e-05)
    >>> parse("50 MiB", "B")
    52428800.0
    """
    match = _QUANTITY.fullmatch(text.strip().translate(_MICRO))
    spelled = None if match is None else SPELLINGS[match["unit"]]
    if match is not None and spelled == unit != "s" and match["prefix"] in BELOW_ONE:
        raise BadInput(
            f"expected a quantity in {unit}, such as {_example(unit)!r}; got {text!r}, and "
            f"{match['prefix']} is a prefix of s alone"
        )
    if match is None or spelled != unit:
        raise BadInput(
            f"expected a quantity in {unit}, such as {_example(unit)!r} "
            f"(prefixes: {'n, u, m' if unit == 's' else 'k is 1000, Ki is 1024'}); got {text!r}"
        )
    # Dividing by an exact power of ten rounds once; multiplying by an inexact 1e-6 rounds twice.
    prefix = PREFIXES[match["prefix"]]
    number = float(match["number"])
    value = number * prefix if prefix >= 1 else number / round(1 / prefix)
    if not math.isfinite(value) or value < 0:
        raise BadInput(f"expected a finite, positive quantity in {unit}; got {text!r}")
    return value


def show(value: float, unit: str) -> str:
    """Write `value` to three significant digits with a decimal prefix.

    >>> show(4.8e12, "B/s"), show(7.2e-6, "s"), show(999_960, "B"), show(156.0, "flop/B")
    ('4.80 TB/s', '7.20 us', '1.00 MB', '156 flop/B')
    >>> show(0.0072, "flop/s")
    '0.0072 flop/s'
    """
    if value == 0:
        return f"0 {unit}"
    rounded = float(f"{value:.3g}")
    if unit in UNPREFIXED:
        return f"{rounded:.4g} {unit}" if rounded < 1e6 else f"{rounded:.3g} {unit}"
    size = abs(rounded)
    # 0.9999 tolerates that 1e-06 read back from text may be a hair under the prefix 1e-6.
    scales = [(p, x) for p, x in DECIMAL.items() if unit == "s" or p not in BELOW_ONE]
    prefix = next((p for p, scale in reversed(scales) if size >= 0.999999 * scale), scales[0][0])
    scaled = rounded / DECIMAL[prefix]
    # Below the smallest prefix digits count more than the prefix.
    if abs(scaled) < (0.01 if unit == "s" else 1):
        return f"{rounded:.3g} {unit}"
    digits = 2 if abs(scaled) < 9.995 else 1 if abs(scaled) < 99.95 else 0
    return f"{scaled:.{digits}f} {prefix}{unit}"


def show_share(value: float) -> str:
    """Write a share in whole percent; one that is there but rounds to nothing is below 1 %.

    >>> show_share(0.314), show_share(0.004), show_share(0.0), show_share(1.5)
    ('31%', '<1%', '0%', '150%')
    """
    return "<1%" if 0 < value < 0.005 else f"{value:.0%}"


def number_of(number: float, noun: str) -> str:
    """Write how many there are of what `noun` names in the singular.

    >>> number_of(1, "kernel"), number_of(0, "kernel"), number_of(2.5, "call")
    ('1 kernel', '0 kernels', '2.5 calls')
    >>> number_of(2, "launch"), number_of(3, "activity"), number_of(540713, "page fault")
    ('2 launches', '3 activities', '540,713 page faults')
    """
    if number == round(number) or abs(number) >= 100:
        whole = round(number)
        amount = f"{whole:,}" if abs(whole) >= 10_000 else str(whole)
    else:
        amount = f"{number:.3g}"
    return f"{amount} {noun if amount == '1' else _plural(noun)}"


def _plural(noun: str) -> str:
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def show_binary(value: float) -> str:
    """Write a capacity in bytes the way caches are sold, in powers of 1024.

    >>> show_binary(49152), show_binary(2**25)
    ('48 KiB', '32 MiB')
    """
    prefix = next((p for p, scale in reversed(BINARY.items()) if value >= scale), None)
    return f"{value:.0f} B" if prefix is None else f"{value / BINARY[prefix]:.4g} {prefix}B"


def _example(unit: str) -> str:
    return {"s": "17 us", "flop/B": "60 flop/B"}.get(unit, f"2 T{unit}")
