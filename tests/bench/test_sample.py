"""From samples to a ceiling, or to a sentence why there is none."""

import pytest

from roofline.bench.record import Absent, absences, ceiling
from roofline.bench.sample import Sample, Samples
from roofline.device import L2, L3, Variant
from roofline.provenance import Basis

READ = Variant(access="read", threads=1)


def samples(*pairs: tuple[float, float]) -> Samples:
    return Samples(tuple(Sample(rate, busy) for rate, busy in pairs))


def found(of: Samples):
    return ceiling(L2, READ, of, method="a sweep", conditions=("toy CPU", "gcc"), capacity=4096)


def test_a_sample_is_clean_from_97_percent_on():
    taken = samples((10.0, 1.0), (20.0, 0.97), (30.0, 0.969))
    assert taken.rates == (10.0, 20.0)
    assert taken.clean_share == pytest.approx(2 / 3)


def test_the_level_of_a_stretch_is_the_upper_quartile_of_its_clean_samples():
    # 10 20 30 40: the third quartile sits at index 0.75 * 3 = 2.25, that is 30 + 0.25 * 10.
    taken = samples((40.0, 1.0), (10.0, 1.0), (30.0, 1.0), (20.0, 1.0), (500.0, 0.5))
    assert taken.level == 32.5


def test_nothing_is_known_without_a_clean_sample():
    assert samples().clean_share is None
    assert samples().level is None
    assert samples((5.0, 0.2)).level is None
    assert not samples().trusted


def test_a_ceiling_is_the_median_of_the_clean_samples_and_counts_the_others():
    taken = samples((10.0, 1.0), (30.0, 0.99), (20.0, 0.98), (90.0, 0.4))
    got = found(taken)
    assert (got.resource, got.variant, got.rate, got.capacity) == (L2, READ, 20.0, 4096)
    spread = got.provenance.spread
    assert (spread.n, spread.dropped, spread.best, spread.q1) == (3, 1, 30.0, 15.0)
    assert got.provenance.basis is Basis.MEASURED
    assert got.provenance.source == "a sweep"
    assert got.provenance.conditions.startswith("toy CPU; gcc; 3 of 4 samples undisturbed; 20")
    assert got.provenance.conditions.endswith("Z")


@pytest.mark.parametrize(
    ("clean", "total", "trusted"), [(3, 30, True), (3, 31, False), (2, 10, False), (0, 5, False)]
)
def test_a_tenth_of_the_samples_and_three_must_be_clean(clean, total, trusted):
    taken = samples(*[(7.0, 1.0)] * clean, *[(9.0, 0.5)] * (total - clean))
    got = found(taken)
    assert isinstance(got, Absent) is not trusted
    if not trusted:
        assert (
            str(got) == f"l2 read, 1 thread: {clean} of {total} samples undisturbed, "
            "10% and at least 3 are needed"
        )


def test_samples_that_are_no_one_number_say_so():
    # Half at 50, half at 80, taking turns: the median lies where nothing was measured.
    taken = samples(*[(50.0, 1.0), (80.0, 1.0)] * 10)
    assert found(taken).provenance.spread.unstable.startswith("bimodal: 50 % of samples near 50")
    falling = samples(*[(100.0 - k, 1.0) for k in range(20)])
    assert found(falling).provenance.spread.unstable.startswith("drifting: ")
    assert found(samples(*[(50.0, 1.0)] * 20)).provenance.spread.unstable == ""
    # Three samples have no shape; that is what n is for.
    assert found(samples(*[(50.0, 1.0), (80.0, 1.0), (50.0, 1.0)])).provenance.spread.unstable == ""


def test_a_median_far_under_the_best_of_its_search_says_so():
    """1030 was seen, and 355 is the middle of what followed: 2.9 times."""

    def after(seen, *rates):
        of = samples(*[(rate, 1.0) for rate in rates])
        got = ceiling(L2, READ, of, method="", conditions=(), seen=seen)
        return got.provenance.spread.unstable

    slow = [354.0, 355.0, 356.0] * 4
    assert after(1030.0, *slow) == ("short of its best: 1.03 kB/s was seen, 2.9 times the median")
    assert after(360.0, *slow) == ""
    # The search met the slow state too, and one sample the fast one.
    assert "1.03 kB/s was seen" in after(360.0, *slow, 1030.0)
    # Nothing was searched: a few outliers are no more than that.
    assert after(0.0, *slow, 1030.0) == ""


def test_absences_are_told_by_reason():
    copy = Variant(access="copy", threads=2)
    found = [
        Absent(L2, READ, "no plateau"),
        Absent(L3, copy, "too busy"),
        Absent(L3, READ, "no plateau"),
    ]
    assert absences(found) == [
        "no plateau: l2 read, 1 thread; l3 read, 1 thread",
        "too busy: l3 copy, 2 threads",
    ]
