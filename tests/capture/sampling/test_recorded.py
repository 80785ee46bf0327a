"""Real samples of an H200, in the ticks of its profiler's clock, joined to the kernels of that run.

Three rounds of 18 things one after the other, then ten single kernels with waiting between.  The
last ten of each are ``torch.add(x, 1.0, out=y)`` of fp32, of 2^18 to 2^27 elements.
"""

from pathlib import Path

import numpy as np
import pytest

from roofline.capture.device.clock import Clock
from roofline.capture.sampling.join import Samples, share, totals

DATA = Path(__file__).parents[2] / "data" / "counters" / "h200-samples.npz"
SIZES = 4 * 2 ** np.arange(18, 28)  # B that each reads
ROUND = 18


@pytest.fixture(scope="module")
def recorded():
    """Samples and the starts and ends of kernels, ns since the first kernel began."""
    data = np.load(DATA)
    clock = Clock()
    # Ticks and time since 1970 at the start and at the end of sampling.
    clock._readings = [(int(ticks), int(wall - data["origin"])) for ticks, wall in data["readings"]]
    edges = clock.hosts(data["first"] + np.append(0, np.cumsum(data["ends"])))
    samples = Samples(
        metrics=("dram__bytes_read.sum", "dram__bytes_write.sum"),
        starts=edges[1:-1],
        ends=edges[2:],
        values=data["bytes"][1:].astype(float),  # the first reaches back to before
        slack_ns=500,
    )
    starts, durations = data["kernels"].T
    return samples, starts, starts + durations


def test_single_kernels_read_what_they_must(recorded):
    samples, starts, ends = recorded
    found = share(starts, ends, samples)
    assert found.own[-10:].all()
    assert found.amount[-10:, 0] == pytest.approx(SIZES, rel=0.001)
    assert (ends - starts)[-10] < 2_100  # ns: about two samples


@pytest.mark.parametrize("number", [0, 1, 2])
def test_so_do_kernels_a_microsecond_apart(recorded, number):
    samples, starts, ends = recorded
    last = ROUND * (number + 1)
    assert (starts[last - 9 : last] - ends[last - 10 : last - 1]).max() < 2_500
    found = share(starts, ends, samples)
    assert found.own[last - 10 : last].all()
    assert found.amount[last - 10 : last, 0] == pytest.approx(SIZES, rel=0.006)
    assert (found.low <= found.amount + 1).all()
    assert (found.amount <= found.high + 1).all()


def test_a_round_is_the_sum_of_what_it_ran(recorded):
    samples, starts, ends = recorded
    found = share(starts, ends, samples)
    firsts = np.arange(0, 3 * ROUND, ROUND)
    sums, known = totals(starts[firsts], ends[firsts + ROUND - 1], samples)
    assert known.all()
    kernels = found.amount[: 3 * ROUND].reshape(3, ROUND, 2).sum(axis=1)
    assert kernels == pytest.approx(sums, rel=0.002)
