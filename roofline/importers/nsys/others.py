"""What ran on a device that the run is not of, with its time: unknown where none of it is known."""

from collections.abc import Sequence

from roofline.importers.chosen import Gpu, way_to
from roofline.runfile import Gap


def seconds(ns: int | None) -> float | None:
    """Seconds of a sum of durations; None where none of them is known, for nothing takes no time.

    >>> seconds(1500), seconds(0), seconds(None)
    (1.5e-06, None, None)
    """
    return ns / 1e9 if ns else None


def other(name: str, gpu: Gpu, gpus: Sequence[Gpu], ns: int | None, count: int) -> Gap:
    """The `count` activities of `gpu`, one of `gpus`, which took `ns` in all."""
    return Gap(
        name=name or "no stated device",
        what=f"a run is of one device: what ran on this one is not in it{way_to(gpu, gpus)}",
        seconds=seconds(ns),
        count=count,
    )
