"""What is found on the first way through a trace, stretch by stretch, and holds for all of it."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from roofline.importers.kineto.join.answers import Answers
from roofline.importers.kineto.join.elsewhere import of_device, uncount
from roofline.importers.kineto.join.launched import Launched, launched
from roofline.importers.kineto.join.nesting import Modules, Nested, Walk
from roofline.importers.kineto.join.overhead import Interval, merged, without
from roofline.importers.kineto.join.steps import Cut, Window, cut, used
from roofline.importers.kineto.read.columns import NONE, OP, Activities, Columns, Spans
from roofline.importers.kineto.stretches.divide import Stretch
from roofline.importers.kineto.stretches.doubt import Doubt, without_zero
from roofline.importers.kineto.stretches.outside import within
from roofline.importers.kineto.stretches.times import Times, in_order, integers, octets

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Walked:
    """One stretch after the first way through it."""

    spans: Spans
    activities: Activities
    at: Times  # of the spans
    ran: Times  # of the activities, without those that cannot be
    found: Launched
    nested: Nested


@dataclass(slots=True)
class Work:
    """When work began and ended, and in which steps."""

    operators: int = 0  # that are counted
    steps: list[Window] = field(default_factory=list)
    optimizers: list[Window] = field(default_factory=list)
    first: int | None = None  # ns
    last: int | None = None

    def note(self, columns: Columns, walked: Walked) -> None:
        """Take in one stretch."""
        import pyarrow as pa
        import pyarrow.compute as pc

        nested, at, ran = walked.nested, walked.at, walked.ran
        working = pc.equal(octets(nested.counted), 1)
        self.operators += pc.sum(working).as_py() or 0
        launches = at.start.take(walked.found.launch.drop_null())
        begun = pa.concat_arrays([at.start.filter(working), launches])
        ended = pa.concat_arrays([at.end.filter(working), launches])
        for times in (begun, ran.start):
            self.first = _extreme(min, self.first, times)
        for times in (ended, ran.end):
            self.last = _extreme(max, self.last, times)
        begun = begun if len(begun) else ran.start
        self.steps += used(_windows(columns, at, nested.steps), begun)
        self.optimizers += used(_windows(columns, at, nested.optimizers), begun)

    def cut(self) -> Cut:
        """Steps from the annotations in which something began; else the whole, from the first
        operator, launch or kernel to the last: work belongs to the step in which it was launched.
        """
        first = self.first or 0
        last = first if self.last is None else self.last
        return cut(_distinct(self.steps), _distinct(self.optimizers), (first, last + 1, ""))


@dataclass(slots=True)
class Whole:
    """Of the whole trace."""

    modules: Modules = field(default_factory=Modules)
    answers: Answers = field(default_factory=Answers)
    activities: int = 0
    done: int | None = None  # when the last of them ended [ns]
    matched: bool = False  # the launch of some activity is known
    nests: bool = False  # some of these launches stand inside an operator
    doubtful: int = 0  # activities whose launch stands in several processes, nobody knows which
    doubt: Doubt = field(default_factory=Doubt)
    idle: list[Interval] = field(default_factory=list)  # profiler's work while no device worked
    work: Work = field(default_factory=Work)

    def walk(self, stretch: Stretch) -> Walked:
        """Go through one stretch; stretches come in order of time."""
        columns, spans = stretch.columns, stretch.spans
        found = launched(columns, spans, stretch.ran)
        columns.activities, ran, found = of_device(
            columns.activities, stretch.ran, found, stretch.device
        )
        ran, zero = without_zero(ran)
        ran, outside = within(ran, spans.start.take(found.launch), stretch.window)
        started = integers(found.started)
        walk = Walk(columns, self.modules, integers(spans.end), started)
        nested = walk.go(in_order(columns.spans, spans), integers(spans.start))
        uncount(nested, found)
        nests = any(owner != NONE for owner, ran in zip(nested.owner, started, strict=True) if ran)
        if nests:
            columns.spans.external = array("q")  # no longer needed; there may be millions
        self.answers.note(columns, nested)
        self.nests |= nests
        self.matched |= found.launch.null_count < len(found.launch)
        self.doubtful += found.doubtful
        self.doubt += zero + outside
        self.activities += len(columns.activities)
        self.done = _extreme(max, self.done, ran.end)
        self.idle = without(self.idle, ran)
        walked = Walked(columns.spans, columns.activities, spans, ran, found, nested)
        self.work.note(columns, walked)
        return walked

    def overhead(self, columns: Columns) -> None:
        """Begin with all of the profiler's own work; what a device works in is taken out of it."""
        self.idle = merged(
            (round(start * 1000), round((start + us) * 1000)) for start, us in columns.overhead
        )


def _extreme(which: Callable[..., int], known: int | None, times: "pa.Array") -> int | None:
    """The least or greatest of what is known and of `times`."""
    import pyarrow.compute as pc

    found = (pc.min if which is min else pc.max)(times).as_py()
    return which((v for v in (known, found) if v is not None), default=None)


def _windows(columns: Columns, at: Times, rows: Sequence[int]) -> list[Window]:
    """Start, end and name of some spans."""
    import pyarrow as pa

    names = [columns.names.values(), [call[0] for call in columns.calls.values()]]
    of, key = columns.spans.kind, columns.spans.key
    starts, ends = (
        column.take(pa.array(rows, pa.int64())).to_pylist() for column in (at.start, at.end)
    )
    return [(s, e, names[of[r] == OP][key[r]]) for s, e, r in zip(starts, ends, rows, strict=True)]


def _distinct(windows: Iterable[Window]) -> list[Window]:
    """In order; one that reaches over several stretches once."""
    return sorted({window[0]: window for window in windows}.values())
