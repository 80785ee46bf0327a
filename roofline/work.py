"""What work needs: a ledger whose every line says why it is there."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from roofline.device import Resource
from roofline.errors import BadInput

Access = Literal["read", "write"]


class Count(StrEnum):
    """Who counted."""

    ALGORITHMIC = "algorithmic"  # the formula: each operand once
    EXECUTED = "executed"  # what the hardware ran, padding and recomputation included
    ACHIEVED = "achieved"  # bytes a counter saw


class Exactness(StrEnum):
    """How far an amount can be trusted, best first."""

    EXACT = "exact"
    BOUNDED = "bounded"  # somewhere in [low, high]
    ESTIMATE = "estimate"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: so much of one resource, for one reason."""

    resource: Resource
    amount: int  # resource.unit
    why: str
    access: Access | None = None  # for bytes: which way they went
    exactness: Exactness = Exactness.EXACT
    low: int | None = None  # of a bounded amount
    high: int | None = None
    function: str | None = None  # of special functions: which one; None is several, or not known

    def __post_init__(self) -> None:
        if self.amount < 0:
            raise BadInput(f"{self.why}: {self.amount} {self.resource.unit} is negative")
        if self.exactness is Exactness.BOUNDED and (self.low is None or self.high is None):
            raise BadInput(f"{self.why}: a bounded amount needs low and high")


WAYS: tuple[Access, Access] = ("read", "write")


def not_collected(boundary: Resource, way: Access) -> str:
    """How the bytes of one way are named in `Ledger.unaccounted`, the other way being known."""
    return f"{boundary.name} {way}s: not collected"


_FEW = 0.05  # of the bytes written, that may be new to memory and still count for nothing


@dataclass(frozen=True, slots=True)
class Ledger:
    """The lines for some work, and the names of the parts nobody could account for."""

    count: Count
    entries: tuple[Entry, ...] = ()
    unaccounted: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()  # choices a reader could make otherwise, in words
    footprint: int | None = None  # B of memory touched at all; None is unknown

    def __add__(self, other: "Ledger") -> "Ledger":
        if self.count is not other.count:
            raise BadInput(f"cannot add {self.count} and {other.count} work")
        known = self.footprint is not None and other.footprint is not None
        return Ledger(
            self.count,
            self.entries + other.entries,
            self.unaccounted + other.unaccounted,
            tuple(dict.fromkeys(self.conventions + other.conventions)),
            (self.footprint or 0) + (other.footprint or 0) if known else None,
        )

    def demand(self) -> dict[Resource, int]:
        """Total need per resource, in that resource's unit."""
        totals: dict[Resource, int] = {}
        for entry in self.entries:
            totals[entry.resource] = totals.get(entry.resource, 0) + entry.amount
        return totals

    def crossed(self, boundary: Resource) -> int | None:
        """Bytes over `boundary` both ways; None where they, or those of one way, are not known.

        `demand` then has what is known, which is no total.
        """
        if not self._ways_known(boundary):
            return None
        return self.demand().get(boundary)

    def _ways_known(self, boundary: Resource) -> bool:
        return not any(not_collected(boundary, way) in self.unaccounted for way in WAYS)

    def traffic(self, boundary: Resource, access: Access) -> int:
        """Bytes over `boundary` one way."""
        return sum(e.amount for e in self.entries if e.resource == boundary and e.access == access)

    def read_share(self, boundary: Resource) -> float | None:
        """Reads over all bytes at `boundary`; None when a direction is not known."""
        lines = [e for e in self.entries if e.resource == boundary]
        total = sum(e.amount for e in lines)
        if not total or any(e.access is None for e in lines) or not self._ways_known(boundary):
            return None
        return self.traffic(boundary, "read") / total

    def function(self, resource: Resource) -> str | None:
        """The one function that all work on `resource` computes; None when there is no such."""
        named = {e.function for e in self.entries if e.resource == resource}
        return named.pop() if len(named) == 1 else None

    def in_place(self, boundary: Resource) -> bool:
        """Whether all that is written at `boundary` is memory that is read as well.

        Then a cache that fetches a line before it is written to has it anyway.  Unknown is no.
        """
        writes = self.traffic(boundary, "write")
        if not writes or self.footprint is None:
            return False
        return self.footprint - self.traffic(boundary, "read") <= _FEW * writes

    @property
    def flop(self) -> int:
        """Vector, tensor and special-function flop together (integer operations are not flop)."""
        return sum(e.amount for e in self.entries if e.resource.unit == "flop")

    @property
    def exactness(self) -> Exactness | None:
        """The weakest label among the lines; None when part of the work is unknown."""
        if self.unaccounted:
            return None
        order = list(Exactness)
        return max((e.exactness for e in self.entries), key=order.index, default=Exactness.EXACT)

    def times(self, calls: int) -> "Ledger":
        """The ledger of `calls` equal calls; the footprint is that of one."""
        return Ledger(
            self.count,
            tuple(_times(entry, calls) for entry in self.entries),
            self.unaccounted,
            self.conventions,
            self.footprint,
        )


def _times(entry: Entry, calls: int) -> Entry:
    return Entry(
        entry.resource,
        entry.amount * calls,
        entry.why,
        entry.access,
        entry.exactness,
        None if entry.low is None else entry.low * calls,
        None if entry.high is None else entry.high * calls,
        entry.function,
    )


def algorithmic(*entries: Entry, conventions: Iterable[str] = ()) -> Ledger:
    """A ledger counted from a formula; lines of zero are dropped, since nothing was needed."""
    return Ledger(
        Count.ALGORITHMIC, tuple(e for e in entries if e.amount), conventions=tuple(conventions)
    )


def executed(*entries: Entry, conventions: Iterable[str] = ()) -> Ledger:
    """A ledger of what the hardware runs, by a stated rule about the hardware."""
    return Ledger(
        Count.EXECUTED, tuple(e for e in entries if e.amount), conventions=tuple(conventions)
    )


def unknown(name: str) -> Ledger:
    """The ledger of something nobody can account for: named, never zero."""
    return Ledger(Count.ALGORITHMIC, unaccounted=(name,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The same work counted in up to three ways, side by side and never mixed."""

    algorithmic: Ledger | None = None
    executed: Ledger | None = None
    achieved: Ledger | None = None

    def __post_init__(self) -> None:
        for count in Count:
            ledger = getattr(self, count.value)
            if ledger is not None and ledger.count is not count:
                raise BadInput(f"a ledger counted as {ledger.count} cannot stand as {count}")


def times(work: Work, calls: int) -> Work:
    """The work of `calls` equal calls, each count apart."""
    return Work(
        **{
            c.value: None if (v := getattr(work, c.value)) is None else v.times(calls)
            for c in Count
        }
    )


def together(works: Iterable[Work]) -> Work:
    """All of it as one, each count apart; a count that some part lacks is unknown for the whole."""
    works = list(works)
    sums: dict[str, Ledger | None] = {}
    for count in Count:
        parts = [getattr(work, count.value) for work in works]
        whole = None if None in parts or not parts else parts[0]
        for part in parts[1:] if whole is not None else ():
            whole += part
        sums[count.value] = whole
    return Work(**sums)
