"""Memory to sweep over: huge pages, random data, placed by the thread that will use it."""

import ctypes
import mmap
import random
from array import array

from roofline.bench.cpu.kernels import ARRAYS, ELEMENT, Stream

_HUGE = 2 << 20  # B
_BLOCK = 1 << 20  # B of random data, repeated: random enough for any DRAM, and quick to make
# An odd multiple of a cache line: arrays at equal places within a 4 KiB page would make loads wait
# for stores that only look like theirs.
APART = 5 * 64


class Buffer:
    """`size` bytes in huge pages where the system gives them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._map = mmap.mmap(-1, size + _HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            self._map.madvise(mmap.MADV_HUGEPAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self.address = -(-start // _HUGE) * _HUGE

    def fill(self, copy: Stream) -> None:
        """Write all of it once, from the thread that will use it, with random values near 1."""
        draw = random.Random(self.size).uniform
        block = array("f", [draw(0.5, 1.5) for _ in range(_BLOCK // ELEMENT)])
        ctypes.memmove(self.address, block.buffer_info()[0], min(_BLOCK, self.size))
        for offset in range(_BLOCK, self.size, _BLOCK):
            elements = min(_BLOCK, self.size - offset) // ELEMENT
            copy(self.address + offset, self.address, 0, elements, 1)

    def arrays(self, access: str, elements: int) -> tuple[int, int, int]:
        """Addresses of the arrays of `access`, `elements` fp32 each; those unused are equal."""
        step = elements * ELEMENT + APART
        first, last = self.address, ARRAYS[access] - 1
        return first, first + min(1, last) * step, first + min(2, last) * step


def room(largest: int) -> int:
    """Bytes a buffer needs for working sets up to `largest`."""
    return -(-(largest + 3 * APART) // _BLOCK) * _BLOCK
