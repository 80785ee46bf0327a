"""Samples become counters of kernels and of steps, and a sentence."""

from types import SimpleNamespace

import numpy as np
import pytest

from roofline.capture.device.kernels import Kernel
from roofline.capture.sampling.attach import attach
from roofline.capture.sampling.join import Samples
from roofline.runfile import Step

READ, WRITE = "dram__bytes_read.sum", "dram__bytes_write.sum"


def sampler(us=100, read_b=4e6, written_b=1e6):
    """So many samples of 1 us from moment 0, each with as much."""
    starts = 1000 * np.arange(us)
    samples = Samples(
        metrics=(READ, WRITE),
        starts=starts,
        ends=starts + 1000,
        values=np.tile([read_b, written_b], (us, 1)),
        slack_ns=100,
    )
    return SimpleNamespace(samples=samples, device=0, interval_ns=1000, window_s=1e-4)


def kernel(start_us, us, device=0):
    return Kernel(
        name="k", start=round(1000 * start_us), duration=round(1000 * us), stream=7, launched=None,
        device=device,
    )  # fmt: skip


STEPS = tuple(Step(start_ns=0, duration_ns=1, warmup=at == 0) for at in range(3))


def test_kernels_and_steps_get_what_crossed_while_they_ran():
    kernels = [kernel(2.2, 5.6), kernel(30.2, 5.6), kernel(60.2, 5.6), kernel(70.2, 5.6)]
    found = attach(kernels, [0, 1, 2, 2], STEPS, sampler())
    # 2.2 to 7.8 us touches samples 2 to 7 and nothing else does: six whole samples.
    assert found.kernels == [{READ: 24e6, WRITE: 6e6}] * 4
    # From the first kernel's start to the last's end: 5.6 us, and 15.6 us.
    assert found.steps[1].counters[READ] == pytest.approx(5.6 * 4e6)
    assert found.steps[2].counters == pytest.approx({READ: 15.6 * 4e6, WRITE: 15.6 * 1e6})


def test_the_sentence_counts_what_is_measured():
    kernels = [kernel(2.2, 5.6), kernel(30.2, 5.6), kernel(95.5, 10)]
    found = attach(kernels, [0, 1, 2], STEPS, sampler())
    assert found.how == (
        "CUPTI PM sampling every 1 us while the program ran, caches as it left them: "
        "1 of 2 kernels and 1 of 2 measured steps counted"
    )
    assert found.kernels[2] == {}
    assert found.steps[2].counters == {}


def test_bounds_stand_beside_what_was_shared_out():
    # The two meet in the middle of sample 40.
    kernels = [kernel(1.2, 39.3), kernel(40.5, 38.8)]
    first, second = attach(kernels, [1, 1], STEPS, sampler()).kernels
    # Samples 1 to 39 are the first's, and half of 40 by time; perhaps all of it, perhaps nothing.
    assert (first[READ], first[READ + ":low"], first[READ + ":high"]) == (158e6, 156e6, 160e6)
    assert second[WRITE + ":low"] < second[WRITE] < second[WRITE + ":high"]


def test_steps_whose_kernels_mingle_have_no_total():
    kernels = [kernel(10.2, 5.6), kernel(20.2, 5.6), kernel(30.2, 5.6), kernel(50.2, 5.6)]
    steps = (*STEPS, STEPS[1])
    found = attach(kernels, [1, 2, 1, 3], steps, sampler())
    assert [bool(step.counters) for step in found.steps] == [False, False, False, True]


def test_kernels_that_cannot_be_told_apart_are_named():
    # Ten well apart; then two that share their samples, of twelve in all.
    apart = [kernel(5.2 * at + 0.2, 1.6) for at in range(1, 11)]
    close = [kernel(70.2, 0.4), kernel(70.6, 0.4)]
    (gap,) = attach([*apart, *close], [1] * 12, STEPS, sampler()).gaps
    assert (gap.name, gap.count) == ("counters of kernels", 2)
    # One in eleven is a few.
    assert attach([*apart, *close[:1]], [1] * 11, STEPS, sampler()).gaps == ()


def test_steps_longer_than_a_window_are_named_with_the_way_out():
    step = Step(start_ns=0, duration_ns=2_000_000)  # 2 ms, and 0.1 ms are sampled at once
    found = attach([kernel(2.2, 5.6), kernel(95.2, 9)], [0, 0], (step,), sampler())
    assert found.steps == (step,)
    gap = next(gap for gap in found.gaps if gap.name == "counters of steps")
    assert "longer than the 100 us that are sampled without a pause" in gap.what
    assert "--sample-us" in gap.what
    short = Step(start_ns=0, duration_ns=50_000)
    found = attach([kernel(2.2, 5.6), kernel(95.2, 9)], [0, 0], (short,), sampler())
    assert "counters of steps" not in [gap.name for gap in found.gaps]


def test_another_device_was_not_sampled():
    found = attach([kernel(2.2, 5.6, device=1)], [1], STEPS, sampler())
    assert found.kernels == [{}]
    assert found.steps[1].counters == {}


def test_without_a_sampler_there_is_nothing():
    found = attach([kernel(2, 5)], [1], STEPS, None)
    assert (found.kernels, found.steps, found.how) == ([{}], STEPS, "")
