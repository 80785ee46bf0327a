"""Columns of a stretch -> rows of a run."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.importers.kineto.account.signatures import Signatures
from roofline.importers.kineto.convert import rows as row
from roofline.importers.kineto.convert.rows import Words, table
from roofline.importers.kineto.join.nesting import Nested
from roofline.importers.kineto.join.owners import ON_DEVICE, Joined, math
from roofline.importers.kineto.join.phases import OPTIMIZER, OTHER
from roofline.importers.kineto.join.steps import Cut
from roofline.importers.kineto.read.columns import COPY, LAUNCH, NONE, Columns
from roofline.importers.kineto.stretches.times import Times, arrow, integers, known, octets
from roofline.kept import Kept

if TYPE_CHECKING:
    import pyarrow as pa

_PART = 1 << 18  # rows


class Sections:
    """The rows of a run: counted operators, then what ran on the device, then launches."""

    def __init__(self, operators: int, activities: int):
        """How many there will be: rows name the rows that caused them."""
        self.next_operator = 0
        self.next_launch = operators + activities
        self._kept = Kept()

    def add(
        self,
        operators: "Iterable[pa.Table]",
        activities: "Iterable[pa.Table]",
        launches: "Iterable[pa.Table]",
    ) -> None:
        """Put rows of a stretch behind those of earlier ones."""
        self.next_operator += self._add("operators", operators)
        self._add("activities", activities)
        self.next_launch += self._add("launches", launches)

    def table(self) -> "pa.Table":
        """All rows, which are given up."""
        import pyarrow as pa

        sections = (self._kept.take(key) for key in ("operators", "activities", "launches"))
        return pa.concat_tables(section for section in sections if section is not None)

    def _add(self, key: str, tables: "Iterable[pa.Table]") -> int:
        count = 0
        for rows in tables:
            self._kept.add(key, rows)
            count += rows.num_rows
        return count


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """Everything the rows of a stretch are made from."""

    columns: Columns
    nested: Nested
    joined: Joined
    on_device: bool  # something of the whole trace ran on a device
    matched: bool  # the launch of some of that is known
    signatures: Signatures
    cut: Cut
    spans: Times
    activities: Times
    thread: "pa.Array"  # per thread of the trace the number of its name
    words: Words
    origin: int  # the moment that rows count their time from [ns]

    def rows(self, into: Sections) -> None:
        """The rows of this stretch: operators, activities and launches, each in order of time."""
        import pyarrow as pa
        import pyarrow.compute as pc

        counted = pc.indices_nonzero(pc.equal(octets(self.nested.counted), 1))
        ran = pa.array(range(len(self.activities.start)), pa.int64())
        launched = pc.indices_nonzero(pc.equal(arrow(self.columns.spans.kind), LAUNCH))
        operators, ran = _by_time(counted, self.spans), _by_time(ran, self.activities)
        launches = launched.cast(pa.int64())
        place = array("i", [NONE]) * len(self.columns.spans)  # row of each span in the run
        for number, at in enumerate(integers(operators), into.next_operator):
            place[at] = number
        for number, at in enumerate(integers(launches), into.next_launch):
            place[at] = number
        rows = known(arrow(place))
        into.add(
            (self._operators(part) for part in _parts(operators)),
            (self._activities(part, rows) for part in _parts(ran)),
            (self._launches(part, rows) for part in _parts(launches)),
        )

    def _operators(self, rows: "pa.Array") -> "pa.Table":
        import pyarrow as pa
        import pyarrow.compute as pc

        did = octets(self.joined.did).take(rows)
        key = arrow(self.columns.spans.key).take(rows).cast(pa.int64())
        steps = pc.equal(octets(self.nested.phase).take(rows), OPTIMIZER)
        flags = pc.multiply(did.cast(pa.int64()), 2)
        code = pc.add(pc.multiply(key, 256), pc.add(flags, _number(steps, 1)))

        def of(value: int) -> int:
            return self.signatures.of_call(value >> 8, math(value >> 1 & 127), value & 1 == 1)

        signature = _each(code, of)
        kind = _number(pa.array([False] * len(rows), pa.bool_()), row.RANGE)
        if self.on_device:
            # What started nothing on the device, and is no mere view, worked on the host.
            free = [self.signatures.free(at) for at in range(len(self.signatures.made))]
            worked = pc.bit_wise_and(did, pa.scalar(ON_DEVICE, pa.int8())).cast(pa.bool_())
            idle = pc.and_(pc.equal(did, 0), pa.array(free, pa.bool_()).take(signature))
            kind = _number(pc.invert(pc.or_(worked, idle)), row.RANGE)
        return table({"signature": signature, "kind": kind, **self._of_spans(rows)}, self.words)

    def _launches(self, rows: "pa.Array", place: "pa.Array") -> "pa.Table":
        import pyarrow as pa

        owner = known(arrow(self.nested.owner)).take(rows)
        columns = {
            "signature": _each(arrow(self.columns.spans.key).take(rows), self.signatures.of_launch),
            "kind": _constant(row.LAUNCH, len(rows)),
            "parent": place.take(owner).cast(pa.int64()),
        }
        return table(columns | self._of_spans(rows), self.words)

    def _of_spans(self, rows: "pa.Array") -> dict[str, Any]:
        import pyarrow.compute as pc

        start = self.spans.start.take(rows)
        return {
            "step": self.cut.of(start),
            "start_ns": pc.subtract(start, self.origin),
            "duration_ns": self.spans.duration.take(rows),
            "phase": octets(self.nested.phase).take(rows),
            "module": arrow(self.nested.module).take(rows),
            "thread": self.thread.take(arrow(self.columns.spans.thread).take(rows)),
        }

    def _activities(self, rows: "pa.Array", place: "pa.Array") -> "pa.Table":
        import pyarrow as pa
        import pyarrow.compute as pc

        ran, joined, nested = self.columns.activities, self.joined, self.nested
        launch = joined.launch.take(rows)
        start, key = self.activities.start.take(rows), arrow(ran.key).take(rows)
        in_graph, copies = joined.in_graph.take(rows), pc.equal(arrow(ran.kind).take(rows), COPY)
        code = pc.add(
            pc.multiply(key.cast(pa.int64()), 4), pc.add(_number(copies, 2), _number(in_graph, 1))
        )

        def of(value: int) -> int:
            if value & 2:
                return self.signatures.of_copy(value >> 2)
            return self.signatures.of_kernel(value >> 2, value & 1 == 1)

        # Something whose launch is not in the trace belongs to no step, where launches are in it.
        begun = self.spans.start.take(launch) if self.matched else start
        columns = {
            "signature": _each(code, of),
            "kind": pc.if_else(copies, _number8(row.MEMCPY), _number8(row.KERNEL)),
            "step": self.cut.of(begun),
            "start_ns": pc.subtract(start, self.origin),
            "duration_ns": self.activities.duration.take(rows),
            "phase": pc.fill_null(octets(nested.phase).take(launch), _number8(OTHER)),
            "module": pc.fill_null(arrow(nested.module).take(launch), 0),
            "stream": known(arrow(ran.stream).take(rows)),
            "parent": self._causes(rows, place),
            "counters": key,
        }
        return table(columns, self.words)

    def _causes(self, rows: "pa.Array", place: "pa.Array") -> "pa.Array":
        """The row of a kernel's operator, in a graph that of the graph's launch.

        A copy over the link by an operator that also worked on the device has none: it stands for
        itself.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        joined = self.joined
        owner, in_graph = joined.owner.take(rows), joined.in_graph.take(rows)
        worked = pc.bit_wise_and(octets(joined.did).take(owner), pa.scalar(ON_DEVICE, pa.int8()))
        apart = pc.and_(joined.over_link.take(rows), pc.fill_null(worked, 0).cast(pa.bool_()))
        owner = pc.if_else(apart, pa.scalar(None, pa.int64()), owner)
        cause = pc.if_else(in_graph, joined.launch.take(rows), owner)
        return place.take(cause).cast(pa.int64())


