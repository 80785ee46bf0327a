"""Which memory comes into a step from outside, which of it is weights, and how large the batch is.

A weight is what an optimizer writes, or what a forward operator is given in a weight's place.  An
input is any other memory that no operator of the recording made, or that was filled with random
numbers: a benchmark's data.  The size that all inputs begin with is the batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from roofline.call import Call, Tensor
from roofline.ops import free
from roofline.ops.elements import creation

WEIGHTS: Mapping[str, tuple[int, ...]] = {  # argument positions
    "mm": (1,), "addmm": (0, 2), "_addmm_activation": (0, 2), "linear": (1, 2), "mv": (0,),
    "convolution": (1, 2), "_convolution": (1, 2), "cudnn_convolution": (1,),
    "mkldnn_convolution": (1, 2), "embedding": (0,),
    "native_layer_norm": (2, 3), "layer_norm": (2, 3), "rms_norm": (2,), "_fused_rms_norm": (2,),
    "native_group_norm": (1, 2), "native_batch_norm": (1, 2, 3, 4),
    "cudnn_batch_norm": (1, 2, 3, 4),
    "_native_batch_norm_legit_no_training": (1, 2, 3, 4), "_batch_norm_with_update": (1, 2, 3, 4),
    "mkldnn_rnn_layer": (1, 2, 3, 4),
}  # fmt: skip
MADE = frozenset(rule.op for rule in creation.RULES) | {f"aten::{name}" for name in free.ALLOCATION}
DRAWN = frozenset(f"aten::{name}" for name in ("randn", "rand", "randint", "normal", "randperm"))


class Row(NamedTuple):
    """One recorded call: what it was, and the memory it was given and wrote."""

    row: int
    call: Call
    signature: int
    phase: str
    measured: bool  # in a step that counts
    reads: Sequence[int]
    writes: Sequence[int]


def weights(rows: Sequence[Row]) -> frozenset[int]:
    """Storages that are parameters, or the state of an optimizer."""
    found: set[int] = set()
    for row in rows:
        if row.phase == "optimizer":
            found.update(row.writes)
        elif row.phase != "backward":
            places = WEIGHTS.get(row.call.op.removeprefix("aten::"), ())
            found.update(at for place, at in _given(row) if place in places)
    return frozenset(found)


def inputs(rows: Sequence[Row], known: frozenset[int]) -> dict[int, Tensor]:
    """Storage -> how it was first seen, of everything from outside that is no weight."""
    made: set[int] = set()
    found: dict[int, Tensor] = {}
    for row in rows:
        drawn = row.call.op in DRAWN
        for at, tensor in zip(row.reads, row.call.tensors, strict=True):
            if row.measured and at not in made and at not in known and tensor.shape:
                found.setdefault(at, tensor)
        for at, tensor in zip(row.writes, row.call.outputs, strict=True):
            if drawn and row.measured and at not in known and at not in found:
                found[at] = tensor
            made.add(at)
    return found


def candidates(found: Mapping[int, Tensor]) -> list[int]:
    """Sizes that inputs begin with, the most frequent first; 1 tells nothing."""
    counts: dict[int, int] = {}
    for tensor in found.values():
        if tensor.shape[0] > 1:
            counts[tensor.shape[0]] = counts.get(tensor.shape[0], 0) + 1
    return sorted(counts, key=lambda size: (-counts[size], size))


def sizes(found: Mapping[int, Tensor]) -> frozenset[int]:
    """Every size of an input: one of them is the batch, wherever it stands."""
    return frozenset(size for tensor in found.values() for size in tensor.shape)


def _given(row: Row) -> Iterator[tuple[int, int]]:
    """(position of the argument, storage), lists left out."""
    storages = iter(row.reads)
    for place, argument in enumerate(row.call.args):
        if isinstance(argument, Tensor):
            yield place, next(storages)
        elif isinstance(argument, tuple):
            for part in argument:
                if isinstance(part, Tensor):
                    next(storages)
