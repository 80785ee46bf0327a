"""Kernels whose traffic over DRAM is known: thirteen operators, each at two sizes.

A large case moves far more than the L2 holds.  A small one takes some tens of microseconds, so it
goes around three sets of arrays that together do not fit either.  What a formula says is counted by
hand here, from the sizes alone; where re-reads or scattered sectors decide, it says nothing and a
profiler is asked.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

SETS = 3
REPEATS = 4  # of each case, one after the other; the last is looked at: it met its own leavings
LARGE, SMALL = (65_536, 1024), (24_576, 1024)  # rows, columns of fp32: 268 MB, 101 MB


@dataclass(frozen=True)
class Case:
    """One operator, called with the number of a repeat; bytes of one call, None is not known."""

    name: str
    size: str  # "large" or "small"
    call: Callable[[int], object]
    read: int | None
    written: int | None


def cases() -> list[Case]:
    """All of them, on arrays that they share."""
    return [
        case
        for size, shape, sets in (("large", LARGE, 1), ("small", SMALL, SETS))
        for case in _sized(size, shape, sets)
    ]


def _sized(size: str, shape: tuple[int, int], sets: int) -> list[Case]:
    rows, columns = shape
    n = rows * columns
    x, z, y = ([torch.rand(shape, device="cuda") for _ in range(sets)] for _ in range(3))
    half = [torch.empty(shape, device="cuda", dtype=torch.bfloat16) for _ in range(sets)]
    part = [torch.empty(rows, columns // 2, device="cuda") for _ in range(sets)]
    every_other = [array[:, ::2] for array in x]
    wide = [array.view(columns, rows) for array in y]
    turned = [array.t() for array in x]
    order = torch.randperm(rows, device="cuda")
    scattered = torch.randint(0, n, (n // 4,), device="cuda")
    flat, found = [array.view(-1) for array in x], torch.empty(n // 4, device="cuda")
    m, k = (8192, 8192) if size == "large" else (4096, 1024)
    a, b = (
        [torch.randn(m, k, device="cuda", dtype=torch.bfloat16) for _ in range(sets)] for _ in "ab"
    )
    b = [array.t() for array in b]
    c = [torch.empty(m, m, device="cuda", dtype=torch.bfloat16) for _ in range(sets)]

    def at(arrays: list[torch.Tensor], repeat: int) -> torch.Tensor:
        return arrays[repeat % sets]

    named: list[tuple[str, Callable[[int], object], int | None, int | None]] = [
        # fp32 is 4 B.  Read and written by the formula, in B.
        ("copy", lambda i: at(y, i).copy_(at(x, i)), 4 * n, 4 * n),
        ("read (sum)", lambda i: torch.sum(at(x, i)), 4 * n, 0),
        ("write (fill)", lambda i: at(y, i).fill_(1.0), 0, 4 * n),
        ("add", lambda i: torch.add(at(x, i), at(z, i), out=at(y, i)), 8 * n, 4 * n),
        # Every other element is half of each 32 B sector, and all sectors are fetched.
        ("strided copy", lambda i: at(part, i).copy_(at(every_other, i)), 4 * n, 2 * n),
        ("transposed copy", lambda i: at(wide, i).copy_(at(turned, i)), 4 * n, 4 * n),
        ("cast to bf16", lambda i: at(half, i).copy_(at(x, i)), 4 * n, 2 * n),
        ("softmax", lambda i: torch.softmax(at(x, i), 1, out=at(y, i)), 4 * n, 4 * n),
        # With a mean and a deviation of 4 B a row.
        ("layer norm", lambda i: torch.layer_norm(at(x, i), (columns,)), 4 * n, 4 * n + 8 * rows),
        # Whole rows, each once, in a random order, and an index of 8 B a row.
        (
            "gather rows",
            lambda i: torch.index_select(at(x, i), 0, order, out=at(y, i)),
            4 * n + 8 * rows,
            4 * n,
        ),
        # What is added to is read as well.
        (
            "index_add",
            lambda i: at(y, i).index_add_(0, order, at(x, i)),
            8 * n + 8 * rows,
            4 * n,
        ),
        (
            "gather elements",
            lambda i: torch.index_select(at(flat, i), 0, scattered, out=found),
            None,
            None,
        ),
        ("matrix product", lambda i: torch.mm(at(a, i), at(b, i), out=at(c, i)), None, None),
    ]
    return [Case(name, size, call, read, written) for name, call, read, written in named]
