"""The sampler of a recording: windows and pauses, what is kept, and what is said when it cannot."""

import threading
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from roofline.capture.sampling import sampler as module  # noqa: E402
from roofline.capture.sampling.sampler import Sampler  # noqa: E402
from roofline.capture.sampling.session import Image  # noqa: E402
from roofline.errors import Missing  # noqa: E402
from tests.capture.sampling.toy_cupti import EXTRA, ToyCupti  # noqa: E402


@pytest.fixture
def on_gpu(monkeypatch):
    """A device as far as the sampler looks."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda card: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)


def started(cupti):
    sampler = Sampler(interval_us=cupti.interval_ns / 1000, library=lambda: cupti)
    sampler.start()
    return sampler


def test_samples_are_those_of_the_device_on_the_recorders_clock(on_gpu):
    before = time.perf_counter_ns()
    sampler = started(ToyCupti())
    time.sleep(0.1)
    sampler.stop()
    samples = sampler.samples
    assert sampler.failure == ""
    assert before < samples.starts[0] < samples.ends[-1] < time.perf_counter_ns()
    # Windows and the pauses between them leave nothing out: 1000 B and 10 B each microsecond.
    assert (samples.starts[1:] - samples.ends[:-1]).max() <= 1  # ns, of rounding
    us = (samples.ends[-1] - samples.starts[0]) / 1000
    assert samples.values.sum(axis=0) == pytest.approx([1000 * us, 10 * us], rel=1e-3)
    assert us > 50_000


def test_what_the_device_moved_before_is_dropped(on_gpu):
    sampler = started(ToyCupti())
    time.sleep(0.02)
    sampler.stop()
    assert sampler.samples.values.max() < EXTRA


def test_the_device_is_given_back(on_gpu):
    cupti = ToyCupti()
    started(cupti).stop()
    assert cupti.calls[-2:] == ["cuptiPmSamplingDisable", "cuptiProfilerHostDeinitialize"]


@pytest.mark.parametrize(("card", "sampled"), [(None, 0), (1, 1)])
def test_the_card_that_is_used_is_sampled(on_gpu, card, sampled):
    """Not the current one, where the program names another."""
    cupti = ToyCupti()
    sampler = Sampler(library=lambda: cupti)
    sampler.start(card)
    sampler.stop()
    assert (sampler.device, set(cupti.cards)) == (sampled, {sampled})


class Waits(threading.Event):
    """Wakes at once, seven times, and then when it is told to; keeps how long it should have."""

    def __init__(self):
        super().__init__()
        self.seconds, self.all = [], threading.Event()

    def wait(self, timeout=None):
        if len(self.seconds) < 7:
            self.seconds.append(timeout)
            return False
        self.all.set()
        return super().wait()


def test_windows_grow_until_the_buffer_is_full(on_gpu, monkeypatch):
    """Room for 500 samples of 20 us, a window of 10 ms: the first takes 1 ms, then 2, 4, 8, 10."""
    monkeypatch.setattr(module, "BUFFER_BYTES", 500 * module.RAW_BYTES)
    monkeypatch.setattr(module, "SHORT_S", 0.001)
    cupti, waits = ToyCupti(), Waits()
    sampler = Sampler(interval_us=20, library=lambda: cupti)
    sampler._wake = waits
    sampler.start()
    waits.all.wait()
    sampler.stop()
    assert waits.seconds == pytest.approx([0.001, 0.002, 0.004, 0.008, 0.01, 0.01, 0.01])


def test_the_oldest_windows_go(monkeypatch):
    """Beside the last window at most one full one of 500 samples is kept, short ones as they fit."""
    monkeypatch.setattr(module, "BUFFER_BYTES", 500 * module.RAW_BYTES)
    sampler = Sampler(interval_us=20)
    kept = []
    for samples in (50, 100, 200, 400, 500, 500):
        sampler._keep(Image(data=np.empty(0, np.uint8), samples=samples, lost=False))
        kept.append([image.samples for image in sampler._images])
    assert kept[2] == [50, 100, 200]
    assert kept[3] == [200, 400]
    assert kept[-1] == [500, 500]


def test_afresh_forgets_and_samples_when_it_returns(on_gpu):
    sampler = started(ToyCupti())
    time.sleep(0.03)
    sampler.afresh()
    since = time.perf_counter_ns()
    time.sleep(0.03)
    sampler.stop()
    samples = sampler.samples
    fine = samples.ends - samples.starts < 40_000
    assert samples.starts[fine][0] <= since
    assert samples.starts[0] > since - 30_000_000
    assert fine.all()  # no pause since


@pytest.mark.parametrize("code", [35, 40])
def test_no_permission_is_one_sentence_with_the_way_out(on_gpu, code):
    cupti = ToyCupti()
    cupti.fails["cuptiPmSamplingEnable"] = code
    sampler = started(cupti)
    sampler.afresh()
    sampler.stop()
    (gap,) = sampler.gaps()
    assert sampler.samples is None
    assert "NVreg_RestrictProfilingToAdminUsers=0" in gap.what
    assert "CAP_SYS_ADMIN" in gap.what


def test_another_refusal_is_named_with_the_other_tool(on_gpu):
    cupti = ToyCupti()
    cupti.fails["cuptiPmSamplingSetConfig"] = 27
    sampler = started(cupti)
    sampler.stop()
    (gap,) = sampler.gaps()
    assert "cuptiPmSamplingSetConfig answered CUPTI_ERROR_OF_A_TEST (27)" in gap.what
    assert "roofline ncu" in gap.what
    assert "cuptiPmSamplingDisable" in cupti.calls  # what was taken is given back


def test_a_missing_library_is_said(on_gpu):
    def absent():
        raise Missing("there is no CUPTI here")

    sampler = Sampler(library=absent)
    sampler.start()
    (gap,) = sampler.gaps()
    assert gap.what.startswith("the GPU's counters could not be sampled: there is no CUPTI here")


def test_what_was_sampled_before_a_refusal_is_kept_and_the_rest_is_said(on_gpu):
    cupti = ToyCupti()
    sampler = started(cupti)
    time.sleep(0.03)
    cupti.fails["cuptiPmSamplingDecodeData"] = 8  # an overflow, as CUPTI tells it
    time.sleep(0.1)
    sampler.stop()
    (gap,) = sampler.gaps()
    assert "cuptiPmSamplingDecodeData" in gap.what
    assert len(sampler.samples.starts) > 100


def test_lost_samples_are_said(on_gpu):
    cupti = ToyCupti()
    cupti.room = 20  # of every image
    sampler = started(cupti)
    time.sleep(0.1)
    sampler.stop()
    (gap,) = sampler.gaps()
    assert gap.what == "some samples were lost: more came than there was room for"


def test_a_program_that_uses_no_gpu_is_told_so(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    sampler = Sampler(library=ToyCupti)
    sampler.start()
    sampler.stop()
    assert [gap.what for gap in sampler.gaps()] == [
        "counters were asked for, and nothing ran on an NVIDIA GPU"
    ]


def test_a_full_image_is_marked():
    from roofline.capture.sampling.session import Session

    cupti = ToyCupti()
    session = Session(cupti, 0, ("a", "b"), cupti.interval_ns, 1 << 20)
    session.start()
    time.sleep(0.005)
    session.stop()
    image = session.decode(room=10)
    assert (image.samples, image.lost) == (10, True)
    starts, ends, values = session.read(image)
    assert values.shape == (10, 2)
    assert np.array_equal(starts[1:], ends[:-1])
