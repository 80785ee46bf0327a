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


def test_few_samples_have_no_shape():
    assert verdict([1.0] * 9).shape == "too few"
    assert verdict([1.0] * 10).stable
