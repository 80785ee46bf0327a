"""What a kernel takes before its bytes, and paces, from times that are given."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from roofline.bench.gpu import pace
from roofline.bench.gpu.ways.way import Way
from roofline.bench.record import Absent
from roofline.device import ELEMENTS, FOLLOWING, LAUNCH, SMALL_STREAM, Variant

torch = pytest.importorskip("torch")


class Recorder:
    """Keeps what it is told."""

    timer = SimpleNamespace(driver=SimpleNamespace(state=lambda: "state"))

    def of(self, resource, taken, method, about, variant, *, circumstances, dropped):
        middle = sorted(taken.rates)[len(taken.rates) // 2]
        return SimpleNamespace(
            resource=resource, rate=middle, variant=variant, about=about, rates=taken.rates,
            dropped=dropped, circumstances=circumstances,
        )  # fmt: skip


@pytest.fixture
def start(monkeypatch):
    """The start where medians of one copy, of a double one and of two take so long [us]."""

    def started(times):
        medians = iter([[us * 1e-6] * 30 for sample in times for us in sample])
        monkeypatch.setattr(pace, "queued", lambda *_: next(medians))
        monkeypatch.setitem(
            __import__("sys").modules, "roofline.bench.gpu.kernels.streams", SimpleNamespace()
        )
        return pace.start(Recorder(), SimpleNamespace(data=torch.zeros(1)))

    return started


def test_the_start_is_what_no_byte_explains(start):
    """8 MiB take 9 us and 16 MiB 13: 4 us for each 8, and 5 us for none.  In two kernels 16 MiB take
    15.5: 2.5 us for the second."""
    first, following = start([(9, 13, 15.5)] * pace.STARTS)

    assert (first.resource, first.variant.way) == (LAUNCH, SMALL_STREAM)
    assert first.rate == pytest.approx(1 / 5e-6)
    assert (following.resource, following.variant.way) == (LAUNCH, FOLLOWING)
    assert following.rate == pytest.approx(1 / 2.5e-6)


def test_a_start_that_noise_swallows_is_absent_and_no_million_a_second(start):
    """Two of 8 MiB less one of 16: 2 * 6 - 13 = -1 us; of the other 13.4 - 13 = 0.4 us."""
    first, following = start([(6, 13, 13.4)] * pace.STARTS)
    assert (first.resource, first.variant.way) == (LAUNCH, SMALL_STREAM)
    assert first.why == (
        "no time is left beside the noise: 20 of 20 differences are under 1 us, "
        "the middle one is -1.00 us"
    )
    assert following.variant.way == FOLLOWING
    assert following.why.endswith("the middle one is 0.40 us")


def test_few_samples_without_a_time_are_left_out_and_counted(start):
    """One in ten is; one more and there is no rate, though the middle one is 5 us."""
    first, _ = start([(9, 13, 15.5)] * 18 + [(6, 13, 15.5)] * 2)
    assert first.rates == pytest.approx([1 / 5e-6] * 18)
    assert first.dropped == 2
    assert first.circumstances == ("2 of 20 samples under 1 us left out",)
    first, following = start([(9, 13, 15.5)] * 17 + [(6, 13, 15.5)] * 3)
    assert isinstance(first, Absent)
    assert "3 of 20 differences are under 1 us, the middle one is 5.00 us" in first.why
    assert following.dropped == 0


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
    found = pace._pace(Recorder(), way(), 5e-6)
    assert isinstance(found, Absent)
    assert found.why.endswith("30 of 30 differences are under 1 us, the middle one is 0.50 us")


def test_a_sample_shorter_than_the_start_makes_no_pace(monkeypatch):
    """It would be a million elements in 1 us, a sample that was never taken."""
    monkeypatch.setattr(pace, "queued", lambda *_: [15e-6] * 29 + [4e-6])
    found = pace._pace(Recorder(), way(), 5e-6)
    assert found.rates == pytest.approx([1e11] * 29)
    assert found.dropped == 1


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


def test_no_pace_without_what_its_kernels_take_to_start(monkeypatch):
    known, none = SimpleNamespace(rate=1 / 5e-6), Absent(LAUNCH, Variant(way="x"), "noise")
    monkeypatch.setattr(pace, "ways", lambda: [way(), replace(way(), kernels=3)])
    monkeypatch.setattr(pace, "_pace", lambda _, way, start_s: start_s)

    def found(*starts):
        monkeypatch.setattr(pace, "start", lambda *_: starts)
        return [*pace.paces(Recorder(), None, False)][2:]

    alone, several = found(known, none)
    assert alone == pytest.approx(5e-6)
    assert several.why == "what a kernel that follows takes is not known"
    [nothing] = found(none, known)
    assert (nothing.resource, nothing.why) == (
        ELEMENTS, "what a kernel takes to start is not known"
    )  # fmt: skip
