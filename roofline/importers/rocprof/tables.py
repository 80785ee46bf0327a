"""CSV tables of rocprof 1 and 2, rocprofv3 and rocprofiler-compute, by their column names.

One row a dispatch with a column a counter, one row a counter of a dispatch, one row a dispatch
without counters, or one row a kernel with its calls: told apart by which columns there are.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from roofline.importers.cells import Mark, number
from roofline.importers.limits import identifier
from roofline.importers.rocprof.dispatch import Dispatch

# fact -> spellings of its column, lower case without punctuation
COLUMNS = {
    "kernel": ("kernelname", "name"),
    "start": ("starttimestamp", "beginns"),
    "end": ("endtimestamp", "endns", "stoptimestamp"),
    "dispatch": ("dispatchid", "index"),
    "process": ("processid", "pid"),
    "agent": ("agentid", "gpuid"),
    "stream": ("streamid", "queueid"),
    "grid": ("gridsize", "grd"),
    "block": ("workgroupsize", "wgr"),
    "registers": ("vgprcount", "archvgpr", "vgpr"),
    "shared": ("ldsblocksize", "lds", "ldsperworkgroup", "groupsegmentsize"),
    "counter": ("countername",),
    "value": ("countervalue",),
    "calls": ("calls", "callcount"),
    "total": ("totaldurationns",),
    "direction": ("direction",),
    "product": ("productname",),
    "agent_type": ("agenttype",),
}
# Columns that are neither of the above nor counters.
OTHER = frozenset({
    "kind", "operation", "guid", "domain", "function", "correlationid", "threadid", "tid", "nodeid",
    "kernelid", "scr", "scratchsize", "scratchperworkitem", "privatesegmentsize", "accumvgpr",
    "accumvgprcount", "sgpr", "sgprcount", "wavesize", "sig", "obj", "fbar", "queueindex",
    "queueid", "dispatchns", "completens", "durationns", "averagens", "percentage", "minns",
    "maxns", "stddev", "workgroupsizex", "workgroupsizey", "workgroupsizez", "gridsizex",
    "gridsizey", "gridsizez", "sourceagentid", "destinationagentid",
})  # fmt: skip
_AXES = "xyz"
_DIRECTIONS = {
    "HOST_TO_DEVICE": "HtoD", "DEVICE_TO_HOST": "DtoH", "DEVICE_TO_DEVICE": "DtoD",
}  # fmt: skip
# Hardware counters of parts of the chip, which add; others are ratios or percentages.
_ADDS = ("SQ_", "TCC_", "TCP_", "TA_", "TD_", "GRBM_", "CPC_", "CPF_", "SPI_", "GL2C_")


@dataclass(slots=True)
class Tables:
    """What the tables of one recording hold together."""

    dispatches: list[Dispatch] = field(default_factory=list)
    products: dict[str, str] = field(default_factory=dict)  # agent -> what it is sold as
    skipped: int = 0  # tables without kernels
    short: int = 0  # rows that are not as long as their table is wide
    _by_key: dict[tuple[str, str, str], Dispatch] = field(default_factory=dict)

    def add(self, table: Iterator[list[str]], mark: Mark) -> None:
        """Take in the rows of one table; those before its header are passed over."""
        for row in table:
            head = _Head(row, mark)
            if head.is_table:
                self._read(head, table)
                return
        self.skipped += 1

    def _read(self, head: "_Head", table: Iterable[list[str]]) -> None:
        if head.has("product"):
            self._agents(head, table)
            return
        numbers = count()
        for row in table:
            if len(row) != head.width:
                self.short += bool(row)
                continue
            if head.has("calls", "total"):
                self._summary(head, row)
            elif head.has("direction"):
                self._copy(head, row)
            else:
                self._dispatch(head, row, next(numbers))

    def _dispatch(self, head: "_Head", row: list[str], position: int) -> None:
        kernel = head.text(row, "kernel")
        if not kernel:
            return
        which = head.text(row, "dispatch") or str(position)
        key = (head.text(row, "process"), which, kernel)
        known = self._by_key.get(key)
        if known is None:
            known = self._by_key[key] = Dispatch(kernel, agent=head.text(row, "agent"))
            self.dispatches.append(known)
        if known.start_ns is None or known.end_ns is None:
            known.start_ns, known.end_ns = head.whole(row, "start"), head.whole(row, "end")
        stream = identifier(head.text(row, "stream"))
        known.stream = known.stream if stream is None else stream
        known.counters |= head.launched(row)
        if head.has("counter", "value"):
            name, value = head.text(row, "counter"), number(head.text(row, "value"), head.mark)
            if value is not None:
                before = known.counters.get(name, 0.0) if name.startswith(_ADDS) else 0.0
                known.counters[name] = before + value
        known.counters |= head.counted(row)

    def _summary(self, head: "_Head", row: list[str]) -> None:
        total, calls = head.whole(row, "total"), head.whole(row, "calls")
        if total and calls and calls > 0:
            name = head.text(row, "kernel")
            self.dispatches.append(
                Dispatch(name, start_ns=0, end_ns=round(total / calls), times=calls)
            )

    def _copy(self, head: "_Head", row: list[str]) -> None:
        way = head.text(row, "direction").removeprefix("MEMORY_COPY_")
        self.dispatches.append(
            Dispatch(
                f"Memcpy {_DIRECTIONS.get(way, way)}",
                start_ns=head.whole(row, "start"),
                end_ns=head.whole(row, "end"),
                is_copy=True,
            )
        )

    def _agents(self, head: "_Head", table: Iterable[list[str]]) -> None:
        for row in table:
            if len(row) != head.width:
                self.short += bool(row)
            elif head.text(row, "agent_type").upper() in ("GPU", ""):
                self.products[str(len(self.products))] = head.text(row, "product")


class _Head:
    """Where the columns of one table are."""

    def __init__(self, row: Sequence[str], mark: Mark) -> None:
        self.width = len(row)
        self.mark = mark  # of decimals
        plain = [re.sub(r"[^a-z0-9]", "", name.lower()) for name in row]
        self._at = {
            fact: plain.index(found)
            for fact, names in COLUMNS.items()
            if (found := next((name for name in names if name in plain), None)) is not None
        }
        self._axes = {
            fact: [plain.index(f"{stem}{axis}") for axis in _AXES]
            for fact, stem in (("grid", "gridsize"), ("block", "workgroupsize"))
            if all(f"{stem}{axis}" in plain for axis in _AXES)
        }
        taken = {spelling for names in COLUMNS.values() for spelling in names} | OTHER
        self._counters = [
            (at, name)
            for at, name in enumerate(row)
            if plain[at] not in taken and re.sub(r"\d+$", "", plain[at]) not in taken
        ]

    @property
    def is_table(self) -> bool:
        """Whether this row is the head of a table that is read here."""
        if self.has("product"):
            return True
        if not self.has("kernel"):
            return self.has("direction", "start", "end")
        return self.has("start", "end") or self.has("dispatch") or self.has("calls", "total")

    def has(self, *facts: str) -> bool:
        """Whether all of these columns are here."""
        return all(fact in self._at for fact in facts)

    def text(self, row: Sequence[str], fact: str) -> str:
        """The cell of a column, "" where there is none."""
        return row[self._at[fact]].strip() if fact in self._at else ""

    def whole(self, row: Sequence[str], fact: str) -> int | None:
        """A whole number: nanosecond counters do not survive as doubles."""
        text = self.text(row, fact).replace(self.mark, ".")
        digits = text.partition(".")[0] if re.fullmatch(r"\d+(\.0*)?", text) else ""
        return int(digits) if digits and len(digits) < 19 else None

    def launched(self, row: Sequence[str]) -> dict[str, float]:
        """Launch configuration, under the names that a PyTorch trace has for it.

        The grid of these formats counts work items, so it is divided by the group.
        """
        items, group = self._size(row, "grid"), self._size(row, "block")
        found: dict[str, float] = {}
        if group:
            found["block"] = group
            if items is not None:
                found["grid"] = float(-(-items // group))
        for fact, name in (("registers", "registers per thread"), ("shared", "shared memory")):
            value = number(self.text(row, fact), self.mark)
            if value is not None:
                found[name] = value
        return found

    def _size(self, row: Sequence[str], fact: str) -> float | None:
        if fact not in self._axes:
            return number(self.text(row, fact), self.mark)
        sizes = [number(row[at], self.mark) for at in self._axes[fact]]
        known = [size for size in sizes if size is not None]
        return known[0] * known[1] * known[2] if len(known) == len(_AXES) else None

    def counted(self, row: Sequence[str]) -> dict[str, float]:
        """The counters of a table with a column each."""
        if self.has("counter"):
            return {}
        pairs = ((name, number(row[at], self.mark)) for at, name in self._counters)
        return {name: value for name, value in pairs if value is not None}
