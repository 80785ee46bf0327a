"""What is left after seconds under load, on a card and a clock that are made up."""

import pytest

torch = pytest.importorskip("torch")

from roofline.bench.gpu import sustained  # noqa: E402
from roofline.bench.gpu.card import Card, State  # noqa: E402
from roofline.bench.gpu.record import Recorder  # noqa: E402
from roofline.bench.gpu.timing import Effort, Load, Timer  # noqa: E402
from roofline.device import TENSOR_BF16  # noqa: E402

CARD = Card(index=0, name="Toy", units=4, l2=1, memory=1, capability=90, uuid="")
RUN_S = 0.01


class World:
    """A clock that only work and rest move; a card that slows down after two seconds of work."""

    def __init__(self):
        self.now, self.worked = 0.0, 0.0

    def run(self, _turn):
        spent = RUN_S if self.worked < 2.0 else 2 * RUN_S
        self.now += spent
        self.worked += spent

    def sleep(self, seconds):
        self.now += seconds

    def event(self, enable_timing):
        world = self

        class Event:
            def record(self):
                self.at = world.now

            def synchronize(self):
                pass

            def elapsed_time(self, later):
                return 1e3 * (later.at - self.at)

        return Event()


class Driver:
    def __init__(self, world):
        self.world = world

    def state(self):
        hot = self.world.worked > 2.0
        return State(clock_hz=1.4e9 if hot else 1.98e9, held_back="sw power cap" if hot else "")


class Probe:
    slots = 64

    def __init__(self):
        self.launched, self.kept = 0, {}

    def launch(self, slot):
        self.kept[slot] = self.launched
        self.launched += 1

    def read(self, count):
        """Each probe is a MHz above the one before."""
        return tuple(1e9 + 1e6 * self.kept[slot] for slot in range(count))


@pytest.fixture
def measured(monkeypatch):
    world, probe = World(), Probe()
    monkeypatch.setattr(sustained.time, "sleep", world.sleep)
    monkeypatch.setattr(sustained.time, "monotonic", lambda: world.now)
    monkeypatch.setattr(torch.cuda, "Event", world.event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(Timer, "quick_rate", lambda *_a, **_k: 1e12 / RUN_S)
    timer = Timer(CARD, Driver(world), Effort(count=30, sample_s=1e-3, pause_s=0.0), clock=probe)
    heard = []
    ceiling, trace = sustained.sustained(
        Recorder(timer, ()), TENSOR_BF16, sustained.LIBRARY, Load(world.run, 1e12), "torch.mm",
        ("fp32 accumulate",), heard.append, seconds=5.0,
    )  # fmt: skip
    return ceiling, trace, heard, probe


def test_samples_are_of_the_end(measured):
    """1 Tflop in 10 ms at first and in 20 ms after two seconds: 50 Tflop/s are left."""
    ceiling, _, _, probe = measured
    assert ceiling.rate == pytest.approx(50e12)
    assert ceiling.provenance.spread.n == 30
    assert ceiling.variant.sustained
    assert "the end of 5 s of it, 40 ms a sample; fp32 accumulate" in ceiling.provenance.conditions
    assert probe.launched > 31
    # Of the last 30 probes, one a sample, the middle lies between those 15 and 16 from the end.
    assert ceiling.clock_hz == 1e9 + 1e6 * (probe.launched - 15.5)
    assert f"({1000 + probe.launched - 30} to {1000 + probe.launched - 1})" in (
        ceiling.provenance.conditions
    )


def test_the_trace_begins_at_rest_and_shows_when_the_card_was_held_back(measured):
    _, trace, heard, _ = measured
    assert (trace.at_s[0], trace.clock_hz[0], trace.held_back[0]) == (0.0, 1.98e9, "")
    changed = next(at for at, why in zip(trace.at_s, trace.held_back, strict=True) if why)
    assert 2.0 <= changed <= 2.5  # rows a quarter of a second apart
    assert trace.at_s[-1] > 5.0
    assert heard == sorted(heard)
