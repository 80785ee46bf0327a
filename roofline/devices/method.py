"""What a measured ceiling was timed with: program, shape, working set.

Two rates of one ceiling are of one thing only where these agree.  Records name them in their source
and at the start of their conditions, before the circumstances: clocks, settings, versions, marks of
the card and of the code, and the time.
"""

import re
from itertools import takewhile

from roofline.device import Ceiling
from roofline.errors import BadInput
from roofline.units import parse

_CIRCUMSTANCE = re.compile(
    r"clock (inside|between) |(before|after) \d+ MHz|(driver|torch|CUDA|HIP|triton|GPU|code) \S+$"
    r"|(power cap|highest clock) \d|(ECC|MIG) (on|off)$|threads pinned to |\d+ of \d+ samples "
    r"|\d{4}-\d\d-\d\dT"
)
# How many were tried says nothing of the one that was timed; what a launch took is a result.
_SEARCHED = re.compile(r", the best of (a search|\d+ shapes?)$")
_LESS = re.compile(r", less [\d.]+ us that .* to start$")
_PLATEAU = re.compile(r"(?P<low>[\d.]+ \w+) to (?P<high>[\d.]+ \w+) of (?P<sweep>a sweep over .+)")


def method(ceiling: Ceiling, device_name: str) -> tuple[str, ...]:
    """What was timed, in the record's words; a CPU's circumstances begin with its `device_name`."""
    parts = ceiling.provenance.conditions.split("; ")
    about = takewhile(lambda p: p != device_name and not _CIRCUMSTANCE.match(p), parts)
    source = _SEARCHED.sub("", ceiling.provenance.source)
    return source, *(_LESS.sub("", part) for part in about if part)


def alike(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Whether two methods are one.  A level that a sweep found at other sizes need only overlap."""
    return len(before) == len(after) and all(map(_part_alike, before, after))


def _part_alike(before: str, after: str) -> bool:
    if before == after:
        return True
    old, new = _PLATEAU.fullmatch(before), _PLATEAU.fullmatch(after)
    if old is None or new is None or old["sweep"] != new["sweep"]:
        return False
    try:
        (low, high), (after_low, after_high) = (
            (parse(m["low"], "B"), parse(m["high"], "B")) for m in (old, new)
        )
    except BadInput:  # sizes in other words are not known to overlap
        return False
    return low <= after_high and after_low <= high
