"""From joined activities and launches to the events, signatures and steps of a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.called import readable
from roofline.importers import copies
from roofline.importers.nsys.configured import counters
from roofline.importers.nsys.joins import Joined
from roofline.importers.nsys.ranges import Range
from roofline.importers.nsys.read import WHAT
from roofline.runfile import Signature, Step, arrow_schema
from roofline.work import unknown

if TYPE_CHECKING:
    import pyarrow as pa

# Directions of a copy as CUPTI numbers them.
COPIES = {
    1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD",
    9: "HtoH", 10: "PtoP",
}  # fmt: skip
KINDS = ("kernel", "memcpy")
_BLOCK = 65_536  # rows that are alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The parts of a run."""

    signatures: tuple[Signature, ...]
    steps: tuple[Step, ...]
    events: "pa.Table"
    undated: int  # activities without a positive duration


def convert(
    joined: Joined, paths: Sequence[str], steps: Sequence[Range], strings: Mapping[int, str]
) -> Converted:
    """Rows of activities, then of launches; times count from the first of either."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ran, launches = joined.activities, joined.launches
    origin, end = _span(ran, launches)
    made = _Made(strings)
    keys = [made.activity(*key) for key in joined.keys]
    names = pc.unique(launches["name"])
    called = [made.launch(name) for name in names.to_pylist()]
    duration = pc.subtract(ran["stop"], ran["start"])
    dated = pc.fill_null(pc.greater(duration, 0), False)
    windows = _steps(steps, origin, end)
    processes = pc.unique(pc.drop_null(ran["process"])).to_pylist()
    activities = _rows(ran.num_rows, {
        "signature": _taken(keys, ran["key"], pa.int32()),
        "kind": _worded(KINDS, _taken([_kind(key) for key in joined.keys], ran["key"], pa.int32())),
        "step": _step_of(pc.coalesce(ran["launched"], ran["start"]), windows, origin),
        "start_ns": pc.subtract(pc.coalesce(ran["start"], pa.scalar(origin)), origin),
        "duration_ns": pc.if_else(dated, duration, pa.scalar(None, pa.int64())),
        "module": _worded(paths, ran["path"]),
        "thread": _thread(ran["process"], processes),
        "stream": ran["stream"],
        "parent": pc.add(ran["launch"].cast(pa.int64()), ran.num_rows),
        "counters": counters(joined.configurations, ran["configuration"]),
    })  # fmt: skip
    started = _rows(launches.num_rows, {
        "signature": _taken(called, pc.index_in(launches["name"], value_set=names), pa.int32()),
        "kind": _same("launch", launches.num_rows),
        "step": _step_of(launches["start"], windows, origin),
        "start_ns": pc.subtract(launches["start"], origin),
        "duration_ns": pc.subtract(launches["stop"], launches["start"]),
        "thread": _thread(launches["process"], processes),
    })  # fmt: skip
    return Converted(
        signatures=tuple(made.signatures),
        steps=windows,
        events=pa.concat_tables([activities, started]),
        undated=ran.num_rows - (pc.sum(dated).as_py() or 0),
    )


class _Made:
    """Signatures, each made once."""

    def __init__(self, strings: Mapping[int, str]) -> None:
        self.signatures: list[Signature] = []
        self._strings = strings
        self._numbers: dict[tuple[str, int | None], int] = {}

    def activity(self, what: int, name: int | None, nbytes: int | None) -> int:
        """A kernel by its readable name; a copy or memset by direction and size, its whole work."""
        if WHAT[what] == "kernel":
            shown = readable(self._named(name))
            return self._number((shown, None), lambda: Signature(name=shown, ledger=unknown(shown)))
        shown = "Memset (Device)" if WHAT[what] == "memset" else _copy(name)
        return self._number(
            (shown, nbytes),
            lambda: Signature(name=shown, ledger=copies.ledger(shown, nbytes)),
        )

    def launch(self, name: int | None) -> int:
        """A call of the runtime, without the version that ends its name."""
        shown = self._named(name).partition("_v")[0]
        return self._number((shown, -1), lambda: Signature(name=shown))

    def _named(self, name: int | None) -> str:
        return "unnamed" if name is None else self._strings.get(name, f"name {name}")

    def _number(self, key: tuple[str, int | None], make: Callable[[], Signature]) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.signatures)
            self.signatures.append(make())
        return self._numbers[key]


def _copy(kind: int | None) -> str:
    return f"Memcpy {COPIES.get(-1 if kind is None else kind, 'of unknown direction')}"


def _kind(key: tuple[Any, ...]) -> int:
    return KINDS.index("kernel" if WHAT[key[0]] == "kernel" else "memcpy")


def _span(*tables: "pa.Table") -> tuple[int, int]:
    """The first start and the last end of anything."""
    import pyarrow.compute as pc

    starts = [s for t in tables if (s := pc.min(t["start"]).as_py()) is not None]
    ends = [e for t in tables if (e := pc.max(t["stop"]).as_py()) is not None]
    first = min(starts, default=0)
    return first, max(ends, default=first)


def _steps(steps: Sequence[Range], origin: int, end: int) -> tuple[Step, ...]:
    """The ranges that are steps; the last waits for the device.  Without any, the whole."""
    if not steps:
        return (Step(start_ns=0, duration_ns=end - origin),)
    ends = [*(step[2] for step in steps[:-1]), max(steps[-1][2], end)]
    return tuple(
        Step(start_ns=start - origin, duration_ns=stop - start, name=text)
        for (_, start, _, text), stop in zip(steps, ends, strict=True)
    )


def _step_of(times: Any, steps: Sequence[Step], origin: int) -> "pa.ChunkedArray":
    """The step in which each of `times` falls, -1 outside all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(steps) == 1:  # the whole recording
        return pa.repeat(pa.scalar(0, pa.int32()), len(times))
    found = pa.repeat(pa.scalar(-1, pa.int32()), len(times))
    for number, step in enumerate(steps):
        start = step.start_ns + origin
        inside = pc.and_(
            pc.greater_equal(times, start), pc.less_equal(times, start + step.duration_ns)
        )
        found = pc.if_else(pc.fill_null(inside, False), number, found)
    return found.cast(pa.int32())


