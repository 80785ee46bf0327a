"""Where the data of each call was, in recordings that name no memory: between two bounds.

A profiler's trace has shapes and no addresses.  An operand as large as a result that was written
earlier in the step is taken to be the latest such result.  Any other comes from outside: a weight,
a cache of keys.  When a call comes again with an operand of the same type and layout, it may be the
same memory, last used at the call before, or another of the same size (layers alike), not used
since the step before.  The first gives the nearest distance that is possible, the second the
farthest, both in bytes of different tensors touched since, as in `residency`.  The step before the
recording is taken to have been like the first one recorded.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from roofline.call import Tensor
from roofline.program.boundary.following import FOLLOWED, read_by_size, written_by_size
from roofline.program.boundary.residency import NEVER, reach
from roofline.runfile import Signature


class Range(NamedTuple):
    """The smallest cache that still has most operands of a call [B], at best and at worst."""

    near: int | None
    far: int | None


OPEN = Range(None, None)


class Needs(NamedTuple):
    """Operands and results of a signature that are worth following, by size [B] and by layout."""

    reads: Sequence[tuple[int, object]]
    writes: Sequence[int]


def ranges(
    steps: Iterable[Sequence[int]], signatures: Sequence[Signature], caches: Iterable[int]
) -> Iterator[Sequence[Range]]:
    """For each step the ranges of its calls, in order, by `caches` of so many bytes.

    Of `steps` the signatures are given, without views.  A step like the one before has the very
    same ranges.
    """
    passing = _Passing([_needs(signature) for signature in signatures], sorted(caches))
    before: Sequence[int] | None = None  # the step before, and what was found in it
    found: Sequence[Range] = []
    for calls in steps:
        if calls != before:
            if before is None:
                passing.step(calls)
            before, found = calls, passing.step(calls)
        yield found


class _Caches:
    """What caches of some sizes hold that keep what was used last: all within so many bytes."""

    def __init__(self, sizes: Sequence[int]):
        self._sizes = sizes
        self._held: list[dict[int, int]] = [{} for _ in sizes]  # tensor -> B, oldest first
        self._full = [0] * len(sizes)

    def distance(self, tensor: int) -> int:
        """The smallest size that holds it, NEVER where none does."""
        holding = zip(self._sizes, self._held, strict=True)
        return next((size for size, held in holding if tensor in held), NEVER)

    def touch(self, tensor: int, size: int) -> None:
        """It is used now; what was used longest ago makes room."""
        for at, held in enumerate(self._held):
            self._full[at] += size - held.pop(tensor, 0)
            held[tensor] = size
            while self._full[at] > self._sizes[at]:
                self._full[at] -= held.pop(next(iter(held)))


class _Passing:
    """Everything touched so far, once with equal layouts as one tensor and once as different."""

    def __init__(self, needs: Sequence[Needs], caches: Sequence[int]):
        self._needs = needs
        self._near, self._far = _Caches(caches), _Caches(caches)
        self._ids: dict[object, int] = {}
        self._made = 0
        self._results: dict[int, int] = {}  # bytes -> the latest result of so many, in this step
        self._turns: dict[object, int] = {}  # layout -> how often it was met in this step
        self._found: dict[Range, Range] = {}  # each different one is held once

    def step(self, calls: Sequence[int]) -> list[Range]:
        """The signatures of one step, one after the other."""
        self._results, self._turns = {}, {}
        return [self._call(self._needs[signature]) for signature in calls]

    def _call(self, needs: Needs) -> Range:
        """The operands of one call, looked up; then it has touched them and its results."""
        operands = [(*self._named(size, layout), size) for size, layout in needs.reads]
        found = Range(
            reach([(self._near.distance(near), size) for near, _, size in operands]),
            reach([(self._far.distance(far), size) for _, far, size in operands]),
        )
        for near, far, size in operands:
            self._near.touch(near, size)
            self._far.touch(far, size)
        for size in needs.writes:
            self._made += 1
            made = self._results[size] = -self._made
            self._near.touch(made, size)
            self._far.touch(made, size)
        return self._found.setdefault(found, found)

    def _named(self, size: int, layout: object) -> tuple[int, int]:
        """The same operand as the nearest tensor that it may be, and as the farthest."""
        if (made := self._results.get(size)) is not None:
            return made, made
        turn = self._turns[layout] = self._turns.get(layout, -1) + 1
        return self._number(layout), self._number((layout, turn))

    def _number(self, key: object) -> int:
        return self._ids.setdefault(key, len(self._ids))


def _needs(signature: Signature) -> Needs:
    tensors = signature.call.tensors if signature.call else ()
    return Needs(
        [
            (tensor.nbytes, _layout(tensor))
            for tensor in read_by_size(signature, tensors)
            if tensor.nbytes >= FOLLOWED
        ],
        [size for size in written_by_size(signature) if size >= FOLLOWED],
    )


def _layout(tensor: Tensor) -> object:
    """Type and sizes in the order in which memory has them: a transposed view is the same."""
    if tensor.strides is None:
        return tensor.dtype, tensor.shape
    order = sorted(range(len(tensor.shape)), key=lambda dim: -tensor.strides[dim])  # type: ignore[index]
    return tensor.dtype, tuple(tensor.shape[dim] for dim in order)
