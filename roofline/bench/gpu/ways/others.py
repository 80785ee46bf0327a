"""Lists of tensors, products and attention of few rows."""

from collections.abc import Iterator
from typing import Any

from roofline.bench.gpu.ways.way import DEVICE, Make, Way, of
from roofline.ops.pace import way

# A kernel takes 320 pieces of 65,536 elements: two whole kernels.
TENSORS, LENGTH = 32, 20 * 65_536
HEADS, KEYS, DEPTH = 1024, 1024, 128


def lists(size: int) -> Iterator[Way]:
    """Steps of an optimizer, over tensors of one length."""
    import torch

    for each, many, adam in (
        (LENGTH, way.MANY, way.ADAM), (LENGTH - 1, way.MANY_ODD, way.ADAM_ODD),
    ):  # fmt: skip
        held, n = _lists(size, each), TENSORS * each
        yield Way(many, f"{8 * size} bit, _foreach_mul_ of {TENSORS} tensors of {each}",
                  (held, held), torch._foreach_mul_, n, size=size)  # fmt: skip
        yield Way(adam, f"{8 * size} bit, _fused_adamw_ of {TENSORS} tensors of {each}",
                  (*(held,) * 4, _counts), _adam, n, size=size)  # fmt: skip


def products(size: int) -> Iterator[Way]:
    """A matrix and few rows, or a vector."""
    import torch
    import torch.nn.functional as F

    for rows, columns in ((2048, 4096), (8192, 8192), (12_288, 11_008)):
        n, matrix = rows * columns, of(size, rows, columns)
        yield Way(way.FEW_ROWS, f"{8 * size} bit, 4 rows times {rows} x {columns}",
                  (of(size, 4, columns), matrix), F.linear, n, n, size, kernels=2)  # fmt: skip
    for rows, columns in ((2000, 3000), (3000, 7000), (9000, 9000)):
        n = rows * columns
        yield Way(way.VECTOR, f"{8 * size} bit, {rows} x {columns} times a vector",
                  (of(size, rows, columns), of(size, columns)), torch.mv, n, n, size)  # fmt: skip


def attention() -> Iterator[Way]:
    """One query a head."""
    import torch.nn.functional as F

    held = of(2, 32, HEADS // 32, KEYS, DEPTH)
    yield Way(way.FEW_QUERIES, f"bf16 attention, 1 query, {HEADS} heads, {KEYS} keys of {DEPTH}",
              (of(2, 32, HEADS // 32, 1, DEPTH), held, held), F.scaled_dot_product_attention,
              2 * HEADS * KEYS * DEPTH)  # fmt: skip


def _lists(size: int, each: int) -> Make:
    import torch

    dtype = torch.bfloat16 if size == 2 else torch.float32
    return lambda: [torch.rand(each, device=DEVICE, dtype=dtype) for _ in range(TENSORS)]


def _counts() -> Any:
    """The steps that an optimizer has made, a tensor for each of its parameters."""
    import torch

    return [torch.ones((), device=DEVICE) for _ in range(TENSORS)]


def _adam(*state: Any) -> None:
    import torch

    torch._fused_adamw_(
        *state[:4], [], state[4], lr=1e-3, beta1=0.9, beta2=0.999, weight_decay=0.01, eps=1e-8,
        amsgrad=False, maximize=False,
    )  # fmt: skip
