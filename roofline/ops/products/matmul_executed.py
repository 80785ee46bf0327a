"""Tile padding of matrix products on tensor cores.

A tensor instruction multiplies a whole tile: 16 rows of one operand by 8 of the other and, of the
inner size, 32 bytes.  A library puts the smaller of M and N on the side of 8 where that pads less.
Measured on an H200: one useful row runs 8 times its useful flop.
"""

from roofline.call import Call, Tensor
from roofline.device import Resource
from roofline.errors import RooflineError
from roofline.ops import arguments
from roofline.ops.dtype import matmul_pipe, size
from roofline.ops.shapes import product
from roofline.work import Entry, Exactness, Ledger, executed

TILES = "tensor instructions of 16 x 8 results and 32 bytes of the inner size, the better way round"

# Where A and B stand, and whether B is stored [N,K].
OPERANDS = {
    "aten::mm": (0, 1, False), "aten::bmm": (0, 1, False), "aten::matmul": (0, 1, False),
    "aten::addmm": (1, 2, False), "aten::addmm_": (1, 2, False), "aten::baddbmm": (1, 2, False),
    "aten::baddbmm_": (1, 2, False),
    "aten::_addmm_activation": (1, 2, False), "aten::linear": (0, 1, True),
    "aten::_scaled_mm": (0, 1, False), "aten::_int_mm": (0, 1, False),
}  # fmt: skip


def padded(call: Call) -> Ledger | None:
    """2*M*N*K with M, N and K filled up to whole tiles; None where no tensor core is used."""
    at_a, at_b, transposed = OPERANDS[call.op]
    a, b = arguments.tensor(call, at_a), arguments.tensor(call, at_b)
    pipe = matmul_pipe(a.dtype, call.math)
    if call.device != "cuda" or not pipe.name.startswith("tensor") or pipe.name == "tensor-fp64":
        return None
    sizes = _sizes(a, b, transposed)
    if sizes is None:
        return None
    batch, m, n, k = sizes
    packed = 2 if a.dtype == "fp4x2" else 1
    return _padded(pipe, batch, m, n, packed * k, int(32 * packed / size(a.dtype)))


def whole_tiles(call: Call) -> tuple[tuple[int, int, int], tuple[int, int, int]] | None:
    """M, N and K of a product on tensor cores, and the same filled up to whole tiles.

    None where there is no such product, or none of dense operands that can be understood.
    """
    if call.op not in OPERANDS:
        return None
    try:
        if padded(call) is None:
            return None
    except RooflineError:  # `ops.account` says why
        return None
    at_a, at_b, transposed = OPERANDS[call.op]
    a, b = arguments.tensor(call, at_a), arguments.tensor(call, at_b)
    sizes = _sizes(a, b, transposed)
    if sizes is None:
        return None
    _, m, n, k = sizes
    tall, wide = (_up(m, 16), _up(n, 8)), (_up(m, 8), _up(n, 16))
    rows, cols = min(tall, wide, key=lambda pair: pair[0] * pair[1])
    return (m, n, k), (rows, cols, _up(k, int(32 / size(a.dtype))))


def _sizes(a: Tensor, b: Tensor, transposed: bool) -> tuple[int, int, int, int] | None:
    """Batch, M, N and K.  A batch that shares B is one tall product."""
    if len(a.shape) < 2 or len(b.shape) < 2:
        return None
    k, n = a.shape[-1], b.shape[-2 if transposed else -1]
    if len(b.shape) == 2:
        return 1, product(a.shape[:-1]), n, k
    return max(product(a.shape[:-2]), product(b.shape[:-2])), a.shape[-2], n, k


def _padded(pipe: Resource, batch: int, m: int, n: int, k: int, tile: int) -> Ledger:
    inner = _up(k, tile)
    results = min(_up(m, 16) * _up(n, 8), _up(m, 8) * _up(n, 16))
    amount = 2 * batch * results * inner
    line = Entry(pipe, amount, "multiply-add, whole tiles", None, Exactness.ESTIMATE)
    return executed(line, conventions=(TILES,))


def _up(value: int, tile: int) -> int:
    return -(-value // tile) * tile
