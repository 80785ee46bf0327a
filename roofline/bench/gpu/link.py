"""The link to the host: copies there and back, pinned and pageable."""

from collections.abc import Iterator

from roofline.bench.gpu import topology
from roofline.bench.gpu.record import Recorder
from roofline.bench.gpu.timing import Load
from roofline.bench.record import Absent, Found
from roofline.device import PCIE, Variant
from roofline.units import show_binary

SIZE, PAGEABLE_SIZE = 1 << 27, 1 << 25  # B
HOST_INSIDE = "host time inside: the driver copies by way of pinned memory of its own"


def host(recorder: Recorder, quick: bool) -> Iterator[Found]:
    """Host to device and back, each pinned and pageable.

    The pinned ways come first: they are what the link can do, and what a placement takes.
    """
    import torch

    driver = recorder.timer.driver
    for pinned in (True, False):
        size = SIZE if pinned else PAGEABLE_SIZE
        memory = "pinned" if pinned else "pageable"
        try:
            there = torch.empty(size, dtype=torch.uint8, pin_memory=pinned)
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            yield from (
                Absent(PCIE, Variant(way=f"{to}, {memory}"), reason) for to in ("h2d", "d2h")
            )
            continue
        here = torch.randint(0, 256, (size,), dtype=torch.uint8, device="cuda")
        there.copy_(here)  # the card is quicker at random bytes
        circumstances = (
            f"{topology.pcie(driver)}, asked right after a copy",
            topology.nodes(driver),
        )
        for to, target, origin in (("h2d", here, there), ("d2h", there, here)):

            def run(
                _turn: int, target: torch.Tensor = target, origin: torch.Tensor = origin
            ) -> None:
                target.copy_(origin, non_blocking=True)

            yield recorder.ceiling(
                PCIE,
                Load(run, size),
                f"torch copy_ of {memory} host memory, {to}",
                (f"{show_binary(size)} of uniform random bytes", *(HOST_INSIDE,) * (not pinned)),
                Variant(way=f"{to}, {memory}"),
                circumstances=circumstances,
                count=10 if quick else 20,
            )
