"""Bursts: how many samples are taken between two pauses."""

import pytest

from roofline.bench.gpu import timing
from roofline.bench.gpu.card import Card, State
from roofline.bench.gpu.timing import Effort, Load, Timer

CARD = Card(index=0, name="Toy", units=4, l2=1, memory=1, capability=None, uuid="")


class Driver:
    def state(self):
        return State()


@pytest.fixture
def taken(monkeypatch):
    """Run `take` on a load of a known duration; what was queued and how long the card slept."""
    queued, slept = [], []
    monkeypatch.setattr(timing.time, "sleep", slept.append)

    def queue(_self, _load, count, passes, warm, host_s, probe=True):
        assert host_s == 1e-5
        queued.append((count, passes, warm))
        return [1e-3 * passes] * count

    monkeypatch.setattr(Timer, "_queue", queue)

    def take(once_s, **how):
        monkeypatch.setattr(Timer, "_once", lambda *_: (once_s, 1e-5))
        timer = Timer(CARD, Driver(), Effort(count=30, sample_s=1e-3, pause_s=0.1, cool_s=0.3))
        found = timer.take(Load(lambda _: None, 2.0), **how)
        assert len(found.rates) == sum(count for count, _, _ in queued)
        return queued, slept

    return take


def test_samples_of_a_millisecond_come_twelve_at_a_time(taken):
    """4 ms of warm-up and 12 of samples: 16 ms of work between two pauses."""
    queued, slept = taken(1e-3)
    assert queued == [(12, 1, 4), (12, 1, 4), (6, 1, 4)]
    assert slept == [0.1] * 3


def test_what_draws_much_power_rests_for_longer(taken):
    assert taken(1e-3, cool=True)[1] == [0.3] * 3


def test_a_candidate_rests_in_proportion_to_the_work_before_it(monkeypatch):
    """8 ms of work are half a burst: half of the pause before one, and 20 ms at least."""
    slept = []
    monkeypatch.setattr(timing.time, "sleep", slept.append)
    monkeypatch.setattr(Timer, "_once", lambda *_: (2e-3, 1e-5))

    def queue(self, _load, count, passes, warm, _host_s, probe=True):
        assert (count, passes, warm, probe) == (3, 1, 0, False)
        self._worked_s += 8e-3
        return [4e-3, 2e-3, 2e-3]  # the first warms up

    monkeypatch.setattr(Timer, "_queue", queue)
    timer = Timer(CARD, Driver(), Effort(count=30, sample_s=1e-3, pause_s=0.05, cool_s=0.3))
    rates = [timer.quick_rate(Load(lambda _: None, 1.0), cool=cool) for cool in (True, True, False)]
    assert rates == [500.0] * 3
    assert slept == pytest.approx([0.02, 0.15, 0.02])


def test_long_runs_come_one_at_a_time(taken):
    """A run of 17 ms is a sample; two of them would be past what a burst is."""
    queued, slept = taken(17e-3, count=4)
    assert queued == [(1, 1, 1)] * 4
    assert len(slept) == 4


class Event:
    """One that was always a millisecond before the next."""

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        pass

    def elapsed_time(self, _later):
        return 1.0  # ms


def test_the_device_waits_for_a_slow_host(monkeypatch):
    """A run that takes the host 1 ms: 4 to warm up and 12 samples are queued in 16 ms, held for 24.

    A quick host needs 2 ms at least, and one that waits for its own copies is given 50 at most.
    """
    torch = pytest.importorskip("torch")
    held, now = [], [0.0]
    monkeypatch.setattr(timing.time, "sleep", lambda _s: None)
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: held.append(cycles / 2e9))

    def taken(host_s):
        held.clear()

        def run(_turn):
            now[0] += host_s

        effort = Effort(count=12, sample_s=1e-3, pause_s=0.0)
        assert Timer(CARD, Driver(), effort).take(Load(run, 5.0)).rates == (5.0 / 1e-3,) * 12
        return held[-1]

    assert taken(1e-3) == pytest.approx(24e-3)
    assert taken(1e-6) == pytest.approx(2e-3)
    assert taken(0.1) == pytest.approx(50e-3)
