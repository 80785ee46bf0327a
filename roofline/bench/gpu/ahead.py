"""Kernels compiled before anything is timed, side by side, on all the cores of the host."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from roofline.bench.gpu.card import Card

Grid = tuple[int, ...]
Start = Callable[[Any, Grid], Callable[..., Any]]  # of a Triton kernel and its grid


def launching(kernel: Any, grid: Grid) -> Callable[..., Any]:
    """What launches a Triton kernel."""
    launch: Callable[..., Any] = kernel[grid]
    return launch


def compiling(kernel: Any, grid: Grid) -> Callable[..., Any]:
    """What takes the same arguments and makes everything ready that the launch needs."""

    def ready(*args: Any, **options: Any) -> None:
        made = kernel.warmup(*args, grid=grid, **options)
        made.run  # noqa: B018  loads it onto the card, and builds what launches it

    return ready


def compiled(card: Card, makes: Iterable[Callable[[], object]]) -> None:
    """Do all of `makes`, each of which compiles one kernel and leaves it where its use finds it.

    What fails is not told here: it fails again where it is used, and is told there.
    """
    import torch

    def on_card(make: Callable[[], object]) -> None:
        with torch.cuda.device(card.index):  # which a new thread does not know
            make()

    workers = ThreadPoolExecutor()
    try:
        wait([workers.submit(on_card, make) for make in makes])
    finally:
        workers.shutdown(cancel_futures=True)  # after Ctrl-C those that did not begin
