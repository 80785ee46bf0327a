"""Kernels compiled before anything is timed, side by side, on all the cores of the host."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait

from roofline.bench.gpu.card import Card


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
