"""What a kernel takes before its bytes, and paces, from times that are given."""

from dataclasses import replace
from itertools import cycle
from types import SimpleNamespace

import pytest

from roofline.bench.gpu import pace
from roofline.bench.gpu.ways.way import Way
from roofline.bench.record import Absent
from roofline.device import ELEMENTS, FOLLOWING, LAUNCH, SMALL_STREAM

torch = pytest.importorskip("torch")


class Recorder:
    """Keeps what it is told."""

    timer = SimpleNamespace(driver=SimpleNamespace(state=lambda: "state"))

    def of(self, resource, taken, method, about, variant):
        middle = sorted(taken.rates)[len(taken.rates) // 2]
        return SimpleNamespace(resource=resource, rate=middle, variant=variant, about=about)


def test_the_start_is_what_no_byte_explains(monkeypatch):
    """8 MiB take 9 us and 16 MiB 13: 4 us for each 8, and 5 us for none.  In two kernels 16 MiB take
    15.5: 2.5 us for the second."""
    times = cycle([[9e-6] * 30, [13e-6] * 30, [15.5e-6] * 30])
    monkeypatch.setattr(pace, "queued", lambda *_: next(times))
    arrays = SimpleNamespace(data=torch.zeros(1))
    monkeypatch.setitem(
        __import__("sys").modules, "roofline.bench.gpu.kernels.streams", SimpleNamespace()
    )
    first, following = pace.start(Recorder(), arrays)

    assert (first.resource, first.variant.way) == (LAUNCH, SMALL_STREAM)
    assert first.rate == pytest.approx(1 / 5e-6)
    assert (following.resource, following.variant.way) == (LAUNCH, FOLLOWING)
    assert following.rate == pytest.approx(1 / 2.5e-6)


def way(run=lambda x: x):
    return Way("casts", "one", (lambda: torch.zeros(1),), run, 1_000_000)


def test_a_pace_is_of_the_time_after_the_start(monkeypatch):
    """A million elements in 15 us, 5 of which any kernel takes: 100 G/s."""
    monkeypatch.setattr(pace, "queued", lambda *_: [15e-6] * 30)
    found = pace._pace(Recorder(), way(), 5e-6)

    assert (found.resource, found.variant.way) == (ELEMENTS, "casts")
    assert found.rate == pytest.approx(1e11)


def test_no_pace_where_the_start_is_all_there_is(monkeypatch):
    monkeypatch.setattr(pace, "queued", lambda *_: [5.5e-6] * 30)
    assert isinstance(pace._pace(Recorder(), way(), 5e-6), Absent)


def test_a_call_that_this_pytorch_refuses_is_named(monkeypatch):
    def refuse(_):
        raise RuntimeError("no kernel for this type\nmore")

    monkeypatch.setattr(pace, "queued", lambda run, *_: run(0))
    found = pace._pace(Recorder(), way(refuse), 5e-6)

    assert isinstance(found, Absent)
    assert "no kernel for this type" in str(found)
    assert "more" not in str(found)


def test_quick_measures_the_start_alone(monkeypatch):
    starts = SimpleNamespace(rate=1 / 5e-6), SimpleNamespace(rate=1 / 2e-6)
    monkeypatch.setattr(pace, "start", lambda *_: starts)
    monkeypatch.setattr(pace, "ways", lambda: [way(), replace(way(), kernels=3)])
    monkeypatch.setattr(pace, "_pace", lambda _, way, start_s: start_s)

    assert [*pace.paces(Recorder(), None, True)] == [*starts]
    # what two more kernels take to start is no part of the second one's pace
    assert [*pace.paces(Recorder(), None, False)][2:] == pytest.approx([5e-6, 9e-6])
