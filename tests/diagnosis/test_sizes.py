"""Time that does not follow the size."""

import pytest

from roofline.diagnosis import diagnose
from roofline.program import read
from tests.runs import Script, call, tensor


def relus(*sizes_us):
    """One call of each size [elements] and its time, with memory that was never seen before."""
    script = Script()
    for at, (size, us) in enumerate(sizes_us):
        x = tensor(size)
        script.add(call("aten::relu", x, out=x), us, reads=(2 * at,), writes=(2 * at + 1,))
    return {f.code: f for f in diagnose(read(script.end_step().run()))}


def test_sixteen_times_the_work_in_the_same_time():
    """8 kB and 128 kB at 10 GB/s: 0.8 and 12.8 us at the roof; 50 and 55 us were taken."""
    finding = relus((1_000, 50), (16_000, 55))["RF307"]

    assert "RF201" not in relus((1_000, 50), (16_000, 55))  # one cause, one finding
    assert "16 times the work takes 1.1 times as long" in finding.claim
    assert finding.evidence[2].endswith("about 50.0 us of each is there at any size")
    assert finding.then_s == (pytest.approx(13.6e-6), pytest.approx(105e-6))


def test_time_that_follows_and_sizes_that_are_alike_are_not_that():
    assert "RF307" not in relus((1_000, 5), (16_000, 55))  # 11 times the time
    assert "RF307" not in relus((1_000, 50), (6_000, 55))  # 6 times the work
    assert "RF307" not in relus((1_000, 50), (16_000, 55), (40_000_000, 40_000))  # 0.3 % of it
    assert "RF307" not in relus((1_000, 50))
