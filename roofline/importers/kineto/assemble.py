"""Columns -> the rows of a run: counted operators, what ran on the device, then launches."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from roofline.call import Math
from roofline.importers.kineto import rows as row
from roofline.importers.kineto.columns import COPY, LAUNCH, NONE, Columns
from roofline.importers.kineto.join import ON_DEVICE, TF32, Joined
from roofline.importers.kineto.nesting import Nested
from roofline.importers.kineto.rows import Block
from roofline.importers.kineto.signatures import Signatures
from roofline.importers.kineto.steps import Cut
from roofline.importers.kineto.times import Times


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """Everything the rows are made from."""

    columns: Columns
    nested: Nested
    joined: Joined
    signatures: Signatures
    cut: Cut
    spans: Times
    activities: Times
    thread: Sequence[int]  # per thread of the trace the number of its name
    origin: int  # the moment that rows count their time from [ns]

    def blocks(self) -> tuple[Block, Block, Block]:
        """Operators in order of time, then activities, then launches."""
        spans, start, begun = self.columns.spans, self.spans.start, self.activities.start
        operators = sorted(compress(range(len(spans)), self.nested.counted), key=start.__getitem__)
        activities = sorted(range(len(begun)), key=begun.__getitem__)
        launches = [at for at, kind in enumerate(spans.kind) if kind == LAUNCH]
        place = array("q", [NONE]) * len(spans)  # row of each span in the run
        for number, at in enumerate(operators):
            place[at] = number
        for number, at in enumerate(launches, len(operators) + len(activities)):
            place[at] = number
        return (
            self._operators(operators),
            self._activities(activities, place),
            self._launches(launches, place),
        )

    def _operators(self, rows: Sequence[int]) -> Block:
        spans, free, of_call = self.columns.spans, self.signatures.free, self.signatures.of_call
        did, phase = self.joined.did, self.nested.phase
        signature = array("i")
        for at in rows:
            math: Math = "tf32" if did[at] & TF32 else "ieee"
            signature.append(of_call(spans.key[at], math, phase[at] == row.OPTIMIZER))
        kind = array("b", [row.OP]) * len(rows)
        if len(self.activities.start):
            for number, at in enumerate(rows):
                # What started nothing on the device, and is no mere view, worked on the host.
                if not did[at] & ON_DEVICE and (did[at] or not free(signature[number])):
                    kind[number] = row.RANGE
        return self._block(rows, signature, kind)

    def _launches(self, rows: Sequence[int], place: Sequence[int]) -> Block:
        spans, owner = self.columns.spans, self.nested.owner
        signature = array("i", [self.signatures.of_launch(spans.key[at]) for at in rows])
        block = self._block(rows, signature, array("b", [row.LAUNCH]) * len(rows))
        block.parent = array("q", [place[owner[at]] if owner[at] != NONE else NONE for at in rows])
        return block

    def _block(self, rows: Sequence[int], signature: "array[int]", kind: "array[int]") -> Block:
        """Rows of spans."""
        start, duration, of = self.spans.start, self.spans.duration, self.cut.of
        nested, thread, threads = self.nested, self.thread, self.columns.spans.thread
        return Block(
            signature=signature,
            kind=kind,
            step=array("i", [of(start[at]) for at in rows]),
            start=array("q", [start[at] - self.origin for at in rows]),
            duration=array("q", [duration[at] for at in rows]),
            phase=array("b", [nested.phase[at] for at in rows]),
            module=array("i", [nested.module[at] for at in rows]),
            thread=array("i", [thread[threads[at]] for at in rows]),
        )

    def _activities(self, rows: Sequence[int], place: Sequence[int]) -> Block:
        """A kernel's parent is its operator; of a kernel in a graph it is the graph's launch."""
        ran, times, nested = self.columns.activities, self.activities, self.nested
        launch, graph, owner = self.joined.launch, self.joined.graph, self.joined.owner
        signatures, spans = self.signatures, self.spans.start
        block = Block(
            signature=array("i"),
            kind=array("b"),
            step=array("i"),
            start=array("q", [times.start[at] - self.origin for at in rows]),
            duration=array("q", [times.duration[at] for at in rows]),
            phase=array("b"),
            module=array("i"),
            stream=array("q", [ran.stream[at] for at in rows]),
            parent=array("q"),
            counters=array("i", [ran.key[at] for at in rows]),
        )
        for at in rows:
            by, key = launch[at], ran.key[at]
            in_graph = by != NONE and graph[by] == 1
            copies = ran.kind[at] == COPY
            block.kind.append(row.MEMCPY if copies else row.KERNEL)
            block.signature.append(
                signatures.of_copy(key) if copies else signatures.of_kernel(key, in_graph)
            )
            if by == NONE:
                block.step.append(self._unlaunched(times.start[at]))
                block.phase.append(row.OTHER)
                block.module.append(0)
            else:
                block.step.append(self.cut.of(spans[by]))
                block.phase.append(nested.phase[by])
                block.module.append(nested.module[by])
            block.parent.append(self._parent(at, by if in_graph else owner[at], copies, place))
        return block

    def _parent(self, at: int, cause: int, copies: bool, place: Sequence[int]) -> int:
        """The row of the cause, but none for a copy over the link by an operator that also worked
        on the device: it stands for itself.
        """
        if cause == NONE:
            return NONE
        over_link = copies and self.joined.over_link[self.columns.activities.key[at]]
        if over_link and self.joined.did[cause] & ON_DEVICE:
            return NONE
        return place[cause]

    def _unlaunched(self, start: int) -> int:
        """The step of something whose launch is not in the trace: none, where launches are."""
        return NONE if self.joined.matched else self.cut.of(start)
