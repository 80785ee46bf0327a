"""Every way of `roofline.ops.pace` as a call of PyTorch, at plain sizes.

Elements of 2 B, so that memory bounds as little as possible of it, and of 4 B where PyTorch's
kernels for them differ; rows of several lengths, between which one can interpolate.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from roofline.device import Reach, Variant, rows_of
from roofline.ops import pace

DEVICE = "cuda"
EACH = 1 << 26  # elements of a call
HEADS, KEYS, DEPTH = 1024, 1024, 128

Make = Callable[[], Any]
Run = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Way:
    """One way, at one size of elements and one length of rows."""

    name: str
    call: str  # in words
    makes: tuple[Make, ...]  # of its operands
    run: Run
    elements: int
    row: int | None = None
    size: int | None = None  # B of an element where the way was taken at several

    @property
    def variant(self) -> Variant:
        """Which ceiling it is."""
        name = self.name if self.size is None else pace.sized(self.name, self.size)
        return Variant(
            reach=Reach.LIBRARY, way=name if self.row is None else rows_of(name, self.row)
        )


def ways() -> Iterator[Way]:
    """All of them."""
    yield from _moves()
    for size in (2, 4):
        yield from _whole(size)
        yield from _by_rows(size)
    yield from _gathered()
    yield from _batch_norm()
    yield from _attention()
    yield from _own()


def _moves() -> Iterator[Way]:
    import torch

    yield Way(pace.CASTS, "bf16 to fp32", (_of(2, EACH),), lambda x: x.to(torch.float32), EACH)
    yield Way(pace.STRIDED, "bf16 tensor plus a row", (_of(2, EACH // 8192, 8192), _of(2, 8192)),
              torch.add, EACH)  # fmt: skip
    part = _of(2, EACH // 2 + 1)
    yield Way(pace.JOINED, "bf16 cat of two vectors", (part, part), lambda *x: torch.cat(x),
              EACH + 2)  # fmt: skip
    for size in (2, 4):
        matrix = (_of(size, 8000, 9600),)
        yield Way(pace.TRANSPOSED, f"{8 * size} bit, 8000 x 9600, t().contiguous()", matrix,
                  lambda x: x.t().contiguous(), 8000 * 9600, size=size)  # fmt: skip


def _whole(size: int) -> Iterator[Way]:
    """Ways that know no rows."""
    import torch
    import torch.nn.functional as F

    flat, n = _of(size, EACH), EACH
    odd, square = _of(size, n + 1), _of(size, 8192, 8192)
    lists = _lists(size)
    rows = (
        (pace.REDUCED, "sum", (flat,), torch.sum, n),
        (pace.COLUMNS_REDUCED, "sum of columns of 16384", (_of(size, 16_384, n // 16_384),),
         lambda x: x.sum(0), n),
        (pace.DROPOUT, "native_dropout", (flat,), lambda x: torch.native_dropout(x, 0.1, True), n),
        (pace.DROPOUT_ODD, "native_dropout, odd number", (odd,),
         lambda x: torch.native_dropout(x, 0.1, True), n + 1),
        (pace.GELU, "gelu", (flat,), F.gelu, n),
        (pace.MANY, "_foreach_add_ of 32 tensors", (lists, lists),
         lambda x, y: torch._foreach_add_(x, y, alpha=-0.01), n),
        (pace.ADAM, "_fused_adamw_ of 32 tensors", (*(lists,) * 4, _counts), _adam, n),
        (pace.FEW_ROWS, "1 row times 8192 x 8192", (_of(size, 1, 8192), square), F.linear, 8192**2),
    )  # fmt: skip
    for name, call, makes, run, elements in rows:
        yield Way(name, f"{8 * size} bit, {call}", makes, run, elements, size=size)


def _by_rows(size: int) -> Iterator[Way]:
    import torch
    import torch.nn.functional as F

    def layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
        return F.layer_norm(x, gamma.shape, gamma, beta)

    def rms_norm(x: Any, gamma: Any) -> Any:
        return F.rms_norm(x, gamma.shape, gamma)

    softmax = partial(torch.softmax, dim=-1)
    rows: tuple[tuple[str, str, Run, int, tuple[int, ...]], ...] = (
        (pace.ROWS_REDUCED, "sum of rows", lambda x: x.sum(1), 0, (64, 1024, 16_384)),
        (pace.VARIANCE, "var of rows", lambda x: x.var(1), 0, (64, 1024, 16_384)),
        (pace.SOFTMAX, "softmax", softmax, 0, (64, 256, 512, 1024, 2048, 8192, 32_768)),
        (pace.SOFTMAX_ODD, "softmax", softmax, 0, (1025, 4099, 32_771)),
        (pace.NORMALISED, "layer_norm", layer_norm, 2, (1024, 4096, 16_384)),
        (pace.NORMALISED_ODD, "layer_norm", layer_norm, 2, (514, 4098)),
        (pace.RMS, "rms_norm", rms_norm, 1, (1024, 4096, 16_384)),
    )
    for name, call, run, affine, lengths in rows:
        for n in lengths:
            m, parameters = EACH // n, (_of(size, n),) * affine
            yield Way(name, f"{8 * size} bit, {call} of rows of {n}",
                      (_of(size, m, n), *parameters), run, m * n, n, size)  # fmt: skip


def _gathered() -> Iterator[Way]:
    rows = ((64, pace.PICKED), (1024, pace.PICKED), (66, pace.PICKED_ODD), (1026, pace.PICKED_ODD))
    for n, name in rows:
        table, m = 2 * EACH // n, EACH // n
        yield Way(name, f"bf16 rows of {n} by index_select", (_of(2, table, n), _picks(table, m)),
                  lambda x, i: x.index_select(0, i), m * n, n)  # fmt: skip


def _batch_norm() -> Iterator[Way]:
    import torch.nn.functional as F

    n = 64 * 128 * 90 * 90
    for training, name in ((False, pace.BATCH_NORM), (True, pace.BATCH_NORM_TRAINED)):

        def run(x: Any, m: Any, v: Any, g: Any, b: Any, training: bool = training) -> Any:
            return F.batch_norm(x, m, v, g, b, training)

        yield Way(name, f"bf16 batch norm of 64 x 128 x 90 x 90, {training=}",
                  (_of(2, 64, 128, 90, 90), *(_ones,) * 4), run, n)  # fmt: skip


def _attention() -> Iterator[Way]:
    import torch.nn.functional as F

    held = _of(2, 32, HEADS // 32, KEYS, DEPTH)
    yield Way(pace.FEW_QUERIES, f"bf16 attention, 1 query, {HEADS} heads, {KEYS} keys of {DEPTH}",
              (_of(2, 32, HEADS // 32, 1, DEPTH), held, held), F.scaled_dot_product_attention,
              2 * HEADS * KEYS * DEPTH)  # fmt: skip


def _own() -> Iterator[Way]:
    """Not PyTorch's: Triton as one writes it first."""
    import torch
    import triton

    from roofline.bench.gpu.kernels import rows

    def scaled(x: Any) -> Any:
        y, (m, n) = torch.empty_like(x), x.shape
        rows.scaled[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n), num_warps=8)
        return y

    def doubled(x: Any) -> Any:
        y, (m, n) = torch.empty_like(x), x.shape
        rows.doubled[(m, triton.cdiv(n, 1024))](x, y, n, BLOCK=1024, num_warps=4)
        return y

    for name, run, lengths in (
        (pace.OWN_ROWS, scaled, (1024, 4096)),
        (pace.OWN_ROWS_ODD, scaled, (1022, 4094)),
    ):
        for n in lengths:
            m = EACH // n
            yield Way(name, f"bf16 rows of {n} over their rms", (_of(2, m, n),), run, m * n, n)
    m, n = EACH // 4094, 4094
    yield Way(pace.OWN_ODD, f"bf16 rows of {n}, doubled", (_of(2, m, n),), doubled, m * n)


def _of(size: int, *shape: int) -> Make:
    import torch

    dtype = torch.bfloat16 if size == 2 else torch.float32
    return lambda: torch.randn(shape, device=DEVICE, dtype=dtype)


def _lists(size: int) -> Make:
    """32 tensors of one length."""
    import torch

    dtype = torch.bfloat16 if size == 2 else torch.float32
    return lambda: [*torch.rand(32, EACH // 32, device=DEVICE, dtype=dtype)]


def _picks(below: int, count: int) -> Make:
    import torch

    return lambda: torch.randint(0, below, (count,), device=DEVICE)


def _ones() -> Any:
    import torch

    return torch.ones(128, device=DEVICE)


def _counts() -> Any:
    """The steps that an optimizer has made, a tensor for each of its parameters."""
    import torch

    return [torch.ones((), device=DEVICE) for _ in range(32)]


def _adam(*state: Any) -> None:
    import torch

    torch._fused_adamw_(
        *state[:4], [], state[4], lr=1e-3, beta1=0.9, beta2=0.999, weight_decay=0.01, eps=1e-8,
        amsgrad=False, maximize=False,
    )  # fmt: skip
