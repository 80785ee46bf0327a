"""Links between the GPUs of one machine: there, back and both at once, by engine and by kernel.

A copy engine is what torch's ``copy_`` and most libraries' large copies use; a kernel that reads
or writes the other card's memory is what fused collectives are made of.  Both are timed, since
neither is always the faster one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.bench.gpu.card import Driver, card
from roofline.bench.gpu.neighbours import neighbours
from roofline.bench.gpu.record import Recorder
from roofline.bench.gpu.timing import Load
from roofline.bench.gpu.topology import Join, joined, pcie
from roofline.bench.record import Absent, Found
from roofline.device import NVLINK, PCIE, Variant
from roofline.units import show_binary

if TYPE_CHECKING:
    import torch

SIZE, QUICK_SIZE = 1 << 30, 1 << 28  # B
ELEMENT = 4  # B
BLOCK, UNROLL, WARPS = 1024, 4, 8  # of the copy kernel
ENGINE, KERNEL = "copy engine", "copy kernel"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two cards with random fp32 data on each and room for the other's."""

    here: int
    there: int
    own: "torch.Tensor"  # on `here`, as the next
    arrived: "torch.Tensor"
    other: "torch.Tensor"  # on `there`, as the next
    sent: "torch.Tensor"

    @property
    def size(self) -> int:
        """Bytes that one direction carries in one copy."""
        return int(self.own.numel()) * ELEMENT


@dataclass(frozen=True, slots=True)
class Move:
    """One copy from card to card, and the card that a kernel does it on."""

    target: "torch.Tensor"
    origin: "torch.Tensor"
    on: int


Copy = Callable[[Move], object]


def peers(recorder: Recorder, others: int, quick: bool) -> Iterator[Found]:
    """Copies to and from every other card that this one reaches directly."""
    import torch

    index, driver = recorder.timer.card.index, recorder.timer.driver
    for other in (i for i in range(others) if i != index):
        far = Driver(card(other))
        join = joined(driver, far)
        plain = Variant(way=f"with cuda:{other}")
        if not torch.cuda.can_device_access_peer(index, other):
            link = join.link if join else NVLINK
            yield Absent(link, plain, "the cards do not reach each other directly")
        elif join is None:
            why = driver.why_not or far.why_not or "the driver does not tell"
            yield Absent(NVLINK, plain, f"which link joins the cards is not known ({why})")
        else:
            yield from _copies(recorder, _pair(index, other, quick), join, far)
            torch.cuda.empty_cache()


def _pair(here: int, there: int, quick: bool) -> Pair:
    import torch

    free = min(torch.cuda.mem_get_info(i)[0] for i in (here, there))
    size = min(QUICK_SIZE if quick else SIZE, free // 8)
    n = size // (ELEMENT * BLOCK * UNROLL) * (BLOCK * UNROLL)
    arrays = [torch.randn(n, device=f"cuda:{i}") for i in (here, here, there, there)]
    return Pair(here, there, *arrays)


def _copies(recorder: Recorder, pair: Pair, join: Join, far: Driver) -> Iterator[Found]:
    for copy, by in ((_by_engine, ENGINE), (_by_kernel, KERNEL)):
        method = {ENGINE: "torch copy_ from card to card", KERNEL: "Triton copy of fp32"}[by]
        for way, load, counted in _ways(pair, copy):
            circumstances = [neighbours(far).on(f"cuda:{pair.there}")]
            if join.link == PCIE:
                ends = ((pair.here, recorder.timer.driver), (pair.there, far))
                circumstances += [f"cuda:{index}: {pcie(driver)}" for index, driver in ends]
            yield recorder.ceiling(
                join.link,
                load,
                f"{method}, {counted}",
                (f"{show_binary(pair.size)} of normal random fp32 a direction", join.about),
                Variant(way=f"{way} cuda:{pair.there}, {by}"),
                circumstances=circumstances,
            )


def _ways(pair: Pair, copy: Copy) -> Iterator[tuple[str, Load, str]]:
    """There, back, and both at once.

    Alone a kernel runs on this card, and writes to the other's memory or reads it; of two that run
    at once each writes from its own card.
    """
    there = Move(pair.sent, pair.own, pair.here)
    back = (pair.arrived, pair.other)
    yield "to", _joined(pair, copy, [there]), "one direction"
    yield "from", _joined(pair, copy, [Move(*back, pair.here)]), "one direction"
    both = _joined(pair, copy, [there, Move(*back, pair.there)])
    yield "both ways with", both, "bytes of both directions together"


def _joined(pair: Pair, copy: Copy, moves: Sequence[Move]) -> Load:
    """Copies side by side, each on a stream of its own on either card, timed on this card's."""
    import torch

    # A copy between cards waits for the current streams of both.
    streams = [[torch.cuda.Stream(i) for i in (pair.there, pair.here)] for _ in moves]

    def run(_turn: int) -> None:
        timed = torch.cuda.current_stream(pair.here)
        for move, (far, near) in zip(moves, streams, strict=True):
            far.wait_stream(timed)
            near.wait_stream(timed)
            with torch.cuda.stream(far), torch.cuda.stream(near):
                copy(move)
        for far, near in streams:
            timed.wait_stream(far)
            timed.wait_stream(near)

    return Load(run, pair.size * len(moves))


def _by_engine(move: Move) -> object:
    return move.target.copy_(move.origin, non_blocking=True)


def _by_kernel(move: Move) -> object:
    import torch

    from roofline.bench.gpu.kernels import streams

    x, z = move.origin, move.target
    grid = (x.numel() // (BLOCK * UNROLL),)
    with torch.cuda.device(move.on):
        return streams.once[grid](
            x, x, z, BLOCK=BLOCK, UNROLL=UNROLL, ACCESS="copy", num_warps=WARPS
        )
