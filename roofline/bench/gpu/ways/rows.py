"""Rows and channels, at the lengths where PyTorch changes its kernel."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from roofline.bench.gpu.ways.way import DEVICE, EACH, Make, Run, Way, of, picks, units
from roofline.ops.pace import way
from roofline.ops.pace.rows import CHANNEL
from roofline.ops.shapes import product

BY_WARP = 64, 128, 129, 256, 257, 512, 513, 1024, 1025, 2048  # padded to powers of two
BY_BLOCK, BY_ONE = (2049, 3072, 4096, 6144), (6145, 9216)
SHARED = {2: (9344, 16_384, 24_448), 4: (9344, 12_160)}
AGAIN = 9217, 12_289, 32_771


def by_rows(size: int) -> Iterator[Way]:
    """Norms and softmax."""
    import torch
    import torch.nn.functional as F

    def layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
        return F.layer_norm(x, gamma.shape, gamma, beta)

    def rms_norm(x: Any, gamma: Any) -> Any:
        return F.rms_norm(x, gamma.shape, gamma)

    softmax, log = partial(torch.softmax, dim=-1), partial(torch.log_softmax, dim=-1)
    rows: tuple[tuple[str, str, Run, int, tuple[int, ...]], ...] = (
        (way.SOFTMAX, "softmax", softmax, 0, BY_WARP + BY_BLOCK),
        (way.SOFTMAX_LONG, "softmax", softmax, 0, BY_ONE),
        (way.LOG_SOFTMAX, "log_softmax", log, 0, BY_WARP + BY_BLOCK),
        (way.LOG_SOFTMAX_LONG, "log_softmax", log, 0, BY_ONE),
        (way.SOFTMAX_SHARED, "softmax", softmax, 0, SHARED[size]),
        (way.SOFTMAX_AGAIN, "softmax", softmax, 0, AGAIN),
        (way.VARIANCE, "var of rows", lambda x: x.var(1), 0, (64, 1024, 16_384)),
        (way.NORMALISED, "layer_norm", layer_norm, 2, (256, 1024, 4096, 8192, 16_384)),
        (way.NORMALISED_ODD, "layer_norm", layer_norm, 2, (514, 4098, 12_290)),
        (way.RMS, "rms_norm", rms_norm, 1, (256, 1024, 4096, 8192, 16_384)),
    )
    for name, call, run, affine, lengths in rows:
        for n in lengths:
            m, parameters = EACH // n, (of(size, n),) * affine
            yield Way(name, f"{8 * size} bit, {call} of rows of {n}",
                      (of(size, m, n), *parameters), run, m * n, n, size,
                      kernels=2 if name == way.NORMALISED_ODD else 1)  # fmt: skip


def gathered(size: int) -> Iterator[Way]:
    """Rows of a table that is twice as long as what is picked."""
    for name, lengths in ((way.PICKED, (64, 512, 1024, 2048, 4096)), (way.PICKED_ODD, (66, 1026))):
        for n in lengths:
            table, m = 2 * EACH // n, EACH // n
            yield Way(name, f"{8 * size} bit rows of {n} by index_select",
                      (of(size, table, n), picks(table, m)), lambda x, i: x.index_select(0, i),
                      m * n, n, size)  # fmt: skip


def losses() -> Iterator[Way]:
    """One after the other by each of 1024 threads."""
    import torch.nn.functional as F

    rows, classes = 1 << 16, 512
    yield Way(way.PICKED_LOSSES, f"fp32 nll_loss of {rows} rows of {classes}",
              (of(4, rows, classes), picks(classes, rows)), F.nll_loss, rows // 1024)  # fmt: skip


def batch_norm() -> Iterator[Way]:
    """bf16 by PyTorch, other types by cuDNN; training also with few channels."""
    import torch
    import torch.nn.functional as F

    def run(training: bool, x: Any, m: Any, v: Any, g: Any, b: Any) -> Any:
        return F.batch_norm(x, m, v, g, b, training)

    def of_images(dtype: torch.dtype, shape: tuple[int, ...]) -> tuple[Make, ...]:
        def ones() -> Any:
            return torch.ones(shape[1], device=DEVICE)

        return (lambda: torch.randn(shape, device=DEVICE, dtype=dtype), *(ones,) * 4)

    plain = (32, 128, 90, 91)
    n, size = 32 * 128 * 90 * 91, {torch.bfloat16: 2, torch.float16: 2, torch.float32: 4}
    padded = 32 * 128 * -(-90 * 91 // CHANNEL) * CHANNEL
    yield Way(way.BATCH_NORM, f"bf16 batch norm of {plain}", of_images(torch.bfloat16, plain),
              partial(run, False), padded, kernels=3)  # fmt: skip
    for dtype in (torch.float16, torch.float32):
        name = str(dtype).removeprefix("torch.")
        yield Way(way.CUDNN_BATCH_NORM, f"{name} batch norm of {plain}", of_images(dtype, plain),
                  partial(run, False), n, size=size[dtype])  # fmt: skip
        for images, channels, alone in _shared(2 * units(), units() // 2):
            shape = (images, channels, 64, 64)
            yield Way(way.CUDNN_BATCH_NORM_TRAINED, f"{name} batch norm of {shape}, training",
                      of_images(dtype, shape), partial(run, True), product(shape),
                      images * 64 * 64, size[dtype], alone=alone)  # fmt: skip
    for images, channels, alone in _shared(4 * units(), units()):
        shape = (images, channels, 64, 64)
        yield Way(way.BATCH_STATISTICS, f"bf16 statistics of {shape}", (of(2, *shape),),
                  lambda x: torch.batch_norm_stats(x, 1e-5), product(shape), images * 64 * 64,
                  alone=alone)  # fmt: skip


def _shared(full: int, few: int) -> Iterator[tuple[int, int, bool]]:
    """Images, and channels that fill a wave of blocks or a part of it."""
    for images in (1, 4, 32):
        yield images, full, False
        yield images, few, True
