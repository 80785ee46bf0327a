"""RF406 from a launch's shape alone: a tile whose columns each lie in one bank."""

from collections.abc import Iterator
from dataclasses import replace

from roofline.diagnosis.kernels.launch_facts import Facts, kernel_finding
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program

BANKS, WORD = 32, 4  # of shared memory on every NVIDIA card since 2010, and B of each
TILE = BANKS * BANKS * WORD


def square_tile(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF406: 32 x 32 words of shared memory under a block whose warps are its rows.

    No more than a suspicion: only counters tell whether it is walked by columns.
    """
    del program
    threads, shared = fact("block_size") or 0.0, fact("shared_per_block")
    if fact("bank_conflicts") is not None or fact("block_columns") != BANKS or threads <= BANKS:
        return
    if shared != TILE:
        return
    suspicion = kernel_finding(
        "RF406",
        item,
        "may have bank conflicts: its shared memory is one tile of "
        f"{BANKS} x {BANKS} words without padding, and each column of it lies in one bank",
        (
            f"{shared:.0f} B a block of {BANKS} x {threads / BANKS:.0f} threads; rows of "
            f"{BANKS + 1} words would make {TILE + BANKS * WORD}",
            "by the shape of the launch: without counters nobody knows how the tile is walked",
        ),
        f"count its conflicts (ncu), or pad its rows to {BANKS + 1} words and see",
        "the conflicts that a profiler counts are few: the tile is walked by rows",
    )
    yield replace(suspicion, saves_s=None, then_s=None)