def _thread(process: Any, processes: Sequence[int]) -> Any:
    """Which process, where there are several; numbered, since ids say nothing afterwards."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(processes) < 2:
        return _same("", len(process))
    names = ["", *(f"process {at + 1}" for at in range(len(processes)))]
    at = pc.index_in(process, value_set=pa.array(processes, pa.int64()))
    return _worded(names, pc.fill_null(pc.add(at, 1), 0))


def _taken(values: Sequence[Any], numbers: Any, kind: Any) -> Any:
    """`values` by their numbers."""
    import pyarrow as pa

    return pa.array(values, kind).take(numbers)


def _worded(words: Sequence[str], numbers: Any) -> "pa.DictionaryArray":
    """Different words by their numbers, each held once."""
    import pyarrow as pa

    numbers = numbers.cast(pa.int32())
    numbers = numbers.combine_chunks() if isinstance(numbers, pa.ChunkedArray) else numbers
    return pa.DictionaryArray.from_arrays(numbers, pa.array(words, pa.string()))


def _same(word: str, count: int) -> "pa.ChunkedArray":
    import pyarrow as pa

    numbers = pa.repeat(pa.scalar(0, pa.int32()), min(count, _BLOCK))
    return _repeated(_worded([word], numbers), count)


def _rows(count: int, columns: Mapping[str, Any]) -> "pa.Table":
    """The events table of `count` rows, columns not given being null or empty."""
    import pyarrow as pa

    schema = arrow_schema()
    whole: dict[str, Any] = {}
    for field in schema:
        given = columns.get(field.name)
        if given is not None:
            given = pa.chunked_array([given]) if isinstance(given, pa.Array) else given
            whole[field.name] = given if given.type == field.type else given.cast(field.type)
        elif field.name == "phase":
            whole[field.name] = _same("other", count)
        elif field.name in ("module", "thread"):
            whole[field.name] = _same("", count)
        elif pa.types.is_nested(field.type):
            whole[field.name] = _empty_lists(count, field.type)
        else:
            whole[field.name] = pa.nulls(count, field.type)
    return pa.table(whole, schema=schema)


def _empty_lists(count: int, kind: Any) -> "pa.ChunkedArray":
    import pyarrow as pa

    return _repeated(pa.array([[]] * min(count, _BLOCK), kind), count)


def _repeated(block: "pa.Array", count: int) -> "pa.ChunkedArray":
    """`count` rows that are all alike, of which one block is held however many there are."""
    import pyarrow as pa

    whole, rest = divmod(count, max(len(block), 1))
    return pa.chunked_array([*[block] * whole, block.slice(0, rest)], block.type)
