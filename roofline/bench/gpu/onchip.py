"""Bandwidth inside a multiprocessor: of the L1 cache, of shared memory, and with bank conflicts."""

import ctypes
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from roofline.bench.gpu.card import Card
from roofline.bench.gpu.cuda import Function, module
from roofline.bench.gpu.record import Recorder
from roofline.bench.gpu.timing import Load
from roofline.bench.record import Absent, Found
from roofline.device import L1, SHARED, Variant
from roofline.errors import Missing
from roofline.units import show_binary

BLOCK, UNROLL, HELD, BYTES = 512, 8, 4, 16  # as kernels/onchip.cu has them; bytes of a load
L1_SIZE = BLOCK * UNROLL * BYTES  # B that one turn of a block reads
SHARED_SIZE = BLOCK * HELD * BYTES
BLOCKS_PER_UNIT = 4
WARP, BANKS, WORD = 32, 32, 4
TRAFFIC = 1 << 27  # B that one block reads in one launch


def levels(recorder: Recorder) -> Iterator[Found]:
    """Read ceilings of the L1 and of shared memory, all multiprocessors together."""
    variant = Variant(access="read")
    try:
        kernels = Kernels(recorder.timer.card)
    except Missing as error:
        yield from (Absent(level, variant, str(error)) for level in (L1, SHARED))
        return
    about = f"16 B a lane, {BLOCKS_PER_UNIT} blocks of {BLOCK} threads a multiprocessor"
    yield recorder.ceiling(
        L1,
        kernels.l1(),
        f"CUDA C++ loads that may stay in the L1, {kernels.made_by}",
        (about, f"{show_binary(L1_SIZE)}, the same for every block"),
        variant,
    )
    yield recorder.ceiling(
        SHARED,
        kernels.shared(),
        f"CUDA C++ loads from shared memory, {kernels.made_by}",
        (about, f"{show_binary(SHARED_SIZE)} a block"),
        variant,
    )


def source() -> str:
    """The CUDA C++ of all of them."""
    return files("roofline.bench.gpu.kernels").joinpath("onchip.cu").read_text()


class Kernels:
    """The kernels of onchip.cu on one card."""

    def __init__(self, card: Card) -> None:
        import torch

        if not card.nvidia:
            raise Missing("measured with CUDA C++, on NVIDIA cards only")
        made = module(source(), card.target)
        self.made_by = made.made_by
        self._l1 = made.function("l1_read")
        self._shared = made.function("shared_read")
        self._conflicts = made.function("shared_conflicts")
        self.grid = BLOCKS_PER_UNIT * card.units
        self.data = torch.randint(
            -(2**31), 2**31 - 1, (L1_SIZE // WORD,), dtype=torch.int32, device="cuda"
        )
        self.sums = torch.zeros(BLOCK, dtype=torch.int32, device="cuda")

    def l1(self, rounds: int = TRAFFIC // L1_SIZE, keep: bool = False) -> Load:
        """Every block reads the same 64 KiB; `keep` folds what block 0 read into sums[0]."""
        arguments = (self.data, self.sums, *_ints(L1_SIZE // BYTES, rounds, 0, keep))
        return self._load(self._l1, arguments, L1_SIZE * rounds)

    def shared(self, rounds: int = TRAFFIC // SHARED_SIZE, keep: bool = False) -> Load:
        """The same over 32 KiB of each block's shared memory."""
        arguments = (self.sums, *_ints(SHARED_SIZE // BYTES, rounds, 0, keep))
        return self._load(self._shared, arguments, SHARED_SIZE * rounds, SHARED_SIZE)

    def conflicts(self, degree: int) -> Load:
        """`degree` lanes of each warp on one bank; bytes are those that lanes receive."""
        one = BLOCK * UNROLL * WORD
        rounds = TRAFFIC // (4 * one * degree)
        arguments = (self.sums, *_ints(degree, rounds, 0))
        return self._load(self._conflicts, arguments, one * rounds, BANKS * WARP * WORD)

    def _load(
        self, function: Function, arguments: tuple[Any, ...], block_bytes: int, shared: int = 0
    ) -> Load:
        run = function.launcher(self.grid, BLOCK, arguments, shared)
        return Load(lambda _turn: run(), self.grid * block_bytes)


def _ints(*values: int) -> tuple[ctypes.c_int, ...]:
    return tuple(ctypes.c_int(value) for value in values)
