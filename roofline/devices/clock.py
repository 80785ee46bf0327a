"""Printed ceilings at another clock than the maker's."""

import re

from roofline.device import Ceiling, Device, Resource
from roofline.provenance import Basis
from roofline.units import parse


def at_clock(sheet: Device, wanted: Resource, clock_hz: float) -> float | None:
    """The printed rate of a pipe at `clock_hz`, in units a second.

    A pipe does the same work in every cycle, so its peak goes with the clock.  The maker's clock
    stands in the conditions of the number; else it is the fact ``tensor_clock`` for matrix pipes,
    then ``boost_clock``.  None where the sheet has no such pipe or clock, and for memory, whose
    clock is another.
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
    clock = printed_clock(sheet, printed)
    return None if not clock else printed.rate * clock_hz / clock


def printed_clock(sheet: Device, printed: Ceiling) -> float | None:
    """The clock behind a printed rate of a pipe [Hz]; None where the sheet does not tell it."""
    if stated := re.search(r"\d[\d.]* GHz", printed.provenance.conditions):
        return parse(stated[0], "Hz")
    matrix = printed.resource.name.startswith("tensor-")
    names = ("tensor_clock", "boost_clock") if matrix else ("boost_clock",)
    facts = (sheet.fact(name) for name in names)
    return next((f.value for f in facts if f and isinstance(f.value, float | int)), None)
