"""What a step holds: launches before the first operator, and what is left outside every step."""

import pytest

from roofline.importers import load
from roofline.program import read
from tests.importers.kineto.traces import Trace, matmul


def gap(run, name: str):
    return next((gap for gap in run.gaps if gap.name == name), None)


@pytest.mark.parametrize("by", ["cudaGraphLaunch", "hipGraphLaunch", "cuGraphLaunch"])
def test_a_graph_launched_before_the_first_operator(tmp_path, by):
    """30 kernels of 2 us, launched at 10 us; the first operator begins at 400, its kernel is 40 us.

    Busy 100 us, of which 40 are accounted for.
    """
    trace = Trace()
    trace.add("cuda_runtime", by, 10, 5, args={"correlation": 900})
    for at in range(30):
        trace.kernel("void layer(float*)", 20 + 3 * at, 2, correlation=900)
    matmul(trace, 400, kernel_us=40.0)
    run = load([trace.write(tmp_path / "early.json")])
    program = read(run)

    assert {item.name: item.calls for item in program.by()} == {"layer": 30, "aten::mm": 1}
    assert program.whole.busy_s == pytest.approx(100e-6)
    assert program.whole.coverage == pytest.approx(0.4)
    assert gap(run, "graph launches").count == 30
    assert gap(run, "outside every step") is None
    assert run.steps[0].duration_ns == 440_001  # from the launch at 10 us to the end at 450


def test_a_kernel_whose_launch_is_the_first_event(tmp_path):
    """It belongs to the one step, and its 60 us are not accounted for."""
    trace = Trace()
    trace.kernel("first", 20, 60, launch=0)
    matmul(trace, 400, kernel_us=40.0)
    program = read(load([trace.write(tmp_path / "first.json")]))

    assert {item.name: item.calls for item in program.by()} == {"first": 1, "aten::mm": 1}
    assert program.whole.busy_s == pytest.approx(100e-6)
    assert program.whole.coverage == pytest.approx(0.4)


def test_a_step_of_nothing_but_a_graph_launch_is_a_step(tmp_path):
    """Two annotated steps: an operator, 40 us, and a graph's kernel, 10 us."""
    trace = Trace()
    trace.add("user_annotation", "ProfilerStep#1", 0, 100)
    matmul(trace, 0, kernel_us=40.0)
    trace.add("user_annotation", "ProfilerStep#2", 100, 100)
    trace.kernel("layer", 120, 10, launch=110, by="cudaGraphLaunch")
    run = load([trace.write(tmp_path / "steps.json")])

    assert len(run.steps) == 2
    assert read(run).whole.coverage == pytest.approx(0.8)


def test_what_is_started_outside_the_marked_steps_is_a_gap(tmp_path):
    """60 us before the only step, 40 us in it: a named gap, and 40 % are covered."""
    trace = Trace()
    matmul(trace, 0, kernel_us=60.0)
    trace.add("user_annotation", "ProfilerStep#1", 100, 100)
    matmul(trace, 110, kernel_us=40.0)
    run = load([trace.write(tmp_path / "outside.json")])
    left = gap(run, "outside every step")

    assert (left.count, left.seconds) == (1, pytest.approx(60e-6))
    assert left.what == (
        "outside the steps that the trace marks began 1 of 2 device activities, which belong to none"
    )
    assert read(run).whole.coverage == pytest.approx(0.4)


def test_operators_outside_the_marked_steps_are_a_gap_too(tmp_path):
    """Without a device: 15 us of an operator after the step, 5 in it."""
    trace = Trace(deviceProperties=[])
    trace.add("user_annotation", "ProfilerStep#1", 0, 50)
    trace.op("aten::relu", 0, 5, ((4, 4), "fp32"))
    trace.op("aten::relu", 60, 15, ((4, 4), "fp32"))
    run = load([trace.write(tmp_path / "host.json")])

    assert gap(run, "outside every step").seconds == pytest.approx(15e-6)
    assert read(run).whole.coverage == pytest.approx(0.25)
