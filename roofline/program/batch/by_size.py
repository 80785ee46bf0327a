"""The batch in a profiler's trace, which names no memory: sizes are told apart by their value.

A size carries the batch where it is the rows of activations (what a product, a convolution, an
attention or an embedding passes over) and holds whole batches.  Where the same number is a size of
weights too, nothing tells one from the other and the question is refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from roofline.call import Argument, Call, Tensor
from roofline.errors import BadInput
from roofline.program.batch.carried import Batch
from roofline.program.batch.inputs import WEIGHTS

ROWS = {  # argument whose first size is samples, or samples times positions
    "addmm": 1, "linear": 0, "convolution": 0, "cudnn_convolution": 0, "_convolution": 0,
    "embedding": 1, "native_layer_norm": 0, "native_group_norm": 0, "native_batch_norm": 0,
    "cudnn_batch_norm": 0, "_fused_rms_norm": 0,
}  # fmt: skip
# Arguments of these begin with samples themselves.
SAMPLES = {"convolution": 0, "cudnn_convolution": 0, "native_batch_norm": 0, "embedding": 1,
           "cudnn_batch_norm": 0, "native_group_norm": 0}  # fmt: skip
_ATTENTION = "scaled_dot_product"


def samples(calls: Sequence[Call]) -> list[int]:
    """The sizes that may be the batch: what convolutions, attention and embeddings begin with."""
    return [size for size in leading(calls) if size > 1]


def leading(calls: Sequence[Call]) -> list[int]:
    """What these begin with, a size of 1 as well; samples, or samples times heads."""
    found = [
        tensor.shape[0]
        for call in calls
        if (tensor := _first(call, SAMPLES)) is not None and len(tensor.shape) > 1
    ]
    return list(dict.fromkeys(found))


def carrying(calls: Sequence[Call], batch: Batch) -> frozenset[int]:
    """The sizes that scale with the batch; refused where a size of weights is among them."""
    rows = {t.shape[0] for call in calls if (t := _first(call, ROWS)) is not None and t.shape}
    rows = {size for size in rows if size % batch.now == 0}
    fixed = {size for call in calls for tensor in _weights(call) for size in tensor.shape}
    if both := sorted(rows & fixed):
        raise BadInput(
            f"{both[0]} is the rows of activations and a size of weights, and a trace names no "
            "memory to tell them apart: record the program with `roofline run`"
        )
    if batch.now not in rows and not rows:
        raise BadInput(f"nothing in the recording comes in batches of {batch.now}")
    return frozenset(rows)


def rewritten(call: Call, sizes: frozenset[int], batch: Batch) -> Call:
    """`call` with every size of `sizes` scaled."""

    def one(argument: Argument) -> Argument:
        if isinstance(argument, Tensor):
            return _scaled(argument, sizes, batch)
        if isinstance(argument, tuple):
            if any(isinstance(part, Tensor) for part in argument):
                return tuple(one(part) for part in argument)  # type: ignore[misc]
            shape = any(argument == t.shape for t in call.outputs)
            return tuple(map(scaled, argument)) if shape else argument  # type: ignore[arg-type]
        return argument

    def scaled(size: int) -> int:
        return batch.scaled(size) if size in sizes else size

    return replace(
        call,
        args=tuple(map(one, call.args)),
        outputs=tuple(_scaled(tensor, sizes, batch) for tensor in call.outputs),
    )


def _scaled(tensor: Tensor, sizes: frozenset[int], batch: Batch) -> Tensor:
    """The strides of what is scaled, and of all outside of it, grow with it."""
    there = [dim for dim, size in enumerate(tensor.shape) if size in sizes]
    if not there:
        return tensor
    shape = tuple(batch.scaled(n) if d in there else n for d, n in enumerate(tensor.shape))
    strides = None
    if tensor.strides is not None:
        strides = tuple(
            batch.scaled(stride)
            if any(stride > tensor.strides[d] > 0 for d in there) and stride % batch.now == 0
            else stride
            for stride in tensor.strides
        )
    return replace(tensor, shape=shape, strides=strides)


def _first(call: Call, places: dict[str, int]) -> Tensor | None:
    name = call.op.removeprefix("aten::")
    at = 0 if _ATTENTION in name and not name.endswith("backward") else places.get(name)
    argument = None if at is None else call.arg(at)
    return argument if isinstance(argument, Tensor) else None


def _weights(call: Call) -> Iterator[Tensor]:
    for place in WEIGHTS.get(call.op.removeprefix("aten::"), ()):
        if call.op != "aten::mm" and isinstance(argument := call.arg(place), Tensor):
            yield argument
