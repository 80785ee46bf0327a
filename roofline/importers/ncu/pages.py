"""From tables to launches: the raw page, the details page and the summary page.

raw      one row a launch, one column a metric, a row of units below the header
details  one row a metric of a launch
summary  one row a metric of all launches of a kernel: minimum, maximum, average
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from roofline.counters import needed
from roofline.importers.cells import Mark, number
from roofline.importers.ncu import names
from roofline.importers.ncu.kinds import base_unit, of_its_kind
from roofline.importers.ncu.number import Cell, scale
from roofline.importers.ncu.text import AVERAGE, KERNEL, METRIC, UNIT, VALUE, Table

# Columns that say which launch a row is of; everything else is a metric or is left out.
IDENTITY = (
    "ID", "Process ID", KERNEL, "Stream", "Block Size", "Grid Size", "Device", "CC",
    "Invocations",
)  # fmt: skip
NVTX = "Push/Pop_Range"
FEW = 100  # a table of so few metrics was asked for by name: all are kept
# Domain, name, and six fields of which a name is not part, though it may hold colons.
_RANGE = re.compile(r'"[^":]*:(?P<name>(?:[^"]+?(?=(?::[^":]*){6}"))|[^":]+)[^"]*"')
_DIMENSIONS = re.compile(r"\(?\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)?(?:x\((.*)\))?")
DEVICE_NAME = "device__attribute_display_name"
L2_CAPACITY = "device__attribute_l2_cache_size"
ATTRIBUTE = "device__attribute_"  # of the device, no count: some are -1


@dataclass(slots=True)
class Launch:
    """One profiled launch, its cells still as text."""

    kernel: str
    stream: str = ""
    block: str = ""
    grid: str = ""
    device: str = ""  # its number
    cc: str = ""
    process: str = ""
    nvtx: str = ""
    invocations: int = 1  # a summary stands for several
    cells: dict[str, tuple[str, str]] = field(default_factory=dict)  # metric -> value, unit
    pages: set[str] = field(default_factory=set)

    def counters(self, mark: Mark, unread: dict[str, str]) -> dict[str, float]:
        """Values in base units; of metrics that cannot be read `unread` takes up why.

        That is a unit that is not known or not theirs, or a count below zero.
        """
        found: dict[str, float] = {}
        for metric, (text, unit) in self.cells.items():
            scaled = scale(unit)
            value = number(text, mark)
            if value is None:
                continue
            if scaled is None or not of_its_kind(metric, unit):
                unread[metric] = f"in {unit!r}" if unit else "without a unit"
                continue
            if value < 0 and not metric.startswith(ATTRIBUTE):
                unread[metric] = f"at {value:g}"
                continue
            found[metric] = value * scaled[0] / scaled[1]
        return found


def wanted(header: Sequence[str]) -> list[int]:
    """Positions of the columns to keep: the launch, its ranges, metrics that mean something."""
    metrics = [at for at, name in enumerate(header) if "__" in name]
    keep_all = len(metrics) <= FEW
    return [
        at
        for at, name in enumerate(header)
        if name in (*IDENTITY, METRIC, UNIT, VALUE, AVERAGE)
        or NVTX in name
        or name in (DEVICE_NAME, L2_CAPACITY)
        or ("__" in name and (keep_all or needed(_plain(name)[0])))
    ]


def _plain(name: str) -> tuple[str, str]:
    """Metric name and unit of a column head such as ``sm__cycles_elapsed.avg (cycle)``."""
    metric, _, unit = name.partition(" (")
    told = unit.endswith(")") and ")" not in unit[:-1] and "__" in metric and " " not in metric
    return (metric, unit[:-1]) if told else (name, "")


class Launches:
    """Launches in the order met; pages of one file or of several that show the same are merged."""

    def __init__(self, called: Callable[[str], str] = str) -> None:
        """`called` is what is kept of a name that the user gave."""
        self._called = called
        self.found: list[Launch] = []
        self.unnamed: set[str] = set()  # rows of the details page with no meaning here
        self.twice: set[str] = set()  # metrics with two values for one launch
        self._by_key: dict[tuple[str, str, str], Launch] = {}

    def cells(self) -> Iterator[Cell]:
        """Every cell, for telling the locale by."""
        for launch in self.found:
            for metric, (text, unit) in launch.cells.items():
                yield metric, unit, text

    def add(self, table: Table) -> None:
        """Take in one table of any page."""
        if METRIC in table.header and (VALUE in table.header or AVERAGE in table.header):
            self._long(table)
        else:
            self._wide(table)

    def _wide(self, table: Table) -> None:
        at = {name: position for position, name in enumerate(table.header)}
        columns = [(i, *_plain(n)) for i, n in enumerate(table.header) if "__" in n]
        rows: Iterable[tuple[str, ...]] = table.rows
        # Without a row of units a file was printed in base units.
        units = {name: unit or base_unit(name) for _, name, unit in columns}
        if table.rows and not table.rows[0][at[KERNEL]] and not _cell(table.rows[0], at, "ID"):
            units = {name: table.rows[0][i].strip() for i, name, _ in columns}
            rows = table.rows[1:]
        mine: dict[tuple[str, str, str], Launch] = {}
        for row in rows:
            if not row[at[KERNEL]]:
                continue  # a further row of units, or of totals
            key = _key(row, at)
            launch = self._launch(row, at, key, "raw", mine, again=key in mine)
            launch.cells.update((name, (row[i], units[name])) for i, name, _ in columns if row[i])

    def _long(self, table: Table) -> None:
        at = {name: position for position, name in enumerate(table.header)}
        value = at[VALUE] if VALUE in at else at[AVERAGE]
        page = "details" if VALUE in at else "summary"
        mine: dict[tuple[str, str, str], Launch] = {}
        key = ("", "", "")
        seen: set[tuple[int, str]] = set()
        for row in table.rows:
            if row[at[KERNEL]] or _cell(row, at, "ID"):
                key = _key(row, at)
            name = row[at[METRIC]]
            unit = row[at[UNIT]].strip() if UNIT in at else base_unit(name)
            metric = names.metric(name, unit)
            if metric is None:
                self.unnamed |= {name} if name else set()
                continue
            again = key in mine and metric in mine[key].cells and not _cell(row, at, "ID")
            launch = self._launch(row, at, key, page, mine, again)
            if "__" in name:
                self._put(launch, metric, (row[value], unit), seen)
            else:
                launch.cells.setdefault(metric, (row[value], unit))

    def _put(
        self, launch: Launch, metric: str, cell: tuple[str, str], seen: set[tuple[int, str]]
    ) -> None:
        """A value under the profiler's own name; of two that differ in one table neither is it."""
        place = (id(launch), metric)
        if place in seen and launch.cells[metric] != cell:
            self.twice.add(metric)
            cell = ("", "")
        seen.add(place)
        launch.cells[metric] = cell

    def _launch(
        self,
        row: tuple[str, ...],
        at: dict[str, int],
        key: tuple[str, str, str],
        page: str,
        mine: dict[tuple[str, str, str], Launch],
        again: bool,
    ) -> Launch:
        """The launch of a row: of this table, of another page of the same launch, or a new one."""
        if key in mine and not again:
            return mine[key]
        known = self._by_key.get(key)
        if known is not None and page not in known.pages and not again:
            known.pages.add(page)
            mine[key] = known
            return known
        nvtx = next((row[i] for name, i in at.items() if NVTX in name), "")
        launch = Launch(
            kernel=self._called(row[at[KERNEL]]),
            stream=_cell(row, at, "Stream"),
            block=_cell(row, at, "Block Size"),
            grid=_cell(row, at, "Grid Size"),
            device=_cell(row, at, "Device"),
            cc=_cell(row, at, "CC"),
            process=_cell(row, at, "Process ID"),
            nvtx=".".join(map(self._called, _RANGE.findall(nvtx))),
            invocations=_whole(_cell(row, at, "Invocations")) or 1,
            pages={page},
        )
        self.found.append(launch)
        self._by_key[key] = mine[key] = launch
        return launch


def dimensions(text: str) -> tuple[int, int, int] | None:
    """``(32, 4, 1)`` as numbers."""
    match = _DIMENSIONS.match(text)
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))


def _key(row: tuple[str, ...], at: dict[str, int]) -> tuple[str, str, str]:
    summed = ("Device", "Grid Size", "Block Size")
    which = _cell(row, at, "ID") or " ".join(_cell(row, at, name) for name in summed)
    return _cell(row, at, "Process ID"), which, row[at[KERNEL]]


def _cell(row: tuple[str, ...], at: dict[str, int], name: str) -> str:
    position = at.get(name)
    return "" if position is None else row[position]


def _whole(text: str) -> int | None:
    digits = text.replace(",", "").replace(".", "")
    return int(digits) if digits.isdigit() and len(digits) < 12 else None
