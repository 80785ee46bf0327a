"""Reductions, in whole waves of blocks and with few blocks."""

from collections.abc import Callable, Iterator
from typing import Any

from roofline.bench.gpu.ways.way import EACH, Way, of, units
from roofline.ops.pace import way
from roofline.ops.pace.reduced import FEWEST, HELD, MOST, THREADS, TOGETHER, WARP


def reduced(size: int) -> Iterator[Way]:
    """Everything, rows, and columns; the latter averaged, which of bf16 is its slowest."""
    import torch

    bits, wave = f"{8 * size} bit", units() * TOGETHER
    n = wave * THREADS * MOST
    yield Way(way.REDUCED, f"{bits}, sum", (of(size, n),), torch.sum, n, size=size, kernels=2)
    for name, call, run in _row_calls(size):
        for row in (64, 256, 1024, 4096, 8064):
            full = wave * (THREADS // WARP)
            yield _of_rows(
                name, f"{bits}, {call}", run, size, max(1, EACH // row // full) * full, row
            )
        for row in (1024, 8064):
            m = units() * (THREADS // WARP)
            yield _of_rows(name, f"{bits}, {call}", run, size, m, row, alone=True)
    wide = 4
    block, resident = wide * WARP, units() * HELD[wide]
    for column, waves, alone in ((64, 2, False), (248, 1, False), (64, 0, True), (992, 0, True)):
        columns = block * (waves * resident or units())
        # A block's threads stand in rows of 32: each takes one value in so many.
        taken = -(-column // (THREADS // wide // WARP))
        yield Way(way.COLUMNS_REDUCED, f"{bits}, mean of {columns} columns of {column}",
                  (of(size, column, columns),), lambda x: x.mean(0), column * columns, taken, size,
                  alone=alone)  # fmt: skip


def joined() -> Iterator[Way]:
    """Sums of few blocks, and of as many as there can be for one result."""
    import torch

    n = THREADS * FEWEST * 64
    yield Way(way.SUMS_JOINED, f"16 bit, sum of {n}", (of(2, n),), torch.sum, 1, 1, kernels=2)
    width, height = WARP // 2, THREADS // 4 // (WARP // 2)  # of a block over 64 columns
    blocks = units() * 2048 // (width * height)
    column = blocks * height * FEWEST
    yield Way(way.SUMS_JOINED, f"16 bit, mean of 64 columns of {column}", (of(2, column, 64),),
              lambda x: x.mean(0), blocks // height, blocks // height, kernels=2)  # fmt: skip


def _row_calls(size: int) -> Iterator[tuple[str, str, Callable[[Any], Any]]]:
    yield way.ROWS_REDUCED, "sum of rows", lambda x: x.sum(1)
    if size == 2:
        yield way.ROWS_SEARCHED, "largest of rows", lambda x: x.amax(1)


def _of_rows(
    name: str,
    call: str,
    run: Callable[[Any], Any],
    size: int,
    m: int,
    row: int,
    alone: bool = False,
) -> Way:
    return Way(name, f"{call}, {m} of {row}", (of(size, m, row),), run, m * row, row, size,
               alone=alone)  # fmt: skip
