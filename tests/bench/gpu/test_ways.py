"""Each way that is timed is the way that its own call is counted as."""

import pytest
from torch._subclasses.fake_tensor import FakeTensorMode

import roofline as rl
from roofline.bench.gpu import ways
from roofline.ops import pace

MADE = [
    *ways._moves(), *ways._whole(2), *ways._whole(4), *ways._by_rows(2), *ways._by_rows(4),
    *ways._gathered(), *ways._batch_norm(), *ways._attention(),
]  # fmt: skip
# A CPU has no kernel of its own for it: PyTorch takes it apart there.
HERE = [way for way in MADE if way.name != pace.RMS]


@pytest.mark.parametrize("way", HERE, ids=[str(way.variant) for way in HERE])
def test_its_call_passes_that_way(way, monkeypatch):
    monkeypatch.setattr(ways, "DEVICE", "cpu")
    with FakeTensorMode():
        account = rl.account(way.run, *(make() for make in way.makes), device="cuda").account
    signatures = [account.signatures[line.signature] for line in account.lines]
    found = [pace.pace(s.call) for s in signatures if s.ledger and s.ledger.entries]

    assert [(one.way, one.elements, one.row) for one in found if one.way] == [
        (way.name, way.elements, way.row)
    ]
    assert way.size in (None, *(one.size for one in found))


def test_no_two_are_one_ceiling():
    variants = [way.variant for way in MADE]
    assert len(set(variants)) == len(variants)


def test_every_way_of_pytorch_is_timed():
    own = {pace.OWN_ROWS, pace.OWN_ROWS_ODD, pace.OWN_ODD}  # of Triton: see ways._own
    named = {
        value for name, value in vars(pace).items() if name.isupper() and isinstance(value, str)
    }
    assert {way.name for way in MADE} == named - own
