"""How kernels of Triton pass over rows: as one writes them first, and as torch.compile does.

A compiler that does not know the address of a row to be a multiple of 16 B loads an element a
thread.  Of a kernel written by hand it knows that only where 16 divides the length; torch.compile
builds lengths in, and loads 8 B where 4 divides them.
"""

from roofline.ops.pace.way import (
    COMPILED_GELU,
    COMPILED_GELU_ODD,
    COMPILED_NORM,
    COMPILED_NORM_ODD,
    COMPILED_SOFTMAX,
    COMPILED_SOFTMAX_ODD,
    OWN_ROWS,
    OWN_ROWS_ODD,
    OWN_STREAMED,
    OWN_STREAMED_ODD,
    Pace,
)

HELD = 1024  # elements of a row that torch.compile holds in registers
CHUNK = 2048  # of a longer one, that it takes at a time, from the first to the last and again
BLOCK = 4096  # elements of a row that a kernel by hand takes at a time


def rows(m: int, n: int) -> Pace:
    """m rows of n, a program each that holds its row."""
    return Pace(OWN_ROWS if n % 16 == 0 else OWN_ROWS_ODD, m * n, n)


def streamed(m: int, n: int) -> Pace:
    """m rows of n, a program each that takes its row by blocks."""
    piece = -(-n // -(-n // BLOCK))  # what a block has on average: its time is linear in it
    return Pace(OWN_STREAMED if n % 16 == 0 else OWN_STREAMED_ODD, m * n, piece)


def normalised(m: int, n: int) -> Pace:
    """A norm of m rows of n by torch.compile: longer rows are read again to be written."""
    return _looped(m, n, COMPILED_NORM if n % 4 == 0 else COMPILED_NORM_ODD)


def softmax(m: int, n: int) -> Pace:
    """A softmax likewise: it keeps a largest and a sum for each element of a chunk."""
    return _looped(m, n, COMPILED_SOFTMAX if n % 4 == 0 else COMPILED_SOFTMAX_ODD)


def gelu(m: int, n: int) -> Pace:
    """gelu by erf of m rows of n, with a bias along each, by torch.compile."""
    return Pace(COMPILED_GELU if n % 4 == 0 else COMPILED_GELU_ODD, m * n)


def _looped(m: int, n: int, way: str) -> Pace:
    if n <= HELD:
        return rows(m, n)
    return Pace(way, m * -(-n // CHUNK) * CHUNK)
