"""Devices by name: printed ceilings from data files, measured ones from the user's home."""

from collections.abc import Mapping

from roofline.device import Device
from roofline.devices import datasheet, kept
from roofline.devices.datasheet import known
from roofline.devices.names import candidates, match
from roofline.errors import NotFound
from roofline.provenance import Basis

__all__ = ["find", "having", "known", "may_be", "resolve"]


def find(name: str) -> Device:
    """The device that `name` means: its datasheet, or else its newest measurement kept at home.

    `name` is an id, a maker's name, or what torch, nvidia-smi, rocm-smi, jax or lscpu print;
    spelling does not matter.  A device that has both is found as its datasheet; `kept.newest`
    has the measurement.  Ambiguous and unknown names raise NotFound with the candidates.
    """
    return _printed_or_measured(match(name, _names()))


def resolve(name: str, basis: Basis | None = None) -> Device:
    """The device to place work on, as ``--device NAME`` means it.

    Without a basis: the newest measurement kept for it, else its datasheet.  With
    `Basis.MEASURED` only a measurement will do (NotFound without one); with any other basis it is
    the datasheet where there is one.  Which ceilings count is then the caller's `Device.roof`.
    """
    device_id = match(name, _names())
    if basis in (None, Basis.MEASURED):
        measured = kept.newest(device_id)
        if measured is not None:
            return measured
    if basis is Basis.MEASURED:
        raise NotFound(
            f"nothing measured is kept for {device_id} in {kept.home()}; "
            "`roofline measure` on that device measures and keeps it"
        )
    return _printed_or_measured(device_id)


def may_be(name: str, device_id: str) -> bool:
    """Whether what a tool prints can be this device; so can a name that nobody knows.

    >>> may_be("NVIDIA H200", "nvidia-h200-sxm-141gb"), may_be("NVIDIA H200", "nvidia-t4")
    (True, False)
    >>> may_be("h100", "nvidia-h100-pcie-80gb"), may_be("NVIDIA X1", "nvidia-t4")
    (True, True)
    """
    return device_id in (found := candidates(name, _names())) or not found


def having(fact: str, value: object) -> tuple[str, ...]:
    """The ids of the datasheets in which `fact` has this value.

    >>> having("sm_count", 304)
    ('amd-mi300x', 'amd-mi325x')
    """
    sheets = (datasheet.load(device_id) for device_id in known())
    return tuple(
        sheet.id for sheet in sheets if (found := sheet.fact(fact)) and found.value == value
    )


def _printed_or_measured(device_id: str) -> Device:
    if device_id in known():
        return datasheet.load(device_id)
    measured = kept.newest(device_id)
    if measured is None:
        raise NotFound(f"the measurement of {device_id} has gone from {kept.home()}")
    return measured


def _names() -> Mapping[str, tuple[str, ...]]:
    """Every id with its aliases: those of the package, then those only measured here."""
    printed = datasheet.aliases()
    names = {device_id: printed.get(device_id, ()) for device_id in known()}
    return names | {device_id: () for device_id in kept.kept_ids() if device_id not in names}
