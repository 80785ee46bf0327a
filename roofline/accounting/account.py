"""The result of accounting: distinct calls, how often each was made, and what that comes to."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from roofline.device import DRAM, Resource
from roofline.errors import NotFound
from roofline.runfile import Phase, Signature
from roofline.units import number_of
from roofline.work import Access, Count, Entry, Exactness, Ledger

EACH_ALONE = (
    "every operator reads its operands from memory and writes its results there; what stays in a "
    "cache, or is fused, costs less"
)
AT_LEAST = (
    "executed is what is known to run: recomputation, whole tiles and sectors where their rule is "
    "known, the formula elsewhere"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Equal calls made in one phase and module."""

    signature: int  # position in Account.signatures
    calls: int
    phase: Phase = "other"
    module: str = ""  # "" is outside every module
    recomputed: bool = False  # a repetition that the formula of the model does not ask for


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Lines that belong together, summed."""

    name: str
    lines: tuple[Line, ...]
    algorithmic: Ledger
    executed: Ledger

    @property
    def calls(self) -> int:
        """How many, recomputed ones included."""
        return sum(line.calls for line in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What some program needs, counted and not timed."""

    subject: str  # what was counted, as it calls itself
    signatures: tuple[Signature, ...]  # distinct calls, each with the ledgers of one
    lines: tuple[Line, ...]  # in order of the first call of each
    how: tuple[str, ...] = ()  # how it was counted, in words

    @property
    def algorithmic(self) -> Ledger:
        """By the formulas: each operand once, nothing twice."""
        return self.total(self.lines).algorithmic

    @property
    def executed(self) -> Ledger:
        """What is known to run: recomputation, tiles and sectors included."""
        return self.total(self.lines).executed

    @property
    def flop(self) -> int:
        """Algorithmic flop of all pipes."""
        return self.algorithmic.flop

    @property
    def read(self) -> int:
        """Algorithmic bytes read, each operator by itself."""
        return self.algorithmic.traffic(DRAM, "read")

    @property
    def written(self) -> int:
        """Algorithmic bytes written, each operator by itself."""
        return self.algorithmic.traffic(DRAM, "write")

    @property
    def intensity(self) -> float | None:
        """flop/B at dram, each operator by itself; None where no byte moves."""
        moved = self.read + self.written
        return self.flop / moved if moved else None

    @property
    def calls(self) -> int:
        """How many operators were called."""
        return sum(line.calls for line in self.lines)

    @property
    def unaccounted(self) -> Mapping[str, int]:
        """What nobody can account for, and how often it was called."""
        found: dict[str, int] = {}
        for line in self.lines:
            for name in self._ledger(line).unaccounted:
                found[name] = found.get(name, 0) + line.calls
        return found

    @property
    def conventions(self) -> tuple[str, ...]:
        """Choices that a reader could make otherwise, in words: of the whole, then of operators."""
        each = (text for line in self.lines for text in self._ledger(line).conventions)
        return tuple(dict.fromkeys((EACH_ALONE, AT_LEAST, *self.how, *each)))

    def by(self, grouping: str = "operator") -> tuple[Group, ...]:
        """Summed by one of GROUPINGS, most flop first, then most bytes."""
        if grouping not in GROUPINGS:
            raise NotFound(f"no grouping {grouping!r}; there is {', '.join(GROUPINGS)}")
        key = GROUPINGS[grouping]
        groups: dict[str | int, list[Line]] = {}
        for line in self.lines:
            groups.setdefault(key(self, line), []).append(line)
        made = [self.total(lines, _label(self, where, lines)) for where, lines in groups.items()]
        return tuple(sorted(made, key=_weight, reverse=True))

    def total(self, lines: Iterable[Line], name: str = "") -> Group:
        """Some of the lines as one."""
        lines = tuple(lines)
        asked, ran = _Sum(Count.ALGORITHMIC), _Sum(Count.EXECUTED)
        for line in lines:
            signature = self.signatures[line.signature]
            ledger = self._ledger(line)
            if not line.recomputed:
                asked.add(ledger, line.calls)
            ran.add(ledger, line.calls, signature.executed)
        return Group(name=name, lines=lines, algorithmic=asked.ledger(), executed=ran.ledger())

    def _ledger(self, line: Line) -> Ledger:
        ledger = self.signatures[line.signature].ledger
        return Ledger(Count.ALGORITHMIC) if ledger is None else ledger


GROUPINGS: Mapping[str, Callable[[Account, Line], str | int]] = MappingProxyType({
    "call": lambda account, line: line.signature,
    "operator": lambda account, line: account.signatures[line.signature].name,
    "module": lambda account, line: line.module,
    "phase": lambda account, line: "recomputed" if line.recomputed else line.phase,
})  # fmt: skip


def _label(account: Account, where: str | int, lines: list[Line]) -> str:
    if isinstance(where, int):
        return account.signatures[where].name
    return where or "outside modules"


def _weight(group: Group) -> tuple[int, int, int]:
    moved = sum(e.amount for e in group.executed.entries if e.resource.is_boundary)
    return group.algorithmic.flop, moved, group.calls


class _Sum:
    """Ledgers added up, one line a resource and direction."""

    def __init__(self, count: Count):
        self._count = count
        self._amounts: dict[tuple[Resource, Access | None], list[int]] = {}  # amount, low, high
        self._exactness: dict[tuple[Resource, Access | None], Exactness] = {}
        self._calls = 0
        self._unaccounted: dict[str, None] = {}
        self._conventions: dict[str, None] = {}

    def add(self, ledger: Ledger, calls: int, instead: Ledger | None = None) -> None:
        """`calls` times `ledger`; of resources that `instead` has lines for, those."""
        self._calls += calls
        self._unaccounted.update(dict.fromkeys(ledger.unaccounted))
        self._conventions.update(dict.fromkeys(ledger.conventions))
        if instead is not None:
            self._conventions.update(dict.fromkeys(instead.conventions))
        for entry in _entries(ledger, instead):
            where = entry.resource, entry.access
            totals = self._amounts.setdefault(where, [0, 0, 0])
            low = entry.amount if entry.low is None else entry.low
            high = entry.amount if entry.high is None else entry.high
            for at, amount in enumerate((entry.amount, low, high)):
                totals[at] += calls * amount
            known = self._exactness.get(where, Exactness.EXACT)
            self._exactness[where] = max(known, entry.exactness, key=list(Exactness).index)

    def ledger(self) -> Ledger:
        """The sum."""
        return Ledger(
            self._count,
            tuple(self._lines()),
            tuple(self._unaccounted),
            tuple(self._conventions),
        )

    def _lines(self) -> Iterator[Entry]:
        for (resource, access), (amount, low, high) in self._amounts.items():
            label = self._exactness[resource, access]
            ends = label is Exactness.BOUNDED
            yield Entry(
                resource,
                amount,
                f"sum over {number_of(self._calls, 'call')}",
                access,
                label,
                low if ends else None,
                high if ends else None,
            )


def _entries(ledger: Ledger, instead: Ledger | None) -> Iterator[Entry]:
    if instead is None:
        yield from ledger.entries
        return
    replaced = {entry.resource for entry in instead.entries}
    yield from (entry for entry in ledger.entries if entry.resource not in replaced)
    yield from instead.entries
