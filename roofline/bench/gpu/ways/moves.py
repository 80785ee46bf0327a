"""Copies and elementwise calls."""

from collections.abc import Iterator

from roofline.bench.gpu.ways.way import EACH, Way, of
from roofline.ops.pace import way

# Channels of an image that is laid out anew: of a result so wide the source's sectors are met again
# within a block or not, and the width decides how often.
CHANNELS = 8, 32, 64, 96, 128, 192, 256, 512
PIXELS = 56 * 57


def moves() -> Iterator[Way]:
    """Of one size of elements, or of bytes."""
    import torch

    yield Way(way.CASTS, "bf16 to fp32", (of(2, EACH),), lambda x: x.to(torch.float32), EACH)
    part = of(2, EACH // 2 + 1)
    yield Way(way.JOINED, "bf16 cat of two vectors", (part, part), lambda *x: torch.cat(x),
              EACH + 2)  # fmt: skip
    for nbytes in ((1 << 21) + 6, (1 << 23) + 6, (1 << 28) + 6):
        yield Way(way.COPIED_ODD, f"clone of {nbytes} B", (of(2, nbytes // 2),), torch.clone,
                  nbytes, nbytes)  # fmt: skip


def whole(size: int) -> Iterator[Way]:
    """Of 2 and of 4 B an element."""
    import torch
    import torch.nn.functional as F

    def dropped(x: torch.Tensor) -> object:
        return torch.native_dropout(x, 0.1, True)

    flat, n, bits = of(size, EACH), EACH, f"{8 * size} bit"
    for name, call, makes, run, elements in (
        (way.STRIDED, "tensor plus a row", (of(size, n // 8192, 8192), of(size, 8192)),
         torch.add, n),
        (way.DROPOUT, "native_dropout", (flat,), dropped, n),
        (way.DROPOUT_PAIRS, "native_dropout, even number", (of(size, n + 2),), dropped, n + 2),
        (way.DROPOUT_ODD, "native_dropout, odd number", (of(size, n + 1),), dropped, n + 1),
        (way.GELU, "gelu", (flat,), F.gelu, n),
    ):  # fmt: skip
        yield Way(name, f"{bits}, {call}", makes, run, elements, size=size)
    for c in CHANNELS:
        images = EACH // (c * PIXELS)
        yield Way(way.TRANSPOSED, f"{bits}, {images} images of {c} x {PIXELS}, channels last",
                  (of(size, images, c, PIXELS),), lambda x: x.transpose(1, 2).contiguous(),
                  images * c * PIXELS, c, size)  # fmt: skip
    for rows in (6144, 200_000):
        columns = EACH // rows // 8 * 8
        yield Way(way.TRANSPOSED, f"{bits}, {rows} x {columns}, t().contiguous()",
                  (of(size, rows, columns),), lambda x: x.t().contiguous(), rows * columns, rows,
                  size)  # fmt: skip