def _parts(rows: "pa.Array") -> "Iterator[pa.Array]":
    """`rows` a part at a time, so that what is computed on the way stays small; at least one."""
    for first in range(0, max(len(rows), 1), _PART):
        yield rows.slice(first, _PART)


def _by_time(rows: "pa.Array", at: Times) -> "pa.Array":
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = rows.cast(pa.int64())
    return rows.take(pc.sort_indices(at.start.take(rows)))


def _each(codes: "pa.Array", of: Callable[[int], int]) -> "pa.Array":
    """`of` applied to every code, once for each distinct one, in order of first appearance."""
    import pyarrow as pa

    encoded = codes.dictionary_encode()
    made = [of(code) for code in encoded.dictionary.to_pylist()]
    return pa.array(made, pa.int32()).take(encoded.indices)


def _number(mask: "pa.Array", value: int) -> "pa.Array":
    """`value` where `mask` is true, else 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(mask, pa.scalar(value, pa.int64()), pa.scalar(0, pa.int64()))


def _number8(value: int) -> "pa.Scalar":
    import pyarrow as pa

    return pa.scalar(value, pa.int8())


def _constant(value: int, count: int) -> "pa.Array":
    import pyarrow as pa

    return pa.repeat(pa.scalar(value, pa.int8()), count)
