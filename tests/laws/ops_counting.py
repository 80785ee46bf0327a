"""Numbers that count what is done to them, and memory that remembers what was touched.

An operator written as plain loops over these is its own definition: its value can be compared with
PyTorch's, and its counts with the ledger's.
"""

import itertools
import math
import random
from dataclasses import dataclass, field

from roofline.call import DTYPE_BYTES, Tensor

DTYPES = ("fp32", "fp16", "bf16", "fp64")


@dataclass
class Tape:
    """What was done."""

    flop: int = 0
    sfu: int = 0
    reads: set = field(default_factory=set)  # (storage, byte)
    writes: set = field(default_factory=set)


class Num:
    """A number on a tape: an add, multiply, divide, comparison or negation is one flop."""

    __slots__ = ("tape", "value")

    def __init__(self, tape, value):
        self.tape = tape
        self.value = value

    def _new(self, value, flop=1):
        self.tape.flop += flop
        return Num(self.tape, value)

    def __add__(self, other):
        return self._new(self.value + plain(other))

    def __radd__(self, other):
        return self._new(plain(other) + self.value)

    def __sub__(self, other):
        return self._new(self.value - plain(other))

    def __rsub__(self, other):
        return self._new(plain(other) - self.value)

    def __mul__(self, other):
        return self._new(self.value * plain(other))

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self._new(self.value / plain(other))

    def __rtruediv__(self, other):
        return self._new(plain(other) / self.value)

    def __neg__(self):
        return self._new(-self.value)

    def __abs__(self):
        return self._new(abs(self.value))

    def max(self, other):
        """The larger: a comparison."""
        return self._new(max(self.value, plain(other)))

    def min(self, other):
        """The smaller: a comparison."""
        return self._new(min(self.value, plain(other)))

    def special(self, function):
        """A transcendental function: one on sfu."""
        self.tape.sfu += 1
        return Num(self.tape, function(self.value))

    def left_out(self, function):
        """Work that the convention leaves out."""
        return Num(self.tape, function(self.value))


def plain(x):
    """The value under the counting."""
    return x.value if isinstance(x, Num) else x


def total(numbers, tape):
    """A sum of n numbers is n adds: the accumulator starts at zero."""
    result = Num(tape, 0.0)
    for number in numbers:
        result = result + number
    return result


def largest(numbers, tape):
    """A maximum of n numbers is n comparisons."""
    result = Num(tape, -math.inf)
    for number in numbers:
        result = result.max(number)
    return result


class Array:
    """Elements at strides in a block of memory; reading and writing go on the tape."""

    def __init__(self, tape, shape, dtype, strides, storage, offset=0, cells=None):
        self.tape = tape
        self.shape = tuple(shape)
        self.dtype = dtype
        self.strides = tuple(strides)
        self.storage = storage
        self.offset = offset
        extent = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + 1
        self.cells = [0.0] * max(extent, 1) if cells is None else cells
        self.size = int(DTYPE_BYTES[dtype])

    def _place(self, index):
        return self.offset + sum(i * s for i, s in zip(index, self.strides, strict=True))

    def _bytes(self, place):
        return ((self.storage, place * self.size + k) for k in range(self.size))

    def __getitem__(self, index):
        place = self._place(index)
        self.tape.reads.update(self._bytes(place))
        return Num(self.tape, self.cells[place])

    def __setitem__(self, index, number):
        place = self._place(index)
        self.tape.writes.update(self._bytes(place))
        self.cells[place] = plain(number)

    @property
    def places(self):
        """Every index."""
        return itertools.product(*map(range, self.shape))

    @property
    def tensor(self):
        """As a call describes it."""
        return Tensor(self.shape, self.dtype, self.strides, self.storage, self.offset)

    def torch(self):
        """As PyTorch sees it, in double precision."""
        import torch

        block = torch.tensor(self.cells, dtype=torch.float64)
        return torch.as_strided(block, self.shape, self.strides, self.offset)


class Bench:
    """Makes random arrays on one tape."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.tape = Tape()
        self.dtype = self.random.choice(DTYPES)
        self._storages = itertools.count(1)

    def size(self, most=4):
        """A size, at least 1."""
        return self.random.randint(1, most)

    def sizes(self, rank, most=4):
        """A shape."""
        return tuple(self.size(most) for _ in range(rank))

    def choice(self, *options):
        """One of the options."""
        return self.random.choice(options)

    def empty(self, *shape, dtype=None):
        """A fresh contiguous array: a result."""
        return Array(self.tape, shape, dtype or self.dtype, contiguous(shape), next(self._storages))

    def full(self, *shape, dtype=None, low=-2.0, high=2.0):
        """Random numbers in an array that may be transposed, padded, or expanded in a dimension."""
        order = list(range(len(shape)))
        if self.random.random() < 0.4:
            self.random.shuffle(order)
        strides, step = [0] * len(shape), 1
        for dim in reversed(order):
            if self.random.random() < 0.1:
                continue  # expanded: stride 0
            strides[dim] = step
            step *= shape[dim] + (self.random.random() < 0.1) * self.size()
        made = Array(self.tape, shape, dtype or self.dtype, strides, next(self._storages),
                     self.random.choice((0, 0, 3)))  # fmt: skip
        made.cells = [self.random.uniform(low, high) for _ in made.cells]
        return made

    def whole(self, *shape, dtype=None, low=-2.0, high=2.0):
        """Random numbers in a contiguous array."""
        made = self.empty(*shape, dtype=dtype)
        made.cells = [self.random.uniform(low, high) for _ in made.cells]
        return made

    def indices(self, shape, below):
        """Random places, in a contiguous int64 array."""
        made = self.empty(*shape, dtype="int64")
        made.cells = [self.random.randrange(below) for _ in made.cells]
        return made


def contiguous(shape):
    """Strides of a block whose last dimension runs fastest."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return strides[::-1]


def aligned(index, shape):
    """Where a broadcast operand of `shape` stands for the result's `index`."""
    tail = index[len(index) - len(shape) :]
    return tuple(0 if n == 1 else i for i, n in zip(tail, shape, strict=True))
