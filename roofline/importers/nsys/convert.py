"""From joined activities and launches to the events, signatures and steps of a run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from roofline.called import readable
from roofline.importers import copies
from roofline.importers.nsys.configured import Configured
from roofline.importers.nsys.gathered import Value
from roofline.importers.nsys.joins import Joined
from roofline.importers.nsys.ranges import Range, Timeline, divided
from roofline.importers.nsys.read import WHAT, Database
from roofline.importers.rows import MANY, events, same, worded
from roofline.importers.windows import window_of
from roofline.runfile import Signature, Step, arrow_schema
from roofline.work import unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

# Directions of a copy as CUPTI numbers them.
COPIES = {
    1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD",
    9: "HtoH", 10: "PtoP",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The parts of a run."""

    signatures: tuple[Signature, ...]
    steps: tuple[Step, ...]
    events: "pa.Table"
    undated: int  # activities without a positive duration
    marked: bool  # ranges mark the steps


def convert(joined: Joined, database: Database, line: Timeline) -> Converted:
    """Rows of activities, then of launches, a batch at a time."""
    import pyarrow as pa

    steps = divided(line.steps)
    into = _Rows(joined, database, line.paths, steps)
    count = sum(part.num_rows for part in joined.activities)
    parts = [into.none()]
    parts += [into.activities(rows, count) for rows in _given_up(joined.activities)]
    parts += [into.launches(rows) for rows in _given_up(joined.launches)]
    return Converted(
        signatures=tuple(into.made.signatures),
        steps=into.steps,
        events=pa.concat_tables(parts),
        undated=into.undated,
        marked=bool(steps),
    )


