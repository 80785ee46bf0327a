"""The device that a user states, beside the one that the files tell of."""

from collections.abc import Iterable

from roofline.device import Device
from roofline.devices import may_be, resolve
from roofline.errors import BadInput


def stated(
    name: str, file: str, recorded: Iterable[str] = (), generations: Iterable[str] = ()
) -> Device:
    """The device of ``--device NAME``, for files that do not say one or leave open which.

    `recorded` are names of GPUs in `file`, `generations` their compute capabilities, as ``9.0``.
    BadInput where one of them contradicts.
    """
    device = resolve(name)
    other = contradicts(device, recorded, generations)
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
        if name and not may_be(name, device.id):
            return name
    own = generation(device)
    other = next((each for each in generations if each and own not in (None, each)), "")
    return other and f"a GPU of compute capability {other}"


def generation(device: Device) -> str | None:
    """The compute capability of a GPU, as ``9.0``; None is not known."""
    found = device.fact("compute_capability")
    return None if found is None else str(found.value)
