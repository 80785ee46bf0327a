"""From joined activities and launches to the events, signatures and steps of a run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from roofline.called import readable
from roofline.importers import believed, copies
from roofline.importers.limits import MOST_BYTES
from roofline.importers.nsys.configured import Configured
from roofline.importers.nsys.gathered import Value
from roofline.importers.nsys.graphs import GRAPH, WHOLE, called
from roofline.importers.nsys.joins import Joined
from roofline.importers.nsys.others import seconds
from roofline.importers.nsys.ranges import Range, Timeline
from roofline.importers.nsys.read import Database
from roofline.importers.rows import MANY, events, same, worded
from roofline.importers.windows import OUTSIDE, window_of
from roofline.runfile import Gap, Signature, Step, arrow_schema
from roofline.units import number_of
from roofline.work import unknown

if TYPE_CHECKING:
    import pyarrow as pa

# Directions of a copy as CUPTI numbers them.
COPIES = {
    1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD",
    9: "HtoH", 10: "PtoP",
}  # fmt: skip


IN_GRAPH = "not accounted for: a graph launch replays it, and its calls are not in the recording"


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The parts of a run."""

    signatures: tuple[Signature, ...]
    steps: tuple[Step, ...]
    events: "pa.Table"
    marked: bool  # ranges mark the steps
    gaps: tuple[Gap, ...]
    warnings: tuple[str, ...]


def convert(joined: Joined, database: Database, line: Timeline) -> Converted:
    """Rows of activities, then of launches, a batch at a time."""
    import pyarrow as pa

    into = _Rows(joined, database, line.paths)
    count = sum(part.num_rows for part in joined.activities)
    parts = [into.none()]
    parts += [into.activities(rows, count) for rows in _given_up(joined.activities)]
    parts += [into.launches(rows) for rows in _given_up(joined.launches)]
    return Converted(
        signatures=tuple(into.made.signatures),
        steps=into.steps,
        events=pa.concat_tables(parts),
        marked=bool(joined.steps),
        gaps=tuple(into.gaps()),
        warnings=tuple(into.warnings()),
    )


