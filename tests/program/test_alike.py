"""Operands of a trace that may be one tensor: bounded, and settled by a time that leaves one way."""

from dataclasses import replace

import pytest

from roofline.call import Call
from roofline.device import DRAM, L2, Fact
from roofline.diagnosis import diagnose
from roofline.program import read
from roofline.program.alike import ALL, IS_ONE, MAY_BE_ONE, TWO
from roofline.program.whatif import what_if
from roofline.work import Exactness
from tests.roofs import STATED
from tests.runs import Script, call, device, tensor

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
    assert IS_ONE[ALL] in item.ledger.conventions


def test_each_call_is_settled_by_its_own_time():
    """8 MB in 0.85 ms twice, and twice 2 ms which leave room for 12: 8 + 8 + 12 + 12 = 40 MB.

    The slow ones may have been given one tensor as well: of 4 MB a call, all may not be there.
    """
    script = Script()
    for us in (850, 850, 2_000, 2_000):
        script.add(PRODUCT, us)
    item = only(script)
    (doubtful,) = (e for e in item.ledger.entries if e.exactness is Exactness.BOUNDED)

    assert (doubtful.amount, doubtful.low, doubtful.high) == (8_000_000, 0, 16_000_000)
    assert item.ledger.demand()[DRAM] == 40_000_000
    assert f"in 2 of 4 calls {IS_ONE[ALL]}" in item.ledger.conventions
    in_bf16 = what_if(script.run(), dtype="bf16").after
    assert in_bf16.parts[0].once.ledger.demand()[DRAM] == 5_000_000


def test_faster_than_one_operand_stays_a_doubt():
    """0.5 ms: above the roof either way, 12 MB in 0.5 ms and 8 MB in 0.5 ms."""
    program = read(Script().add(PRODUCT, 500).end_step().run())

    assert [f.code for f in diagnose(program)] == ["RF001"]


def test_recorded_memory_and_different_shapes_are_exact():
    two = Call("aten::mul", (tensor(1000, 1000), tensor(1000, 1)), (X,))
    known = Call("aten::mul", tuple(replace(X, storage=at) for at in (1, 2)), (X,))

    for each in (two, known):
        assert only(Script().add(each, 1_300)).ledger.exactness is Exactness.EXACT


def test_what_the_last_cache_may_have_held_settles_nothing():
    """A 4 MB L2 may hold an operand of 4 MB: 12 - 4 MB in 0.85 ms fit under the roof as well."""
    large = replace(device(), facts=(Fact(name="l2_capacity", value=4e6, unit="B",
                                          provenance=STATED),))  # fmt: skip
    unknown = replace(device(), ceilings=tuple(c for c in device().ceilings if c.resource != L2))
    for on in (large, unknown):
        (item,) = read(Script().add(PRODUCT, 850).end_step().run(on)).by("call")

        assert item.ledger.demand()[DRAM] == 12_000_000
        assert IS_ONE[ALL] not in item.ledger.conventions


def test_of_three_operands_two_are_one_before_three_are():
    """addcmul: 16 MB; as two 12 MB, as one 8 MB.  1.3 ms leave room for 12, 0.85 ms for 8 only."""
    fused = call("aten::addcmul", X, X, X, out=X)
    two, all_of_them = (only(Script().add(fused, us)) for us in (1_300, 850))

    assert two.ledger.demand()[DRAM] == 12_000_000
    assert IS_ONE[TWO] in two.ledger.conventions
    assert all_of_them.ledger.demand()[DRAM] == 8_000_000
    assert IS_ONE[ALL] in all_of_them.ledger.conventions
    in_bf16 = what_if(Script().add(fused, 1_300).end_step().run(), dtype="bf16").after
    assert in_bf16.parts[0].once.ledger.demand()[DRAM] == 6_000_000


@pytest.mark.parametrize(("op", "least"), [("addcdiv_", 16), ("lerp_", 16), ("addcmul_", 12)])
def test_operands_of_an_update_in_place_are_apart(op, least):
    """param.addcdiv_(exp_avg, denom): 3 reads and a write, 16 MB, however short the time.

    Of addcmul_(grad, grad) the factors alone may be one: 12 MB.
    """
    item = only(Script().add(call(f"aten::{op}", X, X, X, out=X), 850))
    lows = [e.amount if e.low is None else e.low for e in item.ledger.entries
            if e.resource == DRAM]  # fmt: skip

    assert item.ledger.demand()[DRAM] == 16_000_000
    assert sum(lows) == least * 1_000_000
