"""Overhead of a device: starting kernels, waiting for them, and copies over the link."""

import pytest

from roofline.device import DRAM, LAUNCH, PCIE, Ceiling, Device, Variant
from roofline.diagnosis import diagnose
from roofline.program import read
from roofline.runfile import Event, Run, Signature, Step, table
from tests.roofs import STATED
from tests.runs import RECORDER, tensor
from tests.runs import call as operator

BACK_TO_BACK, FROM_GRAPH = 200e3, 2e6  # 5 us and 0.5 us to start a kernel
CARD = Device(
    id="card", name="Card", kind="gpu",
    ceilings=tuple(
        Ceiling(resource=r, rate=rate, provenance=STATED, variant=Variant(way=way))
        for r, rate, way in (
            (DRAM, 1e12, None), (LAUNCH, BACK_TO_BACK, "back to back"),
            (LAUNCH, FROM_GRAPH, "from a graph"), (PCIE, 50e9, "h2d, pinned"),
        )
    ),
)  # fmt: skip
RELU = operator("aten::relu", tensor(1000, 1000), out=tensor(1000, 1000))  # 8 MB: 8 us


class Stream:
    """Operators, what they start, and the driver's calls, on one clock [us]."""

    def __init__(self):
        self.signatures, self.events = [], []

    def add(self, name, kind, at, us, parent=None, **made):
        """Returns the row, for what it causes."""
        signature = Signature(name=name, **made)
        if signature not in self.signatures:
            self.signatures.append(signature)
        self.events.append(
            Event(
                signature=self.signatures.index(signature), kind=kind, step=0,
                start_ns=round(at * 1000), duration_ns=round(us * 1000), parent=parent,
            )
        )  # fmt: skip
        return len(self.events) - 1

    def kernels(self, count, us, every, graph=False):
        """`count` operators with one kernel of `us` each, one `every` us."""
        for at in range(count):
            by = self.add("aten::relu", "op", at * every, 1, call=RELU)
            if graph:
                by = self.add("cudaGraphLaunch", "launch", at * every, 1)
            self.add("relu_kernel", "kernel", at * every, us, by)
        return self

    def findings(self, step_us=None):
        """By code."""
        run = Run(
            recorder=RECORDER, device=CARD, signatures=tuple(self.signatures),
            steps=(Step(start_ns=0, duration_ns=round((step_us or 0) * 1000)),), gaps=(),
            events=table(self.events),
        )  # fmt: skip
        return {f.code: f for f in diagnose(read(run))}


def test_a_device_waits_for_kernels_and_the_gaps_alone_are_overhead():
    """10 kernels of 10 us, one every 30 us: 100 of 300 us busy, 67 % gaps; 10 us > 5 us to start."""
    finding = Stream().kernels(10, 10, 30).findings(300)["RF301"]

    assert "67% of a step goes into starting 10 operators" in finding.claim
    assert finding.saves_s == pytest.approx(200e-6)
    assert finding.then_s == (pytest.approx(100e-6), pytest.approx(300e-6))
    assert "0 of 10 kernels a step are over before the next can be started" in finding.evidence[3]
    # 10 starts at 2 million a second
    assert finding.evidence[4] == "from a captured graph all of them start in 5.00 us"


def test_kernels_that_follow_each_other_are_not_bound_by_overhead():
    assert "RF301" not in Stream().kernels(10, 29, 30).findings(300)


def test_short_kernels_without_a_step_are_launch_bound():
    """A profiler of kernels has no time around them: 10 x 5 us to start, 10 x 2 us to run."""
    finding = Stream().kernels(10, 2, 2).findings()["RF305"]

    assert "starting 10 kernels one by one takes 50.0 us, running them 20.0 us" in finding.claim
    assert finding.saves_s == pytest.approx(30e-6)


def test_longer_kernels_or_a_captured_graph_are_not():
    """10 x 6 us to run; and 2 us each, but started by a graph."""
    assert "RF305" not in Stream().kernels(10, 6, 6).findings()
    assert "RF305" not in Stream().kernels(10, 2, 2, graph=True).findings()
