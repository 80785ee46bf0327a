"""Which device the launches ran on."""

from roofline.device import Device, Fact
from roofline.devices import resolve
from roofline.errors import NotFound
from roofline.importers.cells import Mark, number
from roofline.importers.ncu.pages import DEVICE_NAME, L2_CAPACITY, Launches
from roofline.provenance import Basis, Provenance


def device_of(launches: Launches, stated: str | None, mark: Mark) -> Device | None:
    """The stated device, else the recorded one with its known ceilings, else what is recorded."""
    if stated is not None:
        return resolve(stated)
    names = {
        cells[DEVICE_NAME][0] for launch in launches.found if DEVICE_NAME in (cells := launch.cells)
    }
    if len(names) != 1:
        return None
    name = names.pop()
    try:
        return resolve(name)
    except NotFound:
        return _bare(name, launches, mark)


_FACTS = {
    "device__attribute_multiprocessor_count": ("sm_count", ""),
    L2_CAPACITY: ("l2_capacity", "B"),
}


def _bare(name: str, launches: Launches, mark: Mark) -> Device:
    """A device of which only the profiler's attributes are known: no ceilings."""
    from datetime import date

    where = Provenance(
        basis=Basis.COUNTER, source="Nsight Compute device attributes", as_of=date.today()
    )
    cells = next(launch.cells for launch in launches.found if DEVICE_NAME in launch.cells)
    facts = [
        Fact(name=fact, value=value, unit=unit, provenance=where)
        for attribute, (fact, unit) in _FACTS.items()
        if attribute in cells and (value := number(cells[attribute][0], mark)) is not None
    ]
    identity = "-".join(name.lower().split())
    return Device(id=identity, name=name, kind="gpu", ceilings=(), facts=tuple(facts))
