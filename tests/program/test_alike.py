"""Operands of a trace that may be one tensor: bounded, and settled by a time that leaves one way."""

from dataclasses import replace

import pytest

from roofline.call import Call
from roofline.device import DRAM
from roofline.diagnosis import diagnose
from roofline.program import read
from roofline.program.alike import IS_ONE, MAY_BE_ONE
from roofline.work import Exactness
from tests.runs import Script, call, tensor

# 4 MB each.  On the toy CPU (10 GB/s) two operands and a result take 1.2 ms, one and a result 0.8.
X = tensor(1000, 1000)
PRODUCT = call("aten::mul", X, X, out=X)


def only(script):
    (item,) = read(script.end_step().run()).by("call")
    return item


def test_a_repeated_operand_is_bounded_below_by_nothing():
    """12 MB, of which 4 may not be there; 1.3 ms leave room for both."""
    ledger = only(Script().add(PRODUCT, 1_300)).ledger
    (doubtful,) = (e for e in ledger.entries if e.exactness is Exactness.BOUNDED)

    assert ledger.demand()[DRAM] == 12_000_000
    assert (doubtful.why, doubtful.low, doubtful.high) == ("read operand 2 once", 0, 4_000_000)
    assert MAY_BE_ONE in ledger.conventions


def test_a_time_that_only_one_operand_fits_settles_it():
    """8 MB in 0.85 ms: 94 % of the roof; as 12 MB it would be 141 %."""
    script = Script().add(PRODUCT, 850)
    item = only(script)

    assert item.ledger.demand()[DRAM] == 8_000_000
    assert item.ledger.footprint == 8_000_000
    assert item.roof_fraction == pytest.approx(0.8 / 0.85)
    assert IS_ONE in item.ledger.conventions


def test_faster_than_one_operand_stays_a_doubt():
    """0.5 ms: above the roof either way, 12 MB in 0.5 ms and 8 MB in 0.5 ms."""
    program = read(Script().add(PRODUCT, 500).end_step().run())

    assert [f.code for f in diagnose(program)] == ["RF001"]


def test_recorded_memory_and_different_shapes_are_exact():
    two = Call("aten::mul", (tensor(1000, 1000), tensor(1000, 1)), (X,))
    known = Call("aten::mul", tuple(replace(X, storage=at) for at in (1, 2)), (X,))

    for each in (two, known):
        assert only(Script().add(each, 1_300)).ledger.exactness is Exactness.EXACT
