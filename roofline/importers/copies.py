"""Copies and memsets of a device: their names say which way the bytes went."""

import re

from roofline.device import DRAM, PCIE
from roofline.work import Entry, Ledger, algorithmic, unknown

_WAY = re.compile(r"(HtoD|DtoH|DtoD|PtoP|HostToDevice|DeviceToHost|DeviceToDevice)")
_HOST = {"HtoD": "read", "DtoH": "write", "HostToDevice": "read", "DeviceToHost": "write"}


def way(name: str) -> str:
    """Which way a copy goes, as its name says; "" when it does not."""
    found = _WAY.search(name)
    return found[1] if found else ""


def meets_host(name: str) -> bool:
    """Whether the bytes cross the link between host and device."""
    return way(name) in _HOST


def ledger(name: str, nbytes: int | None) -> Ledger:
    """The bytes of one copy or memset over the device's memory and its link to the host."""
    if nbytes is None or nbytes < 0:
        return unknown(name)
    if name.startswith("Memset"):
        return algorithmic(Entry(DRAM, nbytes, "set", "write"))
    went = way(name)
    if went in ("DtoD", "DeviceToDevice"):
        return algorithmic(
            Entry(DRAM, nbytes, "copy from", "read"), Entry(DRAM, nbytes, "copy to", "write")
        )
    if went in ("HtoD", "HostToDevice"):
        return algorithmic(
            Entry(PCIE, nbytes, "from the host", "read"), Entry(DRAM, nbytes, "copy to", "write")
        )
    if went in ("DtoH", "DeviceToHost"):
        return algorithmic(
            Entry(DRAM, nbytes, "copy from", "read"), Entry(PCIE, nbytes, "to the host", "write")
        )
    return unknown(name)
