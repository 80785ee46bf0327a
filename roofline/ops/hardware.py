"""What the memory system moves beyond the bytes that are asked for.

A write to a line that is not in the cache fetches the line first on a CPU (write-allocate), unless
the kernel bypasses the cache.  Memory moves in whole sectors, so elements that lie apart bring
their neighbours along.
"""

from collections.abc import Iterable
from math import gcd

from roofline.call import Call, Tensor
from roofline.device import DRAM
from roofline.ops.memory import region
from roofline.work import Count, Entry, Exactness, Ledger

SECTOR = {"cuda": 32, "cpu": 64}  # B: a sector of a GPU's line, a line of a CPU
ALLOCATES = "a CPU fetches the lines it writes, unless the kernel bypasses the cache"
WHOLE = "memory moves in sectors of 32 B on a GPU, in lines of 64 B on a CPU"


def moved(call: Call, asked: Ledger, streamed: Iterable[Tensor]) -> Ledger | None:
    """The bytes of `asked` as the memory system moves them; None when it moves no more than that.

    `streamed` are the operands whose every element is read: only of those the sectors are known.
    """
    fetched = _allocated(asked) if call.device == "cpu" else []
    extra = [*fetched, *_neighbours(call, streamed)]
    if not extra:
        return None
    lines = tuple(e for e in asked.entries if e.resource == DRAM)
    words = tuple(dict.fromkeys(ALLOCATES if e.why.startswith("fetch") else WHOLE for e in extra))
    return Ledger(Count.EXECUTED, (*lines, *extra), (), words)


def sectors(tensor: Tensor, size: int) -> int:
    """Bytes of the sectors of `size` B that a tensor touches, from a block that starts on one.

    >>> sectors(Tensor((4, 1), "fp32", (1024, 1)), 32)
    128
    """
    if not tensor.numel:
        return 0
    there = region(tensor)
    run, rest = there.dims[0][0], list(there.dims[1:])
    # While a gap is narrower than a sector no sector fits into it: all up to there are touched.
    while rest and rest[0][1] - run < size:
        n, step = rest.pop(0)
        run += (n - 1) * step
    # The runs that remain share no sector; what each touches depends on where in one it starts.
    starts = {there.start % size: 1}
    for n, step in rest:
        starts = _shifted(starts, n, step, size)
    return size * sum(n * -(-(start + run) // size) for start, n in starts.items())


def _shifted(starts: dict[int, int], n: int, step: int, size: int) -> dict[int, int]:
    """How many runs start at which place in a sector, after repeating `n` times at `step`."""
    period = size // gcd(size, step)
    found: dict[int, int] = {}
    for start, count in starts.items():
        for i in range(min(n, period)):
            place = (start + i * step) % size
            found[place] = found.get(place, 0) + count * ((n - 1 - i) // period + 1)
    return found


def allocated(asked: Ledger) -> Ledger | None:
    """The bytes of `asked` as a CPU moves them; None when it fetches nothing to write it."""
    lines = tuple(e for e in asked.entries if e.resource == DRAM)
    fetched = _allocated(asked)
    return Ledger(Count.EXECUTED, (*lines, *fetched), (), (ALLOCATES,)) if fetched else None


def _allocated(asked: Ledger) -> list[Entry]:
    """Bytes written that are not read anyway: what the footprint has beyond the reads."""
    if asked.footprint is None:
        return []
    fresh = asked.footprint - asked.traffic(DRAM, "read")
    if fresh <= 0:
        return []
    return [Entry(DRAM, fresh, "fetch the lines written (write-allocate)", "read",
                  Exactness.ESTIMATE)]  # fmt: skip


def _neighbours(call: Call, streamed: Iterable[Tensor]) -> list[Entry]:
    size = SECTOR[call.device]
    found = []
    for tensor in streamed:
        if tensor.strides is None or not tensor.numel:
            continue
        apart = region(tensor)
        beside = sectors(tensor, size) - apart.nbytes
        # A block without holes brings less than a sector at each end: not worth a line.
        if not apart.dense and beside > 0:
            found.append(Entry(DRAM, beside, "the rest of sectors read in part", "read",
                               Exactness.ESTIMATE))  # fmt: skip
    return found
