"""Every way of `roofline.ops.pace` as a call of PyTorch, at plain sizes.

Elements of 2 B, so that memory bounds as little as possible of it, and of 4 B where PyTorch's
kernels for them differ; rows of several lengths, between which one can interpolate: on both
sides of each length where PyTorch changes its kernel.
"""

from collections.abc import Iterator

from roofline.bench.gpu.ways.moves import moves, whole
from roofline.bench.gpu.ways.others import attention, lists, products
from roofline.bench.gpu.ways.own import of_triton
from roofline.bench.gpu.ways.reduced import joined, reduced
from roofline.bench.gpu.ways.rows import batch_norm, by_rows, gathered, losses
from roofline.bench.gpu.ways.way import Way

SIZES = 2, 4  # B of an element


def ways() -> Iterator[Way]:
    """All of them."""
    yield from of_pytorch()
    yield from of_triton()


def of_pytorch() -> Iterator[Way]:
    """All but those of Triton."""
    yield from moves()
    for size in SIZES:
        for part in (whole, lists, products, by_rows, gathered, reduced):
            yield from part(size)
    yield from joined()
    yield from losses()
    yield from batch_norm()
    yield from attention()
