"""Where the data of each call was before it ran: how much else was touched since.

A call's operands are still in a cache when everything touched since their last use fits in it
together with them.  That amount is the reuse distance (Mattson, Gecsei, Slutz, Traiger,
"Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970), taken here per
storage and in bytes.  Weights that a decoder reads once a token are far away although each
matrix alone would fit; the result of the operator before is near.
"""

from collections.abc import Iterable, Iterator, Sequence

from roofline.call import Call

NEVER = 1 << 62  # B: not touched before in this recording
_HALF = 0.5  # operands that hold this share of the bytes decide where the call's data was


Storages = Sequence[int] | None
Row = tuple[int, Storages, Storages]  # signature, storages read, storages written


def reaches(rows: Iterable[Row], calls: Sequence[Call | None]) -> Iterator[int | None]:
    """For each event, how many bytes a cache must hold for most of its operands to be in it.

    `calls` has one call a signature, None for those that touch nothing (views) or are not known.
    None comes where the storages of the call are not recorded, or it reads nothing.
    """
    rows = [*rows]
    ages = _Ages(sum(len(reads or ()) + len(writes or ()) for _, reads, writes in rows))
    for signature, given, written in rows:
        call, reads, writes = calls[signature], given or (), written or ()
        if call is None or len(reads) != len(call.tensors) or len(writes) != len(call.outputs):
            yield None
            continue
        sizes: dict[int, int] = {}
        for storage, tensor in zip(read(call, reads, writes), call.tensors, strict=False):
            sizes[storage] = max(sizes.get(storage, 0), tensor.nbytes)
        yield reach([(ages.distance(storage), size) for storage, size in sizes.items()])
        for storage, tensor in zip(writes, call.outputs, strict=True):
            sizes[storage] = max(sizes.get(storage, 0), tensor.nbytes)
        for storage, size in sizes.items():
            ages.touch(storage, size)


def read(call: Call, given: Sequence[int], written: Sequence[int]) -> Sequence[int]:
    """The storages that a call reads, of those it was `given`, in the order of its tensors.

    The last ones of an operator that is not in place are its ``out=`` where they are what it
    writes: read they are only where they are given as an operand too.
    """
    outs = len(written)
    in_place = call.op.endswith("_")
    if in_place or not outs or len(given) <= outs or [*given[-outs:]] != [*written]:
        return given
    return given[:-outs]


def reach(operands: list[tuple[int, int]]) -> int | None:
    """The distance within which operands with half of the bytes lie."""
    total, near = sum(size for _, size in operands), 0
    for distance, size in sorted(operands):
        near += size
        if near >= _HALF * total:
            return distance
    return None


class _Ages:
    """Bytes touched since each storage's last use, by a Fenwick tree over touches in order."""

    def __init__(self, touches: int):
        self._tree = [0] * (touches + 1)
        self._last: dict[int, tuple[int, int]] = {}  # storage -> (touch, bytes)
        self._now = 0
        self._all = 0  # bytes of every storage at its last touch

    def distance(self, storage: int) -> int:
        """Its own bytes and those of every other storage touched since."""
        if storage not in self._last:
            return NEVER
        touch, size = self._last[storage]
        return self._all - self._up_to(touch) + size

    def touch(self, storage: int, size: int) -> None:
        """This storage is used now."""
        if storage in self._last:
            touch, before = self._last[storage]
            self._add(touch, -before)
            size = max(size, before)
        self._now += 1
        self._last[storage] = (self._now, size)
        self._add(self._now, size)

    def _add(self, at: int, amount: int) -> None:
        self._all += amount
        while at < len(self._tree):
            self._tree[at] += amount
            at += at & -at

    def _up_to(self, at: int) -> int:
        total = 0
        while at > 0:
            total += self._tree[at]
            at -= at & -at
        return total
