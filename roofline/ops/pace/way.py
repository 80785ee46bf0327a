"""The ways of PyTorch's kernels that are not bound by memory, and what is known of a call on one.

Each way has a pace, in elements a second, that `roofline measure` takes of the PyTorch that is
installed (`roofline.bench.gpu.ways`).  A kernel's way follows from the types, shapes and strides of
its call.  These are observations of PyTorch 2.11's kernels on an H200.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

# Elements one at a time, with index arithmetic or a look at the type for each.
CASTS, STRIDED, JOINED = "casts", "strided or broadcast elements", "unaligned parts joined"
TRANSPOSED = "transposed copies"  # rows: what the result passes between neighbours of the source
COPIED_ODD = "copies by the driver, odd length"  # in B; rows: the whole tensor
# Sums and the like: `roofline.ops.pace.reduced`.
REDUCED, ROWS_REDUCED, ROWS_SEARCHED = "reduced to one", "rows summed", "rows searched or averaged"
COLUMNS_REDUCED = "columns reduced"  # rows: elements of a column that one thread takes
SUMS_JOINED = "sums of blocks joined"  # elements: sums that one thread joins
VARIANCE, PICKED_LOSSES = "variance of rows", "losses picked by one block"
# Rows: the kernel follows the length, and at each change of it two lengths are timed.
SOFTMAX, SOFTMAX_LONG = "softmax", "softmax, one row a multiprocessor"
LOG_SOFTMAX, LOG_SOFTMAX_LONG = "log softmax", "log softmax, one row a multiprocessor"
SOFTMAX_SHARED, SOFTMAX_AGAIN = "softmax in shared memory", "softmax that reads thrice"
NORMALISED, NORMALISED_ODD, RMS = "layer norm", "layer norm, odd length", "rms norm"
PICKED, PICKED_ODD = "rows picked", "rows picked, odd length"
# A channel, or a channel of an image, is a block's.  bf16 has PyTorch's kernels, others cuDNN's.
BATCH_NORM, BATCH_STATISTICS = "batch norm", "batch norm's statistics"
CUDNN_BATCH_NORM, CUDNN_BATCH_NORM_TRAINED = "batch norm of cuDNN", "batch norm of cuDNN, training"
DROPOUT, DROPOUT_PAIRS, DROPOUT_ODD = "dropout", "dropout, even length", "dropout, odd length"
GELU, MANY, MANY_ODD = "gelu by erf", "lists of tensors", "lists of tensors, odd lengths"
ADAM, ADAM_ODD = "fused Adam", "fused Adam, odd lengths"
# Rows: the whole matrix.
FEW_ROWS, VECTOR = "products of few rows", "matrix times vector"
FEW_QUERIES = "attention of few queries"
# Not of PyTorch but of Triton, as one writes it (a row a program, held or by blocks) and as
# torch.compile does.
OWN_ROWS, OWN_ROWS_ODD = "Triton rows", "Triton rows, odd length"
OWN_STREAMED, OWN_STREAMED_ODD = "Triton rows by blocks", "Triton rows by blocks, odd length"
COMPILED_GELU, COMPILED_GELU_ODD = "compiled gelu", "compiled gelu, odd length"
COMPILED_NORM, COMPILED_NORM_ODD = "compiled norm", "compiled norm, odd length"
COMPILED_SOFTMAX, COMPILED_SOFTMAX_ODD = "compiled softmax", "compiled softmax, odd length"

# Blocks on a multiprocessor when a way was timed with few of them.
ALONE: Mapping[str, float] = MappingProxyType({
    ROWS_REDUCED: 1, ROWS_SEARCHED: 1, COLUMNS_REDUCED: 1, BATCH_STATISTICS: 1,
    CUDNN_BATCH_NORM_TRAINED: 0.5,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pace:
    """How one kernel passes over its data, beside reading and writing its operands once."""

    way: str = ""  # "" is bound by memory
    elements: int = 0  # those included that a block leaves idle
    row: int | None = None  # elements of the piece whose length decides the pace
    size: int = 2  # B of an element, 2 or 4, whichever is nearer
    blocks: int = 0  # of threads; 0 is so many that the last ones do not matter
    together: int = 1  # of them, that a multiprocessor holds
    read: int = 0  # B beside the operands
    written: int = 0  # B that are no result
    then: tuple["Pace", ...] = ()  # kernels that the call starts after it, without its operands

    @property
    def names(self) -> tuple[str, str]:
        """The way at this size of elements, and at any."""
        return sized(self.way, self.size), self.way

    @property
    def chain(self) -> tuple["Pace", ...]:
        """This kernel and those after it."""
        return self, *(one for after in self.then for one in after.chain)


PLAIN = Pace()


def sized(way: str, size: int) -> str:
    """A way at one size of elements."""
    return f"{way}, {size} B"


def few(way: str) -> str:
    """A way with so few blocks that each has a multiprocessor for itself."""
    return f"{way}, few blocks"
