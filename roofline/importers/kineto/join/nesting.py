"""Which operator an event belongs to: spans of one thread nest, and work is counted once.

A trace shows an operator, the operators it calls, and those they call.  Counted is the outermost
one that is not merely composed of others: the same that a live recording sees below autograd.  Its
duration includes everything inside, once.  Composites (``aten::linear``) and wrappers (autograd's
nodes) are looked through; one of them is counted only when it starts a kernel itself.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from roofline.importers.kineto.join import names
from roofline.importers.kineto.join.phases import BACKWARD, OPTIMIZER, OTHER
from roofline.importers.kineto.join.repeated import Repeated
from roofline.importers.kineto.read.columns import LAUNCH, NONE, OP, Columns


@dataclass(slots=True)
class Nested:
    """What each span is part of.  Rows are positions in Columns.spans; NONE is none."""

    counted: bytearray  # 1 where the operator is counted
    owner: "array[int]"  # the counted operator around, or the span itself
    phase: bytearray
    module: "array[int]"  # number in `Modules`; 0 is outside every module
    sequence: "array[int]"  # autograd's number in force
    steps: list[int] = field(default_factory=list)  # rows of the profiler's step annotations
    optimizers: list[int] = field(default_factory=list)  # rows of optimizer steps


class Modules:
    """Paths of modules as numbers; 0 is outside every module."""

    def __init__(self) -> None:
        self.paths = [""]
        self._known: dict[tuple[int, str], int] = {}
        self._number = {"": 0}

    def inside(self, around: int, name: str) -> int:
        """The module `name` inside another, as ``Net_0.Block_1.Linear_3``."""
        found = self._known.get((around, name))
        if found is None:
            outer = self.paths[around]
            path = f"{outer}.{name}" if outer else name
            found = self._known[around, name] = self._number.setdefault(path, len(self.paths))
            if found == len(self.paths):
                self.paths.append(path)
        return found


@dataclass(slots=True)
class _Frame:
    """A span that is open while its thread is walked."""

    end: int
    row: int
    owner: int  # counted operator at or around this span
    inner: int  # innermost operator at or around it
    phase: int
    module: int
    sequence: int
    key: int  # of this very span where it is counted, else NONE
    node: int  # row of the innermost node of backward around, else NONE
    outer: int  # row of the outermost operator within that node, at or around this span, else NONE


_BOTTOM = _Frame(2**63, NONE, NONE, NONE, OTHER, 0, NONE, NONE, NONE, NONE)


class Walk:
    """Goes through the spans thread by thread, in order of time, with the open ones on a stack."""

    def __init__(
        self, columns: Columns, modules: Modules, end: Sequence[int], active: Sequence[int]
    ):
        """`end` of each span [ns]; `active` is 1 for launches of what ran on a device."""
        count = len(columns.spans)
        self.nested = Nested(
            counted=bytearray(count),
            owner=array("q", [NONE]) * count,
            phase=bytearray([OTHER]) * count,
            module=array("i", [0]) * count,
            sequence=array("q", [NONE]) * count,
        )
        self._repeated = Repeated()
        self._modules = modules
        self._spans = columns.spans
        self._end = end
        self._active = active
        calls = columns.calls.values()
        self._called = [call[0] for call in calls]
        self._of_call = [names.operator(call[0], bool(call[5])) for call in calls]
        self._of_name = [names.annotation(name) for name in columns.names.values()]

    def go(self, rows: Sequence[int], start: Sequence[int]) -> Nested:
        """Walk; `rows` are in the order of `times.in_order`."""
        kinds, threads = self._spans.kind, self._spans.thread
        stack, thread = [_BOTTOM], NONE
        for row in rows:
            if threads[row] != thread:
                thread, stack = threads[row], [_BOTTOM]
            begin = start[row]
            while stack[-1].end <= begin:
                stack.pop()
            if kinds[row] == LAUNCH:
                self._launch(row, stack[-1])
            else:
                stack.append(self._open(row, kinds[row] == OP, stack[-1]))
        self._repeated.settle(self.nested.phase)
        return self.nested

    def _launch(self, row: int, top: _Frame) -> None:
        nested, owner = self.nested, top.owner
        if self._active[row]:
            top.key = NONE  # it does more than call another operator
            if owner == NONE and top.inner != NONE:
                owner = top.inner
                nested.counted[owner] = 1
        nested.owner[row], nested.phase[row], nested.module[row] = owner, top.phase, top.module
        nested.sequence[row] = top.sequence
        self._repeated.inside(row, top.outer)

    def _open(self, row: int, is_operator: bool, top: _Frame) -> _Frame:
        nested, spans, key = self.nested, self._spans, self._spans.key[row]
        frame = _Frame(
            self._end[row], row, top.owner, top.inner, top.phase, top.module, top.sequence, NONE,
            top.node, top.outer,
        )  # fmt: skip
        meaning = self._of_call[key] if is_operator else self._of_name[key]
        if is_operator:
            frame.inner = row
            if spans.link[row] != NONE:
                frame.sequence = spans.link[row]
            if top.key != NONE and self._only_calls(top.key, key):
                nested.counted[top.row] = 0
                top.owner = top.key = frame.owner = NONE
            if frame.owner == NONE and meaning.role == "operator":
                nested.counted[row] = 1
                frame.owner, frame.key = row, key
        if meaning.marks:
            self._mark(row, meaning, frame)
        if meaning.backward:
            frame.node, frame.outer = row, NONE
        elif frame.node != NONE:
            if frame.outer == NONE and is_operator and meaning.role != "wrapper":
                frame.outer = row
                self._repeated.outermost(row, frame.node, spans.link[row] != NONE)
            self._repeated.inside(row, frame.outer)
        nested.owner[row], nested.sequence[row] = frame.owner, frame.sequence
        nested.phase[row], nested.module[row] = frame.phase, frame.module
        return frame

    def _only_calls(self, outer: int, inner: int) -> bool:
        """Whether the outer is that overload of its name which is composed of the inner alone."""
        outer_name, inner_name = self._called[outer], self._called[inner]
        return inner_name in (outer_name, names.CALLS.get(outer_name))

    def _mark(self, row: int, meaning: names.Meaning, frame: _Frame) -> None:
        if meaning.backward:
            frame.phase = BACKWARD
        elif meaning.optimizer:
            frame.phase = OPTIMIZER
            self.nested.optimizers.append(row)
        elif meaning.step:
            self.nested.steps.append(row)
        elif meaning.module:
            frame.module = self._modules.inside(frame.module, meaning.module)


def by_external_id(nested: Nested, columns: Columns, active: Sequence[int]) -> bool:
    """Join launches to operators by their ``External id``, where nesting joined none at all.

    Some recorders number the threads of launches otherwise than those of operators.  The id is not
    used beside nesting: it can be the correlation id.  Returns whether this was done.
    """
    spans, process_of = columns.spans, columns.process_of
    started = [row for row, ran in enumerate(active) if ran]
    if not started or any(nested.owner[row] != NONE for row in started):
        return False
    operator_of = {
        (process_of[spans.thread[row]], external): row
        for row, (kind, external) in enumerate(zip(spans.kind, spans.external, strict=True))
        if kind == OP and external > 0
    }
    joined = False
    for row in started:
        around = operator_of.get((process_of[spans.thread[row]], spans.external[row]), NONE)
        if around == NONE or spans.external[row] == spans.link[row]:
            continue
        owner = nested.owner[around]
        if owner == NONE:
            owner, nested.counted[around] = around, 1
        nested.owner[row], joined = owner, True
        nested.phase[row], nested.module[row] = nested.phase[around], nested.module[around]
        nested.sequence[row] = nested.sequence[around]
    return joined
