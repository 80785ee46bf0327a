"""Rates of several threads that one thread alone exceeds are not believed."""

from dataclasses import replace

from roofline.bench.cpu.ceilings import _plausible
from roofline.bench.record import Absent
from roofline.device import DRAM, TENSOR_BF16, VECTOR_FP32, Ceiling, Reach, Variant
from roofline.provenance import spread
from tests.runs import MEASURED


def made(resource, rate, threads, **variant):
    return Ceiling(
        resource=resource,
        rate=rate,
        provenance=MEASURED,
        variant=Variant(threads=threads, **variant),
    )


def test_two_threads_slower_than_one_are_absent_with_the_reason():
    one, two = (
        made(VECTOR_FP32, rate, n, reach=Reach.LIBRARY) for n, rate in ((1, 223e9), (2, 131e9))
    )
    kept, dropped = _plausible([one, two])

    assert kept == one
    assert isinstance(dropped, Absent)
    assert "slower than one thread alone" in str(dropped)


def test_about_equal_faster_or_different_ones_stay():
    """Memory often gives two threads what it gives one."""
    found = [
        made(DRAM, 50e9, 1, access="read"),
        made(DRAM, 47e9, 2, access="read"),
        made(DRAM, 30e9, 2, access="copy"),  # nothing of one thread to compare with
        made(VECTOR_FP32, 100e9, 1, reach=Reach.REGISTER),
        made(VECTOR_FP32, 60e9, 2, reach=Reach.LIBRARY),
    ]
    assert _plausible(found) == found


def test_more_cores_of_their_own_that_add_nothing_are_in_doubt():
    """352 with both threads, 355 with one: twice that was to be expected."""
    one, two = (
        made(TENSOR_BF16, rate, n, reach=Reach.LIBRARY) for n, rate in ((1, 355e9), (2, 352e9))
    )
    drifted = replace(
        two, provenance=replace(MEASURED, spread=spread([352e9] * 12, unstable="drifting: +4%"))
    )
    told = "not above one thread alone, 355 Gflop/s: disturbed"
    for given, said in ((sampled(two), told), (drifted, f"drifting: +4%; {told}")):
        kept, marked = _plausible([one, given])
        assert kept == one
        assert marked.rate == 352e9
        assert marked.provenance.spread.unstable == said


def sampled(ceiling):
    return replace(ceiling, provenance=replace(MEASURED, spread=spread([ceiling.rate] * 12)))
