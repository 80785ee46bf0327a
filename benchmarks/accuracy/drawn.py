"""The forty kernels of the table: a call of each kind, its sizes drawn by a fixed seed.

Numbers of elements are even on a logarithmic scale, lengths of rows are multiples of 128 in half of
the draws and anything in the other half, as in programs.  The list and the seed were fixed before
any of these calls was timed, and the model was fixed too.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from cases import (
    BF16,
    FP16,
    FP32,
    Case,
    Make,
    adamw,
    batch_norm,
    bias_gelu,
    compiled,
    many,
    masked_softmax,
    of,
    of_triton,
    picks,
    residual_norm,
    steps,
    swiglu,
)

from roofline.ops.pace import compiled as passing
from roofline.ops.pace.way import PLAIN

SEED = 2030
FEWEST, MOST = 22, 27  # bits of the number of elements: 4 million to 134 million
TYPES = {BF16: "bf16", FP16: "fp16", FP32: "fp32"}


@dataclass(slots=True)
class Draw:
    """Sizes and types, one after the other."""

    of: random.Random = field(default_factory=lambda: random.Random(SEED))

    def number(self, most: int = MOST) -> int:
        """Of elements."""
        return int(2 ** self.of.uniform(FEWEST, most))

    def row(self, most: int = 12_000) -> int:
        """Length of a row."""
        return 128 * self.of.randint(3, most // 128) if self.of.random() < 0.5 else self.any(most)

    def any(self, most: int) -> int:
        """Length of a row that is nothing round."""
        return self.of.randint(300, most)

    def matrix(self, most: int = MOST) -> tuple[int, int]:
        """Rows and their length."""
        n = self.row()
        return max(1, self.number(most) // n), n

    def type(self) -> torch.dtype:
        """Of elements."""
        return self.of.choice((BF16, FP16, FP32))

    def image(self) -> tuple[int, int, int, int]:
        """Batch, channels, height, width."""
        c, h = self.of.choice((48, 64, 96, 128, 192, 256)), self.of.randint(20, 120)
        return max(2, self.number() // (c * h * (h + 1))), c, h, h + 1


def drawn(device: str) -> Sequence[Case]:
    """All forty."""
    draw = Draw()
    return [*_pointwise(draw), *_moves(draw), *_reductions(draw), *_norms(draw), *_others(draw),
            *_decoder(draw), *_fused(draw, device)]  # fmt: skip


def _case(name: str, kind: str, dtype: Any, shape: Sequence[int], operands: int, run: Any) -> Case:
    sizes = "x".join(map(str, shape))
    return Case(f"{name} {TYPES[dtype]} {sizes}", kind, (of(dtype, *shape),) * operands, run)


def _pointwise(draw: Draw) -> Iterator[Case]:
    calls: tuple[tuple[str, int, Callable[..., Any]], ...] = (
        ("multiply", 2, torch.mul), ("scale", 1, lambda x: x * 0.3), ("tanh", 1, torch.tanh),
        ("lerp", 3, torch.lerp), ("equal", 2, torch.eq),
    )  # fmt: skip
    for name, operands, run in calls:
        yield _case(name, "pointwise", draw.type(), (draw.number(),), operands, run)
    m, n = draw.matrix()
    dtype = draw.type()
    yield Case(f"subtract a column {TYPES[dtype]} {m}x{n}", "pointwise",
               (of(dtype, m, n), of(dtype, m, 1)), torch.sub)  # fmt: skip


def _moves(draw: Draw) -> Iterator[Case]:
    yield _case("copy", "copy", draw.type(), (draw.number(),), 1, torch.clone)
    yield _case("cast to bf16", "copy", FP32, draw.matrix(), 1, lambda x: x.to(BF16))
    yield _case("cast to fp32", "copy", BF16, draw.matrix(), 1, lambda x: x.to(FP32))
    yield _case("transpose", "layout", draw.type(), draw.matrix(), 1, lambda x: x.t().contiguous())
    last = torch.channels_last
    yield _case("channels last", "layout", draw.type(), draw.image(), 1,
                lambda x: x.contiguous(memory_format=last))  # fmt: skip
    m, n = draw.matrix()
    yield _case("columns from the middle", "layout", draw.type(), (m, n), 1,
                lambda x, n=n: x[:, n // 5 : n // 2].contiguous())  # fmt: skip
    yield _case("cat rows", "layout", draw.type(), draw.matrix(26), 2, lambda *x: torch.cat(x, 0))


def _reductions(draw: Draw) -> Iterator[Case]:
    yield _case("sum", "reduction", draw.type(), (draw.number(),), 1, torch.sum)
    yield _case("sum of rows", "reduction", draw.type(), draw.matrix(), 1, lambda x: x.sum(1))
    yield _case("mean of columns", "reduction", draw.type(), draw.matrix(), 1, lambda x: x.mean(0))
    yield _case("largest of rows", "reduction", draw.type(), draw.matrix(), 1, lambda x: x.amax(1))


def _norms(draw: Draw) -> Iterator[Case]:
    for dtype in (FP32, BF16):
        yield _case("softmax", "norm", dtype, draw.matrix(), 1, lambda x: x.softmax(-1))
    m, n = draw.number() // 777, draw.of.randint(100, 1000)
    yield _case("log softmax", "norm", draw.type(), (m, n), 1, lambda x: x.log_softmax(-1))
    for name, run, affine in (
        ("layer norm", lambda x, g, b: F.layer_norm(x, g.shape, g, b), 2),
        ("rms norm", lambda x, g: F.rms_norm(x, g.shape, g), 1),
    ):
        dtype, (m, n) = draw.type(), draw.matrix()
        yield Case(f"{name} {TYPES[dtype]} {m}x{n}", "norm",
                   (of(dtype, m, n), *(of(dtype, n),) * affine), run)  # fmt: skip
    for training in (False, True):
        dtype, shape = draw.type(), draw.image()
        ones: Make = partial(_ones, shape[1])
        yield Case(f"batch norm {TYPES[dtype]} {'x'.join(map(str, shape))}, {training=}", "norm",
                   (of(dtype, *shape), *(of(FP32, shape[1]), ones) * 2),
                   partial(batch_norm, training))  # fmt: skip


def _ones(n: int, device: str) -> torch.Tensor:
    return torch.ones(n, device=device)


def _others(draw: Draw) -> Iterator[Case]:
    m, n = draw.matrix()
    yield Case(f"cross entropy fp32 {m}x{n}", "loss", (of(FP32, m, n), picks(n, m)),
               F.cross_entropy)  # fmt: skip
    yield _case("mean squared error", "loss", draw.type(), (draw.number(),), 2, F.mse_loss)
    yield _case("dropout", "dropout", draw.type(), (draw.number(),), 1,
                lambda x: torch.native_dropout(x, 0.1, True))  # fmt: skip
    dtype, n, rows = draw.type(), draw.row(4000), draw.of.randint(50_000, 200_000)
    m = draw.number(26) // n
    yield Case(f"embedding {TYPES[dtype]} {m} of {rows}x{n}", "gather",
               (picks(rows, m), of(dtype, rows, n)), F.embedding)  # fmt: skip
    count = draw.of.randint(20, 60)
    sizes = tuple(draw.number(24) // 3 for _ in range(count))
    dtype = draw.type()
    yield Case(f"foreach multiply {TYPES[dtype]} {count} tensors", "optimizer",
               (many(dtype, *sizes),) * 2, torch._foreach_mul_)  # fmt: skip
    sizes = tuple(draw.number(24) // 3 for _ in range(count))
    yield Case(f"fused AdamW fp32 {count} tensors", "optimizer",
               (many(FP32, *sizes),) * 2 + (partial(_rand, sizes),) * 2 + (steps(count),), adamw)  # fmt: skip


def _rand(sizes: Sequence[int], device: str) -> list[torch.Tensor]:
    return [torch.rand(n, device=device) for n in sizes]


def _decoder(draw: Draw) -> Iterator[Case]:
    for _ in range(2):
        m, k, n = draw.of.randint(1, 8), *(128 * draw.of.randint(24, 110) for _ in range(2))
        dtype = draw.of.choice((BF16, FP16))
        yield Case(f"linear {TYPES[dtype]} {m} rows {k} to {n}", "decoder",
                   (of(dtype, m, k), of(dtype, n, k)), F.linear)  # fmt: skip
    dtype, (m, n) = draw.type(), draw.matrix()
    yield Case(f"matrix times vector {TYPES[dtype]} {m}x{n}", "decoder",
               (of(dtype, m, n), of(dtype, n)), torch.mv)  # fmt: skip
    b, h = draw.of.randint(8, 64), draw.of.choice((16, 24, 32))
    keys, depth = draw.of.randint(500, 3000), draw.of.choice((64, 128))
    held = of(BF16, b, h, keys, depth)
    yield Case(f"attention decode bf16 {b}x{h} heads, {keys} keys of {depth}", "decoder",
               (of(BF16, b, h, 1, depth), held, held), F.scaled_dot_product_attention)  # fmt: skip


def _fused(draw: Draw, device: str) -> Iterator[Case]:
    for name, run, operands, row, how in (
        ("bias, gelu", bias_gelu, 1, 1, passing.gelu),
        ("swiglu", swiglu, 2, 0, lambda *_: PLAIN),
        ("residual, layer norm", residual_norm, 2, 2, passing.normalised),
        ("masked softmax", masked_softmax, 1, 1, passing.softmax),
    ):  # fmt: skip
        dtype, (m, n) = draw.of.choice((BF16, FP16)), draw.matrix()
        makes = (of(dtype, m, n),) * operands + (of(dtype, n),) * row
        yield compiled(device, f"{name} {TYPES[dtype]} {m}x{n}", makes, run, how(m, n))
    m, n = draw.matrix()
    yield of_triton(device, f"rms norm bf16 {m}x{n}", (of(BF16, m, n), of(BF16, n)), "rms_norm",
                    passing.rows(m, n))  # fmt: skip
    m, n = draw.matrix()
    yield of_triton(device, f"dequantise int8 to bf16 {m}x{n}",
                    (of(torch.int8, m, n), of(FP32, m)), "dequantise",
                    passing.streamed(m, n))  # fmt: skip
