"""RF202 from counters: a matrix product computes far more results than it stores."""

import re
from collections.abc import Iterator

from roofline.device import DRAM, L2
from roofline.diagnosis.kernels.launch_facts import Facts, kernel_finding
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.units import show
from roofline.work import Ledger

# A tile's results as libraries write them into the names of their kernels:
# nvjet_sm90_tst_64x8_64x16_..., ..._gemm_bf16_128x64_64x4_tn, ..._tilesize256x128x8_...
_TILE = re.compile(r"(?:_|tilesize)(?P<one>\d+)x(?P<other>\d+)(?:x\d+)?(?=_)")
_PRODUCT = re.compile(r"gemm|nvjet", re.IGNORECASE)
# What shares a tile among blocks: their number says nothing of the tiles then.
_SHARED = re.compile(r"split_?k|stream_?k|2cta", re.IGNORECASE)
EMPTY = 4.0  # assumed: a fused epilogue may store half of the results, and a little more is common
# Size [B] of the narrowest result that a pipe's products are stored as.
STORED = {"tensor-fp64": 8, "tensor-tf32": 4, "tensor-fp16": 2, "tensor-bf16": 2}


def empty_tiles(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF202: blocks times the results of a tile, against the results that were stored."""
    del program
    work = item.placement.work
    tile, blocks = tile_of(item.name), fact("grid_size")
    if tile is None or not blocks or work.executed is None or work.achieved is None:
        return
    if work.algorithmic is not None and work.algorithmic.entries:
        return  # the shapes are known, and say more
    ran = max(
        ((amount, pipe.name) for pipe, amount in work.executed.demand().items()
         if pipe.name.startswith("tensor-")),
        default=(0, ""),
    )  # fmt: skip
    stored = work.achieved.traffic(L2, "write") / item.calls / STORED.get(ran[1], 1)
    places = blocks * tile[0] * tile[1]
    if not ran[0] or not stored or places < EMPTY * stored:
        return
    bound = item.binding is not None and item.binding.demanded.is_pipe
    yield kernel_finding(
        "RF202",
        item,
        f"computes {places / stored:.0f} times the results that it stores: "
        "its tiles are mostly padding",
        (
            f"{blocks:.0f} blocks of {tile[0]} x {tile[1]} results are {places:.0f}; "
            f"{stored:.0f} of {STORED.get(ran[1], 1)} B were stored",
            _reuse(ran, work.achieved, item.calls),
        ),
        "fill the tiles: batch rows up to the tile's height (they cost nothing until then), "
        "or a kernel made for one row",
        "a product with full tiles takes longer, or the kernel reduces its results before it "
        "stores them",
        then=stored / places if bound else 1.0,
    )


def tile_of(name: str) -> tuple[int, int] | None:
    """Results of one block, by the name of a matrix product; None where it does not say.

    >>> tile_of("nvjet_sm90_tst_64x8_64x16_2x1_v_bz_NNT")
    (64, 8)
    """
    found = _TILE.search(name)
    if found is None or not _PRODUCT.search(name) or _SHARED.search(name):
        return None
    return int(found["one"]), int(found["other"])


def _reuse(ran: tuple[int, str], achieved: Ledger, calls: int) -> str:
    """How often each byte that was read is used: 8 flop a byte are 8 rows for a 2-byte weight."""
    read = achieved.traffic(DRAM, "read")
    if not read:
        return ""
    return (
        f"{show(ran[0] / calls, 'flop')} on {ran[1]} a launch, {ran[0] / read:.1f} for each byte "
        "read from dram"
    )
