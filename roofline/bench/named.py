"""A device by the words that name one on the command line, ``cpu`` among them."""

from roofline.device import Device
from roofline.devices import kept, resolve
from roofline.errors import NotFound


def named(name: str) -> Device:
    """The device to place work on that `name` means: its measurement, else its datasheet.

    NotFound where no device is called so, and where this CPU is meant and was never measured.
    """
    return resolve(meant(name))


def meant(name: str) -> str:
    """`name`, but for ``cpu``, which `roofline measure` takes, the id of this machine's CPU."""
    if name != "cpu":
        return name
    from roofline.bench.cpu import device_id

    if not kept.history(device_id()):
        raise NotFound(
            f"nothing measured is kept for cpu, which is {device_id()} here, in {kept.home()}; "
            "`roofline measure` measures and keeps it"
        )
    return device_id()
