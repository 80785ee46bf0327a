"""Which launches are worth their counters: of the lines with most to win, a typical one each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from re import escape

from roofline.importers.replayed import base
from roofline.program import Program
from roofline.program.columns import is_kind, measured_steps
from roofline.runfile import Run

PART = 0.05  # of a call's device time, from which one of its kernels is worth looking at


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One launch of the timeline, as a profiler of kernels can be told of it."""

    row: int  # in the run
    function: str  # name of the kernel without namespaces and template arguments
    number: int  # it is the so-many-th launch of that function in its process, from 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What to replay; `replayed` are the launches that the filter lets through, in order."""

    chosen: tuple[Launch, ...]
    replayed: tuple[Launch, ...]

    def kernel_id(self) -> str:
        """The filter for ``ncu --kernel-id``: any chosen function at any chosen number."""
        functions = "|".join(
            escape(name) for name in dict.fromkeys(x.function for x in self.chosen)
        )
        numbers = "|".join(str(n) for n in sorted({launch.number for launch in self.chosen}))
        return f"::regex:^({functions})$:^({numbers})$"


def choose(run: Run, program: Program, lines: int) -> Choice | None:
    """The median-duration launches of the `lines` with most to win; None where no kernel ran."""
    kernels = _kernels(run)
    launches = _numbered(run, kernels)
    wanted = _worth(program, {call for call, _ in kernels.calls}, lines)
    rows = [row for signature in wanted for row in _typical(run, kernels, signature)]
    if not rows:
        return None
    chosen = tuple(launches[row] for row in dict.fromkeys(rows))
    functions = {launch.function for launch in chosen}
    numbers = {launch.number for launch in chosen}
    replayed = (x for x in launches.values() if x.function in functions and x.number in numbers)
    return Choice(chosen=chosen, replayed=tuple(replayed))


@dataclass(frozen=True, slots=True)
class _Kernels:
    """The kernels of a run in order of time, column by column."""

    rows: Sequence[int]
    signatures: Sequence[int]
    calls: Sequence[tuple[int, int]]  # signature of the call, which of its kernels it is
    steps: Sequence[int]
    durations: Sequence[int | None]


def _kernels(run: Run) -> _Kernels:
    import pyarrow as pa
    import pyarrow.compute as pc

    events = run.events
    rows = pc.indices_nonzero(is_kind(events, ("kernel",))).cast(pa.int64())
    ran = events.select(["signature", "parent", "step", "duration_ns", "start_ns"]).take(rows)
    ran = ran.append_column("row", rows).sort_by("start_ns")
    parents = ran["parent"]
    called = pc.fill_null(is_kind(events, ("op", "region")).take(parents), False).to_pylist()
    causes = events["signature"].take(parents).to_pylist()
    own = ran["signature"].to_pylist()
    seen: dict[int, int] = {}
    calls = []
    for parent, by_call, cause, signature in zip(
        parents.to_pylist(), called, causes, own, strict=True
    ):
        if by_call:
            seen[parent] = seen.get(parent, -1) + 1
        calls.append((cause, seen[parent]) if by_call else (signature, 0))
    columns = (ran[name].to_pylist() for name in ("row", "step", "duration_ns"))
    order, steps, durations = columns
    return _Kernels(order, own, calls, steps, durations)


def _numbered(run: Run, kernels: _Kernels) -> dict[int, Launch]:
    """Every launch by its row, counted function by function."""
    functions = {at: base(run.signatures[at].name) for at in set(kernels.signatures)}
    counts: dict[str, int] = {}
    found = {}
    for row, signature in zip(kernels.rows, kernels.signatures, strict=True):
        function = functions[signature]
        number = counts[function] = counts.get(function, 0) + 1
        found[row] = Launch(row=row, function=function, number=number)
    return found


def _worth(program: Program, with_kernels: set[int], lines: int) -> list[int]:
    """Signatures of the lines with most seconds to win, of those that started kernels."""
    found = [
        item
        for item in program.by("call")
        if item.signatures[0] in with_kernels and item.to_win_s > 0
    ]
    return [item.signatures[0] for item in found[:lines]]  # most to win comes first


def _typical(run: Run, kernels: _Kernels, call: int) -> Iterable[int]:
    """Rows of the median launches of the kernels that a call's time goes into."""
    measured = set(measured_steps(run))
    slots: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row, signature, (cause, which), step, ns in zip(
        kernels.rows, kernels.signatures, kernels.calls, kernels.steps, kernels.durations,
        strict=True,
    ):  # fmt: skip
        if cause == call and step in measured and ns is not None:
            slots.setdefault((which, signature), []).append((ns, row))
    every = sum(ns for launches in slots.values() for ns, _ in launches)
    for _, launches in sorted(slots.items()):
        if sum(ns for ns, _ in launches) >= PART * every:
            yield sorted(launches)[(len(launches) - 1) // 2][1]
