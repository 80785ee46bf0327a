"""Numbers that do not belong together refuse to meet, and what is not known is not zero."""

from datetime import date

import pytest

from roofline.call import Call, Tensor
from roofline.device import DRAM, VECTOR_FP32, Ceiling, Roof
from roofline.errors import BadInput
from roofline.ops import account
from roofline.placement import place
from roofline.provenance import Basis, Provenance
from roofline.work import Count, Entry, Ledger, Work, algorithmic, executed


def ceiling(rate: float, basis: Basis) -> Ceiling:
    return Ceiling(
        resource=DRAM,
        rate=rate,
        provenance=Provenance(basis=basis, source="a test", as_of=date(2026, 1, 2)),
    )


def test_two_bases_do_not_make_one_roof() -> None:
    """A measured bandwidth beside a printed one: neither is taken in silence."""
    roof = Roof(
        name="mixed",
        kind="cpu",
        ceilings=(ceiling(40e9, Basis.MEASURED), ceiling(51e9, Basis.DATASHEET)),
    )
    with pytest.raises(BadInput, match="two bases for 'dram'"):
        place(algorithmic(Entry(DRAM, 8, "read x once", "read")), roof)


def test_an_unknown_operator_is_named_and_not_free() -> None:
    roof = Roof(name="measured", kind="cpu", ceilings=(ceiling(40e9, Basis.MEASURED),))
    ledger = account(Call("mylib::secret", (Tensor((1000, 1000)),)))
    assert ledger.unaccounted == ("mylib::secret",)
    assert ledger.exactness is None
    placed = place(ledger, roof, measured_s=1e-3)
    assert not placed.known
    assert (placed.roof_s, placed.roof_fraction, placed.lost_s) == (None, None, None)


def test_a_formula_is_not_added_to_what_the_hardware_ran() -> None:
    one = Entry(VECTOR_FP32, 1, "add")
    with pytest.raises(BadInput, match="cannot add algorithmic and executed"):
        algorithmic(one) + executed(one)
    with pytest.raises(BadInput, match="counted as executed cannot stand as algorithmic"):
        Work(algorithmic=Ledger(Count.EXECUTED, (one,)))
