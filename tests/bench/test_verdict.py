"""Samples whose shape is known get the verdict that fits them."""

import random

import pytest

from roofline.bench import verdict as judging


def verdict(samples):
    return judging.verdict(samples, "B/s")


def noisy(level, count=30, width=0.005, seed=7):
    draw = random.Random(seed)
    return [level * (1 + draw.uniform(-width, width)) for _ in range(count)]


def test_noise_around_one_level_is_stable():
    assert verdict(noisy(100.0)).stable
    assert verdict(noisy(100.0, width=0.1)).stable  # wide, but one cluster without a trend


@pytest.mark.parametrize("outlier", [1.0, 50.0, 500.0])
@pytest.mark.parametrize("where", [0, 15, 29])
def test_one_outlier_is_stable(outlier, where):
    samples = noisy(100.0)
    samples[where] = outlier
    assert verdict(samples).stable


def test_two_levels_in_turns_are_bimodal():
    """20 of 30 near 100 and 10 near 110, shuffled: 10 % apart."""
    samples = [100.0] * 20 + [110.0] * 10
    random.Random(3).shuffle(samples)
    found = verdict(samples)
    assert found.shape == "bimodal"
    assert found.why == "bimodal: 67 % of samples near 100 B/s, 33 % near 110 B/s"  # 20/30


def test_two_levels_closer_than_three_percent_are_not():
    samples = noisy(100.0, 15, 0.001) + noisy(102.0, 15, 0.001)
    random.Random(3).shuffle(samples)
    assert verdict(samples).stable


@pytest.mark.parametrize(("end", "sign"), [(90.0, "-"), (110.0, "+")])
def test_a_slide_is_drifting(end, sign):
    """From 100 to 90 in 30 steps: the middles of the outer thirds are 6.9 apart."""
    samples = [100 + (end - 100) * i / 29 for i in range(30)]
    found = verdict(samples)
    assert found.shape == "drifting"
    assert f"drifting: {sign}" in found.why


def test_a_step_down_halfway_is_drifting_not_bimodal():
    assert verdict(noisy(100.0, 15) + noisy(90.0, 15)).shape == "drifting"


def test_a_slide_of_two_percent_is_stable():
    assert verdict([100 - 2 * i / 29 for i in range(30)]).stable


def test_samples_that_do_not_tell_their_median_are_wide():
    """10 to 29: with 20 samples the interval is from the 6th to the 15th; 24 is 23 % over 19.5."""
    samples = [10.0 + i for i in range(20)]
    random.Random(5).shuffle(samples)
    found = verdict(samples)
    assert (found.shape, found.stable) == ("wide", False)
    assert found.why == "wide: 95 % of the median between 15.0 B/s and 24.0 B/s"
    assert judging.unstable(samples, "B/s") == found.why


def test_six_samples_are_enough_to_be_wide_and_five_are_not():
    """The interval of six is all of them: 80 to 120 about 100."""
    assert verdict([100.0, 80.0, 90.0, 120.0, 100.0, 110.0]).shape == "wide"
    assert verdict([100.0, 80.0, 90.0, 120.0, 100.0]).shape == "too few"
    assert verdict([100.0, 96.0, 98.0, 104.0, 100.0, 102.0]).shape == "too few"


def test_few_samples_have_no_shape():
    assert verdict([1.0] * 9).shape == "too few"
    assert verdict([1.0] * 10).stable
