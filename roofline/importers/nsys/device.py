"""The device of a run: the user's, else the one that the recording names."""

from roofline.device import Device
from roofline.devices import resolve
from roofline.errors import NotFound
from roofline.importers.chosen import named
from roofline.importers.format import Options
from roofline.importers.stated import stated


def device_of(name: str | None, file: str, options: Options, warnings: list[str]) -> Device | None:
    """The device by the `name` that `file` gives it; `warnings` takes up that nobody knows it.

    None where the file gives none, or an unknown one.  BadInput where the user contradicts.
    """
    said = named(options.device)
    if said is not None:
        return stated(said, file, [name or ""], maker="NVIDIA")
    if name is None:
        return None
    try:
        return resolve(name)
    except NotFound as unknown:
        warnings.append(f"no ceilings for the device of the recording: {unknown}")
        return None
