"""The device that a user states, beside the one that the files tell of."""

from collections.abc import Iterable

from roofline.device import Device
from roofline.devices import may_be, resolve
from roofline.errors import BadInput

MAKERS = ("nvidia", "amd", "intel")  # as ids of devices begin, and names of theirs


def stated(
    name: str,
    file: str,
    recorded: Iterable[str] = (),
    generations: Iterable[str] = (),
    maker: str = "",
) -> Device:
    """The device of ``--device NAME``, for files that do not say one or leave open which.

    `recorded` are names of GPUs in `file`, `generations` their compute capabilities, as ``9.0``,
    `maker` is whose devices the profiler knows.  BadInput where one of them contradicts.
    """
    device = resolve(name)
    other = contradicts(device, recorded, generations) or another_maker(device, maker)
    if other:
        raise BadInput(
            f"{file} was recorded on {other}, and --device says {device.name}: leave it out; "
            "to place the run on another device, `roofline show RUN --what-if device=NAME`"
        )
    return device


def contradicts(device: Device, recorded: Iterable[str], generations: Iterable[str]) -> str:
    """The first of the GPUs that a file names which cannot be `device`; "" is none.

    A name that nobody knows can be any, one that several devices have can be each of them.
    """
    for name in recorded:
        if name and (not may_be(name, device.id) or another_maker(device, name)):
            return name
    own = generation(device)
    other = next((each for each in generations if each and own not in (None, each)), "")
    return other and f"a GPU of compute capability {other}"


def another_maker(device: Device, name: str) -> str:
    """The maker that `name` begins with, where it is known and not that of `device`; else ""."""
    own, told = device.id.partition("-")[0], next(iter(name.split()), "")
    return told if {own, told.lower()} <= set(MAKERS) and own != told.lower() else ""


def generation(device: Device) -> str | None:
    """The compute capability of a GPU, as ``9.0``; None is not known."""
    found = device.fact("compute_capability")
    return None if found is None else str(found.value)
