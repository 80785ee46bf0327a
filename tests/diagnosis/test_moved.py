"""Whether the bottleneck moved: round times of the same program before and after a change."""

from dataclasses import replace

import pytest

from roofline.diagnosis.moved import moved
from roofline.errors import BadInput
from roofline.report.against import against
from tests.runs import Script, call, device, tensor

X = tensor(10_000_000)  # 40 MB: relu moves 80 MB, 8 ms at 10 GB/s
RELU = call("aten::relu", X, out=X)
MM = call("aten::mm", tensor(1000, 1000), tensor(1000, 1000), out=tensor(1000, 1000))


def run(*calls, steps=(1.0,)):
    """Steps of the same calls (call, us), each as long as its share says."""
    script = Script()
    for share in steps:
        for each, us in calls:
            script.add(each, us=us * share)
        script.end_step()
    return script.run()


STEADY = (1.0, 1.01, 0.99, 1.0, 1.01, 0.99, 1.0)


def test_the_limiter_moved():
    """16 ms of relu and 20 ms of mm; relu twice as fast leaves mm, 2 Gflop at 100 Gflop/s."""
    before, now = run((RELU, 32_000), (MM, 21_000)), run((RELU, 16_000), (MM, 21_000))
    found = moved(before, now)

    assert found.verdict == "moved"
    assert found.sentence.startswith("the limiter moved: dram -> vector-fp32; 53.0 ms -> 37.0 ms")
    assert (
        found.evidence[0] == "relu (10000000 fp32): 32.0 ms (25% of dram) -> 16.0 ms (50% of dram)"
    )
    assert found.evidence[1].startswith("mm (1000x1000 fp32, 1000x1000 fp32): 21.0 ms (95% of")


def test_faster_with_the_same_limiter():
    found = moved(run((RELU, 32_000)), run((RELU, 16_000)))

    assert found.verdict == "faster"
    assert found.sentence == "faster, and the limiter is the same, dram: 32.0 ms -> 16.0 ms a step"


def test_slower():
    assert moved(run((RELU, 16_000)), run((RELU, 32_000))).verdict == "slower"


def test_one_step_each_and_less_than_a_twentieth_is_noise():
    assert moved(run((RELU, 16_000)), run((RELU, 15_300))).verdict == "the same"
    assert moved(run((RELU, 16_000)), run((RELU, 15_100))).verdict == "faster"


def test_intervals_of_several_steps_decide():
    """7 steps within 1 %: 3 % faster is faster; of scattered ones 20 % is not."""
    scattered = (1.0, 1.6, 0.7, 1.3, 0.8, 1.5, 0.6)
    faster = moved(run((RELU, 16_000), steps=STEADY), run((RELU, 15_500), steps=STEADY))
    noise = moved(run((RELU, 16_000), steps=scattered), run((RELU, 12_800), steps=scattered))

    assert faster.verdict == "faster"
    assert "(half of 7 steps within" in faster.sentence
    assert noise.verdict == "the same"


def test_a_line_that_went_or_came_is_named():
    found = moved(run((RELU, 16_000)), run((MM, 21_000)))

    assert "relu (10000000 fp32): 16.0 ms (50% of dram) -> not there" in found.evidence
    assert any(
        line.endswith("not there -> 21.0 ms (95% of vector-fp32)") for line in found.evidence
    )


def test_runs_of_two_devices_are_not_held_against_each_other():
    here = run((RELU, 16_000))
    there = replace(here, device=replace(device(), id="other", name="Other CPU"))

    with pytest.raises(BadInput, match="one run is of Toy CPU, the other of Other CPU"):
        moved(here, there)
    assert against(here, there)["verdict"] is None
    assert "the other of Other CPU" in against(here, there)["sentence"]


def test_a_run_without_times_has_no_verdict():
    here = run((RELU, 16_000))
    untimed = replace(
        here,
        events=here.events.set_column(4, "duration_ns", [[None]]).cast(here.events.schema),
        steps=tuple(replace(step, duration_ns=0) for step in here.steps),
    )
    with pytest.raises(BadInput, match="without times"):
        moved(here, untimed)
