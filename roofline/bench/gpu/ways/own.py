"""Not PyTorch's: Triton as one writes it first, and as torch.compile does."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from roofline.bench.gpu.ahead import Start, compiling, launching
from roofline.bench.gpu.ways.way import DEVICE, EACH, Make, Run, Way, of
from roofline.ops.pace import way
from roofline.ops.pace.compiled import BLOCK, CHUNK

# A program's row is padded to a power of two: both ends of each.
ROWS: tuple[int, ...] = (512, 1024, 4096, 8192, 12_288)
ROWS_ODD: tuple[int, ...] = (
    258, 510, 514, 1022, 1026, 2046, 2050, 4094, 4098, 8190, 8194, 12_286,
)  # fmt: skip
THREE = 3 * CHUNK  # chunks of a row
_STREAMED: tuple[tuple[str, tuple[int, ...]], ...] = (
    (way.OWN_STREAMED, (1024, 4096)), (way.OWN_STREAMED_ODD, (1022, 2046, 4094)),
)  # fmt: skip


def of_triton() -> Iterator[Way]:
    """Kernels of `roofline.bench.gpu.kernels.rows`, each of which can be made ready ahead."""
    for one in _calls():
        yield replace(one, compile=partial(one.run, start=compiling))


def _calls() -> Iterator[Way]:
    for name, held in ((way.OWN_ROWS, ROWS), (way.OWN_ROWS_ODD, ROWS_ODD)):
        for n in held:
            m = EACH // n
            yield Way(name, f"bf16 rows of {n} over their rms", (of(2, m, n), of(2, n)), _scaled,
                      m * n, n)  # fmt: skip
    for name, lengths in _STREAMED:
        for n in lengths:
            m = 2 * EACH // n
            yield Way(name, f"int8 rows of {n} to bf16", (_bytes(m, n), of(4, m)), _widened, m * n,
                      n)  # fmt: skip
    for name, n in ((way.COMPILED_GELU, 4096), (way.COMPILED_GELU_ODD, 4095)):
        m = EACH // n
        yield Way(name, f"bf16 gelu of rows of {n} and a bias", (of(2, m, n), of(2, n)), _gelu,
                  m * n)  # fmt: skip
    calls: tuple[tuple[str, str, str, Run], ...] = (
        (way.COMPILED_NORM, way.COMPILED_NORM_ODD, "layer norm of a sum", _normed),
        (way.COMPILED_SOFTMAX, way.COMPILED_SOFTMAX_ODD, "softmax", _softmax),
    )
    for even, odd, call, run in calls:
        for name, n in ((even, THREE), (odd, THREE - 1)):
            m = EACH // THREE
            row = of(2, n)
            more = (of(2, m, n), row, row) if run is _normed else (row,)
            yield Way(name, f"bf16 {call} of rows of {n} by chunks of {CHUNK}",
                      (of(2, m, n), *more), run, m * THREE)  # fmt: skip


def _bytes(*shape: int) -> Make:
    import torch

    return lambda: torch.randint(-100, 100, shape, device=DEVICE, dtype=torch.int8)


def _scaled(x: Any, gamma: Any, start: Start = launching) -> Any:
    import torch
    import triton

    from roofline.bench.gpu.kernels import rows

    y, (m, n) = torch.empty_like(x), x.shape
    start(rows.scaled, (m,))(x, gamma, y, n, BLOCK=triton.next_power_of_2(n), num_warps=8)
    return y


def _widened(x: Any, factor: Any, start: Start = launching) -> Any:
    import torch

    from roofline.bench.gpu.kernels import rows

    y, (m, n) = torch.empty(x.shape, dtype=torch.bfloat16, device=x.device), x.shape
    start(rows.widened, (m,))(x, factor, y, n, BLOCK=BLOCK, num_warps=8)
    return y


def _gelu(x: Any, bias: Any, start: Start = launching) -> Any:
    import torch
    import triton

    from roofline.bench.gpu.kernels import rows

    y, total = torch.empty_like(x), x.numel()
    launch = start(rows.biased_gelu, (triton.cdiv(total, 1024),))
    launch(x, bias, y, total, x.shape[1], BLOCK=1024, num_warps=4)
    return y


def _normed(x: Any, r: Any, gamma: Any, beta: Any, start: Start = launching) -> Any:
    import torch

    from roofline.bench.gpu.kernels import rows

    s, y, (m, n) = torch.empty_like(x), torch.empty_like(x), x.shape
    start(rows.normed, (m,))(x, r, gamma, beta, s, y, n, CHUNK=CHUNK, num_warps=16)
    return s, y


def _softmax(x: Any, mask: Any, start: Start = launching) -> Any:
    import torch

    from roofline.bench.gpu.kernels import rows

    y, (m, n) = torch.empty_like(x), x.shape
    start(rows.softmax, (m,))(x, mask, y, n, CHUNK=CHUNK, num_warps=16)
    return y
