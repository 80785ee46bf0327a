"""Printed ceilings at another clock than the maker's."""

from roofline.device import Device, Resource
from roofline.provenance import Basis


def at_clock(sheet: Device, wanted: Resource, clock_hz: float) -> float | None:
    """The printed rate of a pipe at `clock_hz`, in units a second.

    A pipe does the same work in every cycle, so its peak goes with the clock.  The maker's clock is
    the fact ``tensor_clock`` for matrix pipes, else ``boost_clock``.  None where the sheet has no
    such pipe or clock, and for memory, whose clock is another.
    """
    printed = next(
        (
            c
            for c in sheet.ceilings
            if c.resource == wanted and c.provenance.basis in (Basis.DATASHEET, Basis.DERIVED)
        ),
        None,
    )
    if printed is None or not wanted.is_pipe:
        return None
    names = (
        ("tensor_clock", "boost_clock") if wanted.name.startswith("tensor-") else ("boost_clock",)
    )
    facts = (sheet.fact(name) for name in names)
    clock = next((f.value for f in facts if f and isinstance(f.value, float | int)), None)
    return None if not clock else printed.rate * clock_hz / clock
