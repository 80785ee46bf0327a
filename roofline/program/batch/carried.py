"""Which dimensions of a tensor carry the batch, told by the strides of its memory.

A block of memory that holds a batch has a step: the elements from one sample to the next.  Every
view of it, flattened or transposed, shows the batch where a dimension strides over that step; no
size has to be guessed.  A batch of 4 in a tensor 4x7x24 has the step 168; the view 28x24 of it,
with strides 24 and 1, passes that step in its first dimension, 7 elements a sample.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from roofline.call import Tensor

Carried = Mapping[int, int]  # dimension -> elements of it that belong to one sample
Steps = tuple[int, ...]  # elements from one sample to the next, ascending; () carries no batch


class Unclear(Exception):
    """The strides do not say where the batch is, or a part of the batch is cut out."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples a step, as recorded and as asked for."""

    now: int
    then: int

    def scaled(self, elements: int) -> int:
        """`elements`, which hold whole batches, of the other batch."""
        return elements // self.now * self.then


def strides_of(tensor: Tensor) -> tuple[int, ...]:
    """As recorded, else those of a contiguous tensor [elements]."""
    if tensor.strides is not None:
        return tensor.strides
    strides, step = [], 1
    for size in reversed(tensor.shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def carried(tensor: Tensor, steps: Steps, now: int) -> Carried:
    """The dimensions of `tensor` that pass the `steps` of its memory."""
    found: dict[int, int] = {}
    strides = strides_of(tensor)
    for step in steps:
        passing = [
            d
            for d, (size, stride) in enumerate(zip(tensor.shape, strides, strict=True))
            if 0 < stride <= step < stride * size
        ]
        if not passing:
            continue  # one sample alone, or less
        (dim, *others) = passing
        inner, rest = divmod(step, strides[dim])
        if others or dim in found or rest or tensor.shape[dim] % (inner * now):
            raise Unclear
        found[dim] = inner
    return found


def steps_of(tensor: Tensor, dims: Carried) -> Steps:
    """The steps of the memory of a fresh `tensor` whose `dims` carry the batch."""
    strides = strides_of(tensor)
    return tuple(sorted(strides[dim] * inner for dim, inner in dims.items() if strides[dim]))


def rewritten(tensor: Tensor, dims: Carried, steps: Steps, batch: Batch) -> Tensor:
    """`tensor` as it would be with the other batch; `steps` are those of its memory."""
    shape = tuple(batch.scaled(n) if d in dims else n for d, n in enumerate(tensor.shape))
    strides = None
    if tensor.strides is not None:
        strides = tuple(_strided(stride, steps, batch) for stride in tensor.strides)
    offset = tensor.offset
    for step in steps:
        whole, rest = divmod(offset, step * batch.now)
        offset = whole * step * batch.then + rest
    return replace(tensor, shape=shape, strides=strides, offset=offset)


def _strided(stride: int, steps: Sequence[int], batch: Batch) -> int:
    for step in steps:
        if stride > step and stride % batch.now == 0:
            stride = batch.scaled(stride)
    return stride