class _Rows:
    """Rows of the events table, with the words that their numbers stand for."""

    def __init__(
        self, joined: Joined, database: Database, paths: Sequence[str], steps: Sequence[Range]
    ):
        """Times count from the first start of anything."""
        import pyarrow as pa

        self.undated = 0  # activities without a positive duration, so far
        self.made = _Made(database.strings)
        self.steps = _steps(steps, *joined.span)
        keys = database.values["key"]
        self._origin = joined.span[0]
        self._starts = [start for _, start, _, _ in steps]
        self._key = _numbers(keys, self.made.activity, joined.keys)
        self._name = _numbers(database.called["name"], self.made.launch, joined.names)
        kinds = [_kind(what) for what, _, _ in keys]
        self._kinds = list(dict.fromkeys(kinds))
        self._kind = pa.array(map(self._kinds.index, kinds), pa.int32())
        self._stream = pa.array([stream for (stream,) in database.values["stream"]], pa.int64())
        self._counters = Configured(database.values["configuration"], MANY)
        self._paths = pa.array(paths, pa.string())
        # Ids of processes say nothing afterwards; of one alone neither does its number.
        processes = joined.processes if len(joined.processes) > 1 else ()
        words = ["", *(f"process {at + 1}" for at in range(len(processes)))]
        self._threads = pa.array(words, pa.string())
        word = {number: at + 1 for at, number in enumerate(processes)}
        numbers = [word.get(number, 0) for number in range(len(database.processes))]
        self._process = pa.array(numbers, pa.int32())

    def none(self) -> "pa.Table":
        """No rows."""
        import pyarrow as pa

        return events({"signature": pa.array([], pa.int32())})

    def activities(self, ran: "pa.RecordBatch", count: int) -> "pa.Table":
        """Kernels, copies and memsets; launches stand behind all `count` of them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        dated = pc.fill_null(pc.greater(ran["duration"], 0), False)
        self.undated += ran.num_rows - (pc.sum(dated).as_py() or 0)
        return events({
            "signature": self._key.take(ran["key"]),
            "kind": worded(self._kinds, self._kind.take(ran["key"])),
            "step": self._step_of(ran["begun"]),
            "start_ns": pc.subtract(pc.fill_null(ran["start"], self._origin), self._origin),
            "duration_ns": pc.if_else(dated, ran["duration"], pa.scalar(None, pa.int64())),
            "module": worded(self._paths, ran["path"]),
            "thread": self._thread(ran["process"]),
            "stream": self._stream.take(ran["stream"]),
            "parent": pc.add(ran["launch"].cast(pa.int64()), count),
            "counters": self._counters.of(ran["configuration"]),
        })  # fmt: skip

    def launches(self, calls: "pa.RecordBatch") -> "pa.Table":
        """Calls that started something."""
        import pyarrow.compute as pc

        return events({
            "signature": self._name.take(calls["name"]),
            "kind": same("launch", arrow_schema().field("kind").type, calls.num_rows),
            "step": self._step_of(calls["start"]),
            "start_ns": pc.subtract(calls["start"], self._origin),
            "duration_ns": calls["duration"],
            "thread": self._thread(calls["process"]),
        })  # fmt: skip

    def _step_of(self, times: "pa.Array") -> "pa.Array | pa.ChunkedArray":
        """The step in which each of `times` falls, -1 outside all."""
        import pyarrow as pa

        if not self._starts:  # the whole recording
            return same(0, pa.int32(), len(times))
        pairs = zip(self._starts, self.steps, strict=True)
        return window_of(times, self._starts, [start + step.duration_ns for start, step in pairs])

    def _thread(self, process: "pa.Array") -> "pa.DictionaryArray":
        import pyarrow.compute as pc

        return worded(self._threads, pc.fill_null(self._process.take(process), 0))


@dataclass(slots=True)
class _Made:
    """Signatures, each made once."""

    strings: "Mapping[int, str]"
    signatures: list[Signature] = field(default_factory=list)
    numbers: dict[tuple[str, int | None], int] = field(default_factory=dict)

    def activity(self, what: str, name: int | str | None, nbytes: int | None) -> int:
        """A kernel by its readable name; a copy or memset by direction and size, its whole work."""
        if what == "kernel":
            shown = readable(self._named(name))
            return self._number((shown, None), lambda: Signature(name=shown, ledger=unknown(shown)))
        shown = "Memset (Device)" if what == "memset" else _copy(name)
        return self._number(
            (shown, nbytes),
            lambda: Signature(name=shown, ledger=copies.ledger(shown, nbytes)),
        )

    def launch(self, name: int | str | None) -> int:
        """A call of the runtime, without the version that ends its name."""
        shown = self._named(name).partition("_v")[0]
        return self._number((shown, -1), lambda: Signature(name=shown))

    def _named(self, name: int | str | None) -> str:
        if isinstance(name, str):
            return name or "unnamed"
        return "unnamed" if name is None else self.strings.get(name, f"name {name}")

    def _number(self, key: tuple[str, int | None], make: Callable[[], Signature]) -> int:
        if key not in self.numbers:
            self.numbers[key] = len(self.signatures)
            self.signatures.append(make())
        return self.numbers[key]


def _copy(kind: int | str | None) -> str:
    known = COPIES.get(kind) if isinstance(kind, int) else None
    return f"Memcpy {known or 'of unknown direction'}"


def _steps(steps: Sequence[Range], origin: int, end: int) -> tuple[Step, ...]:
    """The ranges that are steps; the last waits for the device.  Without any, the whole."""
    if not steps:
        return (Step(start_ns=0, duration_ns=end - origin),)
    ends = [*(step[2] for step in steps[:-1]), max(steps[-1][2], end)]
    return tuple(
        Step(start_ns=start - origin, duration_ns=stop - start, name=text)
        for (_, start, _, text), stop in zip(steps, ends, strict=True)
    )


def _given_up(batches: "list[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """The same rows in as few batches as MANY rows at a time make: each part is looked at often."""
    import pyarrow as pa

    while batches:
        group = [batches.pop(0)]
        count = group[0].num_rows
        while batches and count + batches[0].num_rows <= MANY:
            count += batches[0].num_rows
            group.append(batches.pop(0))
        yield from pa.Table.from_batches(group).combine_chunks().to_batches()


def _kind(what: str) -> str:
    return "kernel" if what == WHAT[0] else "memcpy"  # memsets among the latter


def _numbers(
    values: Sequence[Value], number: Callable[..., int], here: Sequence[int]
) -> "pa.Array":
    """The number of each value that is `here`; others are on another device."""
    import pyarrow as pa

    made: list[int | None] = [None] * len(values)
    for at in here:
        made[at] = number(*values[at])
    return pa.array(made, pa.int32())
