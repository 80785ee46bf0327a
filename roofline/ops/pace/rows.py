"""Operators on rows and channels: a warp, a block or several kernels for each."""

from collections.abc import Callable
from dataclasses import replace

from roofline.call import DTYPE_BYTES, Call
from roofline.ops.pace.way import (
    BATCH_NORM,
    BATCH_STATISTICS,
    CUDNN_BATCH_NORM,
    CUDNN_BATCH_NORM_TRAINED,
    LOG_SOFTMAX,
    LOG_SOFTMAX_LONG,
    NORMALISED,
    NORMALISED_ODD,
    PICKED,
    PICKED_LOSSES,
    PICKED_ODD,
    RMS,
    SOFTMAX,
    SOFTMAX_AGAIN,
    SOFTMAX_LONG,
    SOFTMAX_SHARED,
    Pace,
)
from roofline.ops.shapes import product

WIDE = 16  # B that a thread moves at once where addresses allow it
# A row of softmax is held by a warp, then in up to 6 registers of each of 1024 threads, then in up
# to 9, which leaves a multiprocessor room for one block; then in shared memory, or nowhere.
BY_WARP, BY_TWO, BY_ONE = 2048, 6 * 1024, 9 * 1024
SHARED = 48 * 1024 - 128  # B of shared memory, less the warps' sums
CHANNEL = 512  # threads of a block in a batch norm


def softmax(call: Call, _: int) -> Pace:
    """softmax and log softmax of the last dimension."""
    x = call.tensors[0]
    row, size = x.shape[-1] if x.shape else 1, DTYPE_BYTES[x.dtype]
    rows, log = x.numel // max(1, row), "log" in call.op
    if row <= BY_WARP:
        return Pace(LOG_SOFTMAX if log else SOFTMAX, x.numel, row)
    if row <= BY_TWO:
        return Pace(LOG_SOFTMAX if log else SOFTMAX, x.numel, row, blocks=rows, together=2)
    if row <= BY_ONE:
        return Pace(LOG_SOFTMAX_LONG if log else SOFTMAX_LONG, x.numel, row, blocks=rows)
    held = row * size < SHARED and row * size % WIDE == 0
    return Pace(SOFTMAX_SHARED if held else SOFTMAX_AGAIN, x.numel, row, blocks=rows, together=2)


def loss_picked(call: Call, _: int) -> Pace:
    """nll_loss with a mean or a sum: threads of one block wait for a label, then for its loss."""
    x = call.tensors[0]
    if len(x.shape) != 2 or call.arg(3, 1) == 0:
        return Pace()
    rows = x.shape[0]
    threads = next((t for t in (32, 64, 128, 256, 512) if rows / 16 < t * 2**0.5), 1024)
    return Pace(PICKED_LOSSES, -(-rows // threads))


def rms_normalised(call: Call, units: int) -> Pace:
    """rms_norm, by the kernel of layer_norm."""
    made = normalised(call, units)
    return replace(made, way=RMS) if made.way == NORMALISED else made


def normalised(call: Call, _: int) -> Pace:
    """Rows of 4 elements times n are read once, 4 at a time; others twice, by two kernels."""
    x, shape = call.tensors[0], call.arg(1)
    row = product(n for n in shape if isinstance(n, int)) if isinstance(shape, tuple) else 1
    rows = x.numel // max(1, row)
    if row % 4 == 0:
        return Pace(NORMALISED, x.numel, row, blocks=rows, together=12)
    return Pace(
        NORMALISED_ODD, x.numel, row, blocks=rows, together=4, read=x.nbytes, then=(Pace(),)
    )


def batch_normalised(training_at: int) -> Callable[[Call, int], Pace]:
    """Of images [N, C, ...]; argument `training_at` says whether their own statistics are used."""

    def found(call: Call, units: int) -> Pace:
        x, training = call.tensors[0], call.arg(training_at) is True
        images, channels = x.shape[0], x.shape[1] if len(x.shape) > 1 else 1
        if x.dtype != "bf16":
            if training:
                row = x.numel // max(1, channels)
                return Pace(CUDNN_BATCH_NORM_TRAINED, x.numel, row, blocks=channels, together=2,
                            read=x.nbytes)  # fmt: skip
            return Pace(CUDNN_BATCH_NORM, x.numel, blocks=images * channels, together=4)
        plane = x.numel // max(1, images * channels)
        threads = next((t for t in (64, 128, 256) if plane // 4 <= t), CHANNEL)
        made = Pace(BATCH_NORM, images * channels * -(-plane // threads) * threads,
                    blocks=images * channels, together=2048 // threads)  # fmt: skip
        if training:
            return replace(made, then=(batch_statistics(call, units), Pace()))
        return replace(made, then=(Pace(), Pace()))  # a copy, and one over the deviations

    return found


def batch_statistics(call: Call, _: int) -> Pace:
    """Mean and variance of each channel, an element a thread at a time."""
    x = call.tensors[0]
    images, channels = x.shape[0], x.shape[1] if len(x.shape) > 1 else 1
    plane = x.numel // max(1, images * channels)
    threads = next((t for t in (32, 64, 128, 256) if plane <= t), CHANNEL)
    row = images * -(-plane // threads) * threads
    return Pace(BATCH_STATISTICS, channels * row, row, blocks=channels, together=4, read=x.nbytes)


def picked(call: Call, _: int) -> Pace:
    """embedding, index_select of rows."""
    table, rows = call.tensors[0], call.tensors[1].numel
    row = product(table.shape[1:])
    way = PICKED if row * DTYPE_BYTES[table.dtype] % WIDE == 0 else PICKED_ODD
    return Pace(way, rows * row, row)