class _Rows:
    """Rows of the events table, with the words that their numbers stand for."""

    def __init__(self, joined: Joined, database: Database, paths: Sequence[str]):
        """Times count from the first start of anything."""
        import pyarrow as pa

        self._contradicted = joined.contradicted
        self._undated = 0  # activities without a positive duration, so far
        self._of_steps = self._outside = self._outside_ns = 0  # activities, those in no step
        self.made = _Made(database)
        self.steps = _steps(joined.steps, *joined.span)
        keys = database.values["key"]
        self._origin = joined.span[0]
        self._starts = [start for _, start, _, _ in joined.steps]
        # Without launches the last step waits for the device: what it does then belongs to it.
        self._ends = [end for _, _, end, _ in joined.steps]
        if self._ends and not joined.launches:
            self._ends[-1] = max(self._ends[-1], joined.span[1])
        self._key = _numbers(keys, self.made.activity, joined.keys)
        self._replayed = _numbers(keys, self.made.replayed, joined.replayed)
        self._graphs = bool(joined.replayed)
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
        self._undated += ran.num_rows - (pc.sum(dated).as_py() or 0)
        step = self._step_of(ran["begun"])
        if self._starts:
            outside = pc.and_(pc.equal(step, OUTSIDE), pc.is_valid(ran["begun"]))
            self._of_steps += ran.num_rows - ran["begun"].null_count
            self._outside += pc.sum(outside).as_py() or 0
            self._outside_ns += pc.sum(ran["duration"].filter(outside)).as_py() or 0
        return events({
            "signature": self._signature(ran),
            "kind": worded(self._kinds, self._kind.take(ran["key"])),
            "step": step,
            "start_ns": pc.subtract(ran["start"], self._origin),
            "duration_ns": pc.if_else(dated, ran["duration"], pa.scalar(None, pa.int64())),
            "module": worded(self._paths, ran["path"]),
            "thread": self._thread(ran["process"]),
            "stream": self._stream.take(ran["stream"]),
            "parent": pc.add(ran["launch"].cast(pa.int64()), count),
            "counters": self._counters.of(ran["configuration"]),
        })  # fmt: skip

    def _signature(self, ran: "pa.RecordBatch") -> "pa.Array":
        import pyarrow.compute as pc

        own = self._key.take(ran["key"])
        if not self._graphs:
            return own
        return pc.if_else(ran["graph"], self._replayed.take(ran["key"]), own)

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

    def gaps(self) -> Iterator[Gap]:
        """What belongs to no step."""
        if self._outside:
            yield Gap(
                name="outside every step",
                what=(
                    f"outside the steps that ranges mark began {self._outside:,} of "
                    f"{self._of_steps:,} device activities, which belong to none"
                ),
                seconds=seconds(self._outside_ns),
                count=self._outside,
            )

    def warnings(self) -> Iterator[str]:
        """What could not be believed."""
        yield from believed.said(0, self._contradicted)
        undated = self._undated - self._contradicted
        if undated:
            of = number_of(undated, "device activity")
            yield f"{of} without a positive duration: unknown"
        if self.made.oversized:
            sizes = number_of(len(self.made.oversized), "size")
            yield f"{sizes} of copies or memsets beyond any memory: unknown"

    def _step_of(self, times: "pa.Array") -> "pa.Array | pa.ChunkedArray":
        """The step in which each of `times` falls, -1 outside all and for null."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._starts:  # the whole recording
            step = same(0, pa.int32(), len(times))
            return step if not times.null_count else pc.if_else(pc.is_valid(times), step, OUTSIDE)
        return window_of(times, self._starts, self._ends)

    def _thread(self, process: "pa.Array") -> "pa.DictionaryArray":
        import pyarrow.compute as pc

        return worded(self._threads, pc.fill_null(self._process.take(process), 0))


@dataclass(slots=True)
class _Made:
    """Signatures, each made once."""

    database: Database
    signatures: list[Signature] = field(default_factory=list)
    numbers: dict[tuple[str, int | None, bool], int] = field(default_factory=dict)
    oversized: set[int] = field(default_factory=set)  # bytes of copies that cannot be

    def activity(
        self, what: str, name: int | str | None, nbytes: int | None, in_graph: bool = False
    ) -> int:
        """A kernel by its readable name; a copy or memset by direction and size, its whole work.

        A whole graph by its number.
        """
        if what == "kernel":
            shown = readable(self.database.named(name))
            ledger = (
                replace(unknown(shown), conventions=(IN_GRAPH,)) if in_graph else unknown(shown)
            )
            return self._number(
                (shown, None, in_graph), lambda: Signature(name=shown, ledger=ledger)
            )
        if what == GRAPH:
            shown = called(name)
            ledger = replace(unknown(shown), conventions=(WHOLE,))
            return self._number((shown, None, False), lambda: Signature(name=shown, ledger=ledger))
        if nbytes is not None and not 0 <= nbytes < MOST_BYTES:
            self.oversized.add(nbytes)
            nbytes = None
        shown = "Memset (Device)" if what == "memset" else _copy(name)
        return self._number(
            (shown, nbytes, False),
            lambda: Signature(name=shown, ledger=copies.ledger(shown, nbytes)),
        )

    def replayed(self, what: str, name: int | str | None, nbytes: int | None) -> int:
        """The same by a captured graph."""
        return self.activity(what, name, nbytes, in_graph=True)

    def launch(self, name: int | str | None) -> int:
        """A call of the runtime, without the version that ends its name."""
        shown = self.database.named(name).partition("_v")[0]
        return self._number((shown, -1, False), lambda: Signature(name=shown))

    def _number(self, key: tuple[str, int | None, bool], make: Callable[[], Signature]) -> int:
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
    return "kernel" if what in ("kernel", GRAPH) else "memcpy"  # memsets among the latter


def _numbers(
    values: Sequence[Value], number: Callable[..., int], here: Sequence[int]
) -> "pa.Array":
    """The number of each value that is `here`; others are on another device."""
    import pyarrow as pa

    made: list[int | None] = [None] * len(values)
    for at in here:
        made[at] = number(*values[at])
    return pa.array(made, pa.int32())
