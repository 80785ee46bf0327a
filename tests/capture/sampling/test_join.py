"""Samples shared out among what ran: by hand, sample by sample."""

import numpy as np
import pytest

from roofline.capture.sampling.join import Samples, share, totals

MB = 1_000_000


def samples(*amounts, start=0, length=1000, slack=100, metrics=("dram__bytes_read.sum",)):
    """Samples of 1 us one after the other; each amount in B."""
    values = np.array(amounts, float).reshape(len(amounts), -1)
    starts = start + length * np.arange(len(amounts))
    return Samples(
        metrics=metrics, starts=starts, ends=starts + length, values=values, slack_ns=slack
    )


def shared(things, given):
    starts, ends = (np.array(column) for column in zip(*things, strict=True))
    return share(starts, ends, given)


def test_samples_of_one_thing_alone_are_its_own():
    # From 1.5 to 3.5 us: half of sample 1, all of 2, half of 3, and nobody else is near.
    found = shared([(1500, 3500)], samples(0, 1 * MB, 4 * MB, 2 * MB, 0))
    assert found.amount.item() == found.low.item() == found.high.item() == 7 * MB
    assert found.own.all()


def test_a_sample_of_two_is_shared_by_time_within_bounds():
    # Sample 2 holds 250 ns of the first and 750 ns of the second.
    found = shared([(0, 2250), (2250, 5000)], samples(4 * MB, 4 * MB, 4 * MB, 4 * MB, 4 * MB))
    assert found.amount.ravel().tolist() == [9 * MB, 11 * MB]
    assert found.low.ravel().tolist() == [8 * MB, 8 * MB]
    assert found.high.ravel().tolist() == [12 * MB, 12 * MB]
    # 4 of 9 MB are in doubt, and 4 of 11: neither is told as its own.
    assert not found.own.any()


def test_what_is_long_is_its_own_although_its_edges_are_shared():
    # 40 samples of 4 MB: 20.5 and 19.5 us.  4 of 82 and of 78 MB in doubt, 5 %.
    found = shared([(100, 20_500), (20_500, 39_900)], samples(*[4 * MB] * 40))
    assert found.amount.ravel().tolist() == [82 * MB, 78 * MB]
    assert (found.high - found.low).ravel().tolist() == [4 * MB, 4 * MB]
    assert found.own.all()


def test_clocks_that_may_be_apart_widen_the_bounds():
    # The second begins 50 ns into sample 2; the first ended with sample 1: the clocks may be 100 ns
    # apart, so sample 2 may be the first's, and sample 1 the second's.
    found = shared([(0, 2000), (2050, 4000)], samples(4 * MB, 4 * MB, 4 * MB, 4 * MB))
    assert found.amount.ravel().tolist() == [8 * MB, 8 * MB]
    assert found.low.ravel().tolist() == [4 * MB, 4 * MB]
    assert found.high.ravel().tolist() == [12 * MB, 12 * MB]


def test_bytes_still_under_way_at_the_end_are_its_own():
    # It ends at 1.95 us, and sample 2 holds what was written after.
    found = shared([(200, 1950)], samples(4 * MB, 4 * MB, 1 * MB, 0))
    assert found.amount.item() == found.low.item() == 9 * MB


def test_two_streams_at_once_have_wide_bounds():
    found = shared([(0, 4000), (0, 4000)], samples(*[4 * MB] * 6, start=-1000))
    assert found.amount.ravel().tolist() == [8 * MB, 8 * MB]  # 16 MB in 4 us, half each
    assert found.low.ravel().tolist() == [0, 0]
    assert not found.own.any()


def test_nothing_outside_the_sampled_time_is_known():
    given = samples(*[4 * MB] * 10)
    found = shared([(-500, 3000), (4100, 4900), (9500, 9950)], given)
    assert found.own.tolist() == [False, True, False]  # the last ends within the clocks' slack
    sums, known = totals(np.array([50, 1500]), np.array([3000, 4250]), given)
    assert known.tolist() == [False, True]
    assert sums[1].item() == pytest.approx(11 * MB)  # 2.75 samples


def test_a_pause_is_one_long_sample_and_totals_pass_over_it():
    # 3 us sampled, a pause of 100 us in which 90 MB crossed, 3 us sampled.
    given = Samples(
        metrics=("dram__bytes_read.sum",),
        starts=np.array([0, 1000, 2000, 3000, 103_000, 104_000, 105_000]),
        ends=np.array([1000, 2000, 3000, 103_000, 104_000, 105_000, 106_000]),
        values=np.array([[4.0 * MB]] * 3 + [[90.0 * MB]] + [[4.0 * MB]] * 3),
        slack_ns=100,
    )
    sums, known = totals(np.array([1000, 1000]), np.array([105_000, 50_000]), given)
    # 2 samples, the pause, 2 samples; what ends within the pause is not known.
    assert (sums[0].item(), known.tolist()) == (8 * MB + 90 * MB + 8 * MB, [True, False])
    found = shared([(10_000, 40_000), (60_000, 61_000)], given)
    assert not found.own.any()


def test_lost_samples_are_a_hole_that_nothing_is_known_across():
    whole = samples(*[4 * MB] * 10)
    kept = np.array([0, 1, 2, 3, 6, 7, 8, 9])  # 4 us to 6 us are missing
    given = Samples(
        metrics=whole.metrics,
        starts=whole.starts[kept],
        ends=whole.ends[kept],
        values=whole.values[kept],
        slack_ns=100,
    )
    found = shared([(1100, 2900), (3200, 6500), (7100, 7900)], given)
    assert found.own.tolist() == [True, False, True]
    _, known = totals(np.array([1000, 3500]), np.array([3500, 6500]), given)
    assert known.tolist() == [True, False]


def test_nothing_was_sampled():
    none = np.zeros(0, np.int64)
    empty = Samples(
        metrics=("dram__bytes_read.sum",),
        starts=none,
        ends=none,
        values=np.zeros((0, 1)),
        slack_ns=100,
    )
    assert not shared([(0, 1000)], empty).own.any()
    assert not totals(np.array([0]), np.array([1000]), empty)[1].any()


def test_counts_of_other_units_do_not_decide():
    # Sectors are a unit of their own: however many they are, bytes say whose a sample is.
    metrics = ("dram__bytes_read.sum", "lts__t_sectors_srcunit_tex.sum")
    rows = [(4 * MB, 10), (4 * MB, 10), (4 * MB, 10**9), (4 * MB, 10)] * 10
    given = samples(*rows, metrics=metrics)
    found = shared([(100, 20_500), (20_500, 39_900)], given)
    assert found.own.all()
