"""The benchmark beside others, with rates that are given."""

import importlib.util
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

from roofline.device import LAUNCH, Ceiling, Variant
from roofline.provenance import Basis, Provenance

ROOT = Path(__file__).parents[3]
RATES = {"ours": 200e3, "theirs": 160e3}


@pytest.fixture(scope="module")
def rivals():
    told = importlib.util.spec_from_file_location("rivals", ROOT / "benchmarks/ceilings_gpu.py")
    module = importlib.util.module_from_spec(told)
    told.loader.exec_module(module)
    return module


@pytest.fixture
def asked(rivals, monkeypatch):
    """Who was launched how, in order; each turn is a tenth quicker than the one before it."""
    taken = []

    def settled(clock, start, way):
        assert clock == "clock"
        turn = taken.count((start, way))
        taken.append((start, way))
        return SimpleNamespace(rates=[RATES[start] * (1 + 0.1 * turn)] * 20)

    monkeypatch.setattr(rivals.launch, "settled", settled)
    monkeypatch.setattr(rivals.launch, "kernel", lambda _clock: ("ours", "empty kernel"))
    monkeypatch.setattr(rivals.launch, "eager", lambda: "theirs")
    return taken


def test_launches_are_taken_in_turns_and_the_operator_stands_beside_dispatch(rivals, asked):
    rows = list(rivals.torch_launches("clock"))
    assert [start for start, _ in asked] == ["ours", "theirs"] * rivals.TURNS * 3
    assert [name for name, *_ in rows] == [
        "launch back to back", "dispatch", "launch launch and wait", "launch from a graph"
    ]  # fmt: skip
    # Two turns, of which the second is a tenth quicker: the middle of both lies between.
    for name, _, theirs, mine in rows:
        assert theirs == pytest.approx(168e3)
        assert mine == (None if name == "dispatch" else pytest.approx(210e3))
    assert ["with its dispatch" in rival for _, rival, *_ in rows] == [True, False, True, False]
    assert "without dispatch" in rows[-1][1]


def test_a_row_shows_ours_of_the_same_turns(rivals, asked):
    """210 over 168; the 300 that was measured before stands beside nothing."""
    before = Ceiling(
        resource=LAUNCH, rate=300e3, variant=Variant(way="back to back"),
        provenance=Provenance(basis=Basis.MEASURED, source="x", as_of=date(2026, 11, 30)),
    )  # fmt: skip
    text = rivals.line({"launch back to back": before}, next(rivals.torch_launches("clock")))
    assert " ".join(text.split()) == (
        "launch back to back 210 klaunch/s 168 klaunch/s 1.250 "
        "torch add_ of one element, an operator with its dispatch"
    )
