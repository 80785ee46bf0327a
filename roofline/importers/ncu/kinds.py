"""What a metric counts, told by its name, and whether the unit beside it is one of that kind.

A time in cycles or bytes in per cent are no times and no bytes, whatever their number.  Metrics of
which the name does not tell what they count go with every unit.
"""

import re
from functools import lru_cache
from typing import Literal

from roofline.importers.ncu.number import kind

Counted = Literal["time", "byte", "count", "cycle", "percent", ""]  # "" is not told by the name

_NAMED: tuple[tuple[Counted, re.Pattern[str]], ...] = (
    ("time", re.compile(r"__time_(duration|active)$")),
    ("byte", re.compile(r"_bytes(_|$)|^launch__shared_mem_per_block")),
    ("cycle", re.compile(r"_cycles_(elapsed|active)$")),
    ("count", re.compile(r"_(sectors|requests|inst|wavefronts|ops)(_|$)")),
)


@lru_cache(maxsize=4096)
def of_its_kind(metric: str, unit: str) -> bool:
    """Whether `metric` can be in `unit`, of which the size is known.

    >>> of_its_kind("dram__bytes_read.sum", "Mbyte"), of_its_kind("dram__bytes_read.sum", "sector")
    (True, False)
    >>> of_its_kind("sm__cycles_elapsed.avg.per_second", "Ghz")
    True
    >>> of_its_kind("gpu__time_duration.sum", "cycle"), of_its_kind("gpu__time_duration.sum", "")
    (False, False)
    """
    counted, (above, below) = _counted(metric), _parts(unit)
    over = kind(above)
    if counted == "percent":
        return over in ("percent", "")
    if counted == "time":
        return over == "time" and not below
    if counted and not _as_often(metric, unit):
        return False
    if counted == "byte":
        return over == "byte"
    if counted == "cycle" and _each_second(metric):
        return over in ("count", "hertz")
    return not counted or over in ("count", "")


def _as_often(metric: str, unit: str) -> bool:
    """Whether both are per second or neither is; no unit is that of a metric per second too.

    What the profiler derives of other metrics can be per second without its unit saying so.
    """
    above, below = _parts(unit)
    is_rate = kind(below) == "time" or kind(above) == "hertz"
    unsaid = _each_second(metric) and (not unit or metric.startswith("derived__"))
    return unsaid or is_rate == _each_second(metric)


def _parts(unit: str) -> tuple[str, str]:
    above, _, below = unit.partition("/")
    return above.strip(), below.strip()


def _each_second(metric: str) -> bool:
    return ".per_second" in metric


def base_unit(metric: str) -> str:
    """The unit of `metric` where everything is printed in base units and nothing says so.

    Of time that is the profiler's, nanoseconds.
    """
    counted, each_second = _counted(metric), _each_second(metric)
    if counted == "time":
        return "nsecond"
    if counted == "byte":
        return "byte/second" if each_second else "byte"
    return "hz" if counted == "cycle" and each_second else ""


def _counted(metric: str) -> Counted:
    stem, _, roll = metric.partition(".")
    if "pct" in roll or stem.endswith("_pct"):
        return "percent"
    if roll.startswith("ratio"):
        return ""
    return next((counted for counted, named in _NAMED if named.search(stem)), "")
