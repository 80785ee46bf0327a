"""The batch followed through a recording, from memory to memory and from call to call.

Twice over all calls: a buffer that is handed out before anything is known of it shows by what is
written into it whether it holds a batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from roofline.call import Argument, Call, Tensor
from roofline.errors import RooflineError
from roofline.ops.shapes import broadcast
from roofline.program.batch.carried import (
    Batch,
    Carried,
    Steps,
    Unclear,
    carried,
    rewritten,
    steps_of,
)
from roofline.program.batch.inputs import MADE, Row
from roofline.program.batch.results import POINTWISE, results

Key = tuple[int, tuple[Steps, ...], tuple[tuple[tuple[int, int], ...], ...]]


@dataclass(slots=True)
class Following:
    """What is known of every storage, and each call as it would be with the other batch."""

    batch: Batch
    weights: frozenset[int]
    steps: dict[int, Steps] = field(default_factory=dict)
    shapes: dict[tuple[int, ...], Carried | None] = field(default_factory=dict)  # None: both ways
    calls: dict[Key, Call | None] = field(default_factory=dict)  # None cannot be rewritten
    unclear: set[int] = field(default_factory=set)  # storages written by calls nobody could follow
    # What equal calls on equal memory came to, in this pass: their key and the steps they wrote.
    _same: dict[tuple[object, ...], tuple[Key, tuple[Steps, ...]]] = field(default_factory=dict)

    def all(self, rows: Sequence[Row]) -> dict[int, Key]:
        """Every call in order, twice; by row the key of `calls` under which it stands."""
        for row in rows:
            self._follow(row)
        self.calls.clear()
        self._same.clear()
        return {row.row: self._follow(row) for row in rows}

    def _follow(self, row: Row) -> Key:
        """The batch through one call; its key."""
        if any(storage not in self.steps for storage in row.reads):
            for storage, tensor in zip(row.reads, row.call.tensors, strict=True):
                if storage not in self.steps:
                    self.steps[storage] = self._entering(storage, tensor, outside=True)
        self._learn(row)
        clear = self.unclear.isdisjoint(row.reads) and self.unclear.isdisjoint(row.writes)
        given = tuple(self.steps[storage] for storage in row.reads)
        before = tuple((self.steps.get(at), at in self.weights) for at in row.writes)
        same = (row.signature, given, before)
        if not clear or same not in self._same:
            key, written = self._through(row, given)
            if not clear or not self.unclear.isdisjoint(row.writes):
                return key
            self._same[same] = key, written
        key, written = self._same[same]
        self.steps.update(zip(row.writes, written, strict=True))
        return key

    def _through(self, row: Row, given: tuple[Steps, ...]) -> tuple[Key, tuple[Steps, ...]]:
        """The key of a call on memory with the steps `given`, and the steps of what it wrote."""
        call = row.call
        try:
            if not self.unclear.isdisjoint(row.reads):
                raise Unclear
            dims = [self._dims(t, s, row) for t, s in zip(call.tensors, given, strict=True)]
            out = self._results(row, dims)
        except (Unclear, RooflineError):
            dims, out = None, [{} for _ in call.outputs]
            self.unclear.update(at for at in row.writes if not self.steps.get(at))
        for storage, tensor, found in zip(row.writes, call.outputs, out, strict=True):
            self._write(storage, tensor, found)
        written = tuple(self.steps[storage] for storage in row.writes)
        key = (row.signature, (*given, *written), tuple(tuple(x.items()) for x in dims or ()))
        if key not in self.calls:
            self.calls[key] = None if dims is None else self._rewritten(call, dims, given, written)
        return key, written

    def _learn(self, row: Row) -> None:
        """What was unclear is as the other operand of the same shape that it is combined with."""
        if row.call.op not in POINTWISE or self.unclear.isdisjoint(row.reads):
            return
        pairs = [*zip(row.reads, row.call.tensors, strict=True)]
        for at, tensor in pairs:
            for other, like in pairs:
                if at in self.unclear and other not in self.unclear and like.shape == tensor.shape:
                    dims = carried(like, self.steps[other], self.batch.now)
                    self.steps[at] = steps_of(tensor, dims)
                    self.unclear.discard(at)

    def _entering(self, storage: int, tensor: Tensor, *, outside: bool) -> Steps:
        """The steps of memory that nobody has written yet in this recording."""
        now, shape = self.batch.now, tensor.shape
        if storage in self.weights or not shape:
            return ()
        if shape[0] == now:
            return steps_of(tensor, {0: 1})
        equal = [dim for dim, size in enumerate(shape) if size == now]
        if len(equal) == 1:
            return steps_of(tensor, {equal[0]: 1})
        if equal:
            self.unclear.add(storage)
            return ()
        seen = None if outside else self.shapes.get(shape)
        return steps_of(tensor, seen) if seen else ()

    def _dims(self, tensor: Tensor, steps: Steps, row: Row) -> Carried:
        """Where a tensor carries the batch; an expanded one shows it by its shape alone."""
        dims = dict(carried(tensor, steps, self.batch.now))
        for dim in _expanded(tensor):
            seen = self.shapes.get(tensor.shape, {})
            if seen is None:  # tensors of this shape were seen with the batch and without
                seen = self._as_result(tensor, row)
            if dim in seen:
                dims[dim] = seen[dim]
        return dims

    def _as_result(self, tensor: Tensor, row: Row) -> Carried:
        """As the result of the same shape, where later calls have shown what that is."""
        for at, out in zip(row.writes, row.call.outputs, strict=True):
            if out.shape == tensor.shape and at in self.steps and at not in self.unclear:
                return carried(out, self.steps[at], self.batch.now)
        raise Unclear

    def _results(self, row: Row, dims: Sequence[Carried]) -> Sequence[Carried]:
        call = row.call
        if call.op in MADE and not any(dims):
            return [self._made(at, t) for at, t in zip(row.writes, call.outputs, strict=True)]
        return results(call, dims)

    def _made(self, storage: int, tensor: Tensor) -> Carried:
        steps = self._entering(storage, tensor, outside=False)
        return carried(tensor, steps, self.batch.now)

    def _write(self, storage: int, tensor: Tensor, dims: Carried) -> None:
        if storage in self.weights:
            self.steps[storage] = ()
        elif not self.steps.get(storage):
            self.steps[storage] = steps_of(tensor, dims)
        if tensor.shape and storage not in self.unclear and not _expanded(tensor):
            try:
                seen = dict(carried(tensor, self.steps[storage], self.batch.now))
            except Unclear:
                return
            known = self.shapes.setdefault(tensor.shape, seen)
            if known is not None and known != seen:
                self.shapes[tensor.shape] = None

    def _rewritten(
        self, call: Call, dims: Sequence[Carried], given: Sequence[Steps], written: Sequence[Steps]
    ) -> Call | None:
        """`call` with the other batch; None where its sizes would no longer belong together."""
        batch, tensors = self.batch, iter(zip(call.tensors, dims, given, strict=True))
        shapes: dict[tuple[int, ...], tuple[int, ...]] = {}
        outputs = []
        try:
            for tensor, steps in zip(call.outputs, written, strict=True):
                there = carried(tensor, steps, batch.now)
                outputs.append(rewritten(tensor, there, steps, batch))
                shapes[tensor.shape] = outputs[-1].shape
        except Unclear:
            return None

        def one(argument: Argument) -> Argument:
            if isinstance(argument, Tensor):
                tensor, there, steps = next(tensors)
                return rewritten(tensor, there, steps, batch)
            if isinstance(argument, tuple) and any(isinstance(p, Tensor) for p in argument):
                return tuple(one(part) for part in argument)  # type: ignore[misc]
            # Sizes of what is made stand among the arguments as well.
            return shapes.get(argument, argument) if isinstance(argument, tuple) else argument  # type: ignore[arg-type]

        made = replace(call, args=tuple(map(one, call.args)), outputs=tuple(outputs))
        return made if _fits(made) else None


def _expanded(tensor: Tensor) -> list[int]:
    """Dimensions that are one element wide in memory."""
    return [
        dim
        for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.strides or (), strict=False))
        if size > 1 and not stride
    ]


def _fits(call: Call) -> bool:
    """Whether the sizes of a call still belong together."""
    tensors = call.tensors
    if call.op in POINTWISE and call.outputs:
        try:
            return broadcast(call, [t.shape for t in tensors]) == call.outputs[0].shape
        except RooflineError:
            return False
    left = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}.get(call.op)
    if left is None:
        return True
    (a, b), (out, *_) = tensors[left : left + 2], call.outputs
    return a.shape[-1] == b.shape[-2] and out.shape == (*a.shape[:-1], b.shape[-1])
