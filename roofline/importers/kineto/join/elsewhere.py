"""A run is of one device: what a trace's other devices did, and the operators it was done for."""

from dataclasses import replace

from roofline.importers.kineto.join.launched import Launched
from roofline.importers.kineto.join.nesting import Nested
from roofline.importers.kineto.read.columns import NONE, Activities
from roofline.importers.kineto.stretches.times import Times, arrow, ended, integers


def of_device(
    ran: Activities, at: Times, found: Launched, device: int | None
) -> tuple[Activities, Times, Launched]:
    """The activities of `device` alone; launches that started only others stand in `elsewhere`."""
    import pyarrow.compute as pc

    here = pc.equal(arrow(ran.device), device)
    if pc.all(here).as_py() is not False:
        return ran, at, found
    launch = found.launch.filter(here)
    others = found.launch.filter(pc.invert(here)).drop_null().unique()
    elsewhere = others.filter(pc.invert(pc.is_in(others, value_set=launch.drop_null())))
    return (
        ran.where(here.to_pylist()),
        ended(at.start.filter(here), at.duration.filter(here)),
        replace(found, launch=launch, elsewhere=elsewhere),
    )


def uncount(nested: Nested, found: Launched) -> None:
    """Operators that worked on other devices alone are no work of this one, nor of the host."""
    if found.elsewhere is None or not len(found.elsewhere):
        return
    here = {nested.owner[row] for row in integers(found.launch.drop_null())}
    for row in integers(found.elsewhere):
        owner = nested.owner[row]
        if owner != NONE and owner not in here:
            nested.counted[owner] = 0
