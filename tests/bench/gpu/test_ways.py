"""Each way that is timed is the way that its own call is counted as."""

import pytest
from torch._subclasses.fake_tensor import FakeTensorMode

import roofline as rl
from roofline.bench.gpu import ways
from roofline.bench.gpu.ways import way as made_of
from roofline.ops.pace import pace
from roofline.ops.pace import way as names

MADE = [*ways.of_pytorch()]
# A CPU has no kernel of its own for these: PyTorch takes them apart there, or has none.
HERE = [way for way in MADE if way.name not in (names.RMS, names.BATCH_STATISTICS)]
OWN = {value for name, value in vars(names).items() if name.startswith(("OWN_", "COMPILED_"))}


def named():
    return {v for name, v in vars(names).items() if name.isupper() and isinstance(v, str)}


@pytest.mark.parametrize("way", HERE, ids=[str(way.variant) for way in HERE])
def test_its_call_passes_that_way(way, monkeypatch):
    monkeypatch.setattr(made_of, "DEVICE", "cpu")
    monkeypatch.setattr(ways.rows, "DEVICE", "cpu")
    monkeypatch.setattr(ways.others, "DEVICE", "cpu")
    with FakeTensorMode():
        account = rl.account(way.run, *(make() for make in way.makes), device="cuda").account
    signatures = [account.signatures[line.signature] for line in account.lines]
    kernels = [
        one for s in signatures if s.ledger and s.ledger.entries for one in pace(s.call).chain
    ]
    found = [one for one in kernels if one.way == way.name]

    assert [(one.elements, one.row) for one in found] == [(way.elements, way.row)]
    assert way.size in (None, found[0].size)
    assert way.kernels == len(kernels)


@pytest.mark.parametrize("way", [way for way in HERE if way.name in names.ALONE])
def test_few_blocks_are_as_few_as_the_model_takes_them_for(way, monkeypatch):
    """And the others fill whole waves."""
    monkeypatch.setattr(ways.rows, "DEVICE", "cpu")
    monkeypatch.setattr(made_of, "DEVICE", "cpu")
    with FakeTensorMode():
        account = rl.account(way.run, *(make() for make in way.makes), device="cuda").account
    (call,) = [s.call for s in account.signatures if s.ledger and s.ledger.entries]
    found = pace(call)
    on_one = found.blocks / made_of.units()

    assert on_one == names.ALONE[way.name] if way.alone else on_one % found.together == 0


def test_no_two_are_one_ceiling():
    variants = [way.variant for way in ways.ways()]
    assert len(set(variants)) == len(variants)


def test_every_way_is_timed():
    assert {way.name for way in MADE} == named() - OWN
    assert {way.name for way in ways.own.of_triton()} == OWN
