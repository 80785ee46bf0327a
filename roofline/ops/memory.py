"""Bytes of a set of tensors, each byte of memory counted once.

Two tensors share memory when their `storage` numbers are equal.  A tensor whose storage is not
recorded (profiler traces) is taken to share with nobody.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from roofline.call import DTYPE_BYTES, Tensor


@dataclass(frozen=True, slots=True)
class Share:
    """What one tensor adds to the tensors before it, in bytes; the truth is in [low, high]."""

    amount: int
    low: int
    high: int

    @property
    def exact(self) -> bool:
        """Whether the amount is known to the byte."""
        return self.low == self.high


@dataclass(frozen=True, slots=True)
class Region:
    """The bytes a tensor covers: where it starts, and how it steps."""

    start: int
    dims: tuple[tuple[int, int], ...]  # (size, stride in B), smallest stride first, merged
    nbytes: int

    @property
    def end(self) -> int:
        """One past the last byte; as dims[0] is the dense run, this is exact."""
        return self.start + self.dims[0][0] + sum((n - 1) * s for n, s in self.dims[1:])

    @property
    def dense(self) -> bool:
        """Whether it has no holes."""
        return len(self.dims) == 1


def region(tensor: Tensor) -> Region:
    """The bytes `tensor` covers.  Dimensions of stride 0 or size 1 cover nothing new.

    >>> region(Tensor((4, 1024), strides=(1, 0)))
    Region(start=0, dims=((16, 1),), nbytes=16)
    >>> region(Tensor((5, 3), "fp16", strides=(1, 1))).nbytes  # windows that overlap: 7 elements
    14
    """
    size = int(DTYPE_BYTES[tensor.dtype])
    dims = [(size, 1)]
    for n, stride in sorted(zip(tensor.shape, strides(tensor), strict=True), key=lambda d: d[1]):
        step = stride * size
        run, inner = dims[-1]
        if n == 1 or step == 0:
            continue
        if len(dims) == 1 and step <= run:
            dims[0] = (run + (n - 1) * step, 1)
        elif step == run * inner:
            dims[-1] = (run * n, inner)
        else:
            dims.append((n, step))
    return Region(tensor.offset * size, tuple(dims), _distinct(dims))


def _distinct(dims: list[tuple[int, int]]) -> int:
    """Bytes at different addresses; at most the extent, which overlapping steps cannot exceed."""
    count, extent = 1, 1
    for n, step in dims:
        count *= n
        extent += (n - 1) * step
    return min(count, extent)


def strides(tensor: Tensor) -> tuple[int, ...]:
    """Its strides; those of a contiguous tensor when none are recorded."""
    return contiguous(tensor.shape) if tensor.strides is None else tensor.strides


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a tensor whose last dimension runs fastest.

    >>> contiguous((2, 3, 4))
    (12, 4, 1)
    """
    step, backwards = 1, []
    for size in reversed(shape):
        backwards.append(step)
        step *= max(size, 1)
    return tuple(reversed(backwards))


def viewable(tensor: Tensor, shape: Sequence[int]) -> bool:
    """Whether `tensor` can be seen as `shape` without moving an element.

    Dimensions that run on in memory form a block; a new dimension may split a block but not span
    two of them.

    >>> across = Tensor((2, 3), strides=(1, 2))
    >>> viewable(across, (2, 3, 1)), viewable(across, (6,)), viewable(Tensor((2, 3)), (6,))
    (True, False, True)
    """
    blocks: list[int] = []  # elements of each, outermost first
    previous = None
    for n, stride in zip(tensor.shape, strides(tensor), strict=True):
        if n == 1:
            continue
        if previous is not None and previous == n * stride:
            blocks[-1] *= n
        else:
            blocks.append(n)
        previous = stride
    for size in reversed([n for n in shape if n != 1]):
        if not size or not blocks or blocks[-1] % size:
            return not tensor.numel
        blocks[-1] //= size
        if blocks[-1] == 1:
            blocks.pop()
    return not blocks


def shares(tensors: Iterable[Tensor]) -> list[Share]:
    """Per tensor, the bytes it touches that no tensor before it touched.

    Exact when regions are equal, disjoint, inside a dense one, all dense, or equal in stride;
    otherwise the amount is an upper bound and the interval says so.
    """
    seen: dict[int, list[Region]] = {}
    found = []
    for t in tensors:
        if not t.numel or DTYPE_BYTES[t.dtype] < 1:
            found.append(Share(t.nbytes, t.nbytes, t.nbytes))
            continue
        new = region(t)
        before = [] if t.storage is None else seen.setdefault(t.storage, [])
        found.append(_share(new, before))
        before.append(new)
    return found


def _share(new: Region, before: list[Region]) -> Share:
    near = [b for b in before if b.start < new.end and new.start < b.end]
    if any(b.dense and b.start <= new.start and new.end <= b.end for b in near) or new in near:
        return Share(0, 0, 0)
    if new.dense and all(b.dense for b in near):
        amount = new.nbytes - _covered(new, near)
        return Share(amount, amount, amount)
    if all(b.dims[1:] and _same_steps(b, new) for b in near):
        common = [_common(b, new) for b in near]
        if None not in common and sum(bool(c) for c in common) <= 1:
            amount = new.nbytes - sum(c or 0 for c in common)
            return Share(amount, amount, amount)
    low = max(0, new.nbytes - sum(b.nbytes for b in near))
    return Share(new.nbytes, low, new.nbytes)


def _covered(new: Region, near: list[Region]) -> int:
    """Bytes of the interval `new` inside the union of the intervals `near`."""
    covered, at = 0, new.start
    for b in sorted(near, key=lambda b: b.start):
        start, end = max(b.start, at), min(b.end, new.end)
        if end > start:
            covered += end - start
            at = end
    return covered


def _same_steps(a: Region, b: Region) -> bool:
    steps = [s for _, s in a.dims]
    # Greedy division below needs each step to be a multiple of the one inside it.
    nested = all(outer % inner == 0 for inner, outer in pairwise(steps))
    return nested and steps == [s for _, s in b.dims]


def _common(a: Region, b: Region) -> int | None:
    """Bytes in both of two boxes on the same lattice; None when one wraps round the lattice."""
    if b.start < a.start:
        a, b = b, a
    shift, common, room = b.start - a.start, 1, None
    for (n_a, step), (n_b, _) in zip(reversed(a.dims), reversed(b.dims), strict=True):
        moved, shift = divmod(shift, step)
        if room is not None and (moved + n_b) * step > room:
            return None
        common *= max(0, min(n_a, moved + n_b) - moved)
        room = step
    return common
