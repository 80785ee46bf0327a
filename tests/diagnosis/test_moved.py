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
    assert noise.verdict == "cannot be told apart"


def test_a_few_steps_that_scatter_over_more_than_they_differ():
    """3 steps of 16 ms and of 17.6, middle halves of 14.4 to 17.6 and 16.7 to 18.5 ms."""
    few = moved(
        run((RELU, 16_000), steps=(0.8, 1.0, 1.2)), run((RELU, 17_600), steps=(0.9, 1.0, 1.1))
    )
    clear = moved(
        run((RELU, 16_000), steps=(0.99, 1.0, 1.01)), run((RELU, 17_600), steps=(0.99, 1.0, 1.01))
    )

    assert (few.verdict, clear.verdict) == ("cannot be told apart", "slower")


def waited(recording, share):
    """The same, of which `share` was spent waiting for a processor."""
    steps = (replace(s, waited_ns=round(share * s.duration_ns)) for s in recording.steps)
    return replace(recording, steps=tuple(steps))


def test_a_difference_that_waiting_can_explain_is_no_verdict():
    """1.02 and 1.11 s, half of each waiting: 0.51 to 1.02 and 0.55 to 1.11."""
    before, now = run((RELU, 1_020_000)), run((RELU, 1_110_000))
    found = moved(waited(before, 0.5), waited(now, 0.52))

    assert found.verdict == "cannot be told apart"
    assert found.sentence == (
        "the two cannot be told apart; the limiter is dram: 1.02 s -> 1.11 s a step; 50% and 52% "
        "of them waiting for a processor"
    )
    assert moved(before, now).verdict == "slower"


def test_a_difference_beyond_all_waiting_is_one_and_says_what_both_waited():
    """16 ms of which 10 % waited, so 14.4 at least, and 8 ms."""
    found = moved(waited(run((RELU, 16_000)), 0.1), waited(run((RELU, 8_000)), 0.0))

    assert found.verdict == "faster"
    assert found.sentence.endswith("a step; 10% and 0% of them waiting for a processor")


def test_a_limiter_that_waiting_may_have_moved_has_not_moved():
    """32 ms of relu and 21 of mm, then 20 and 21, with a third of it waiting."""
    before, now = run((RELU, 32_000), (MM, 21_000)), run((RELU, 20_000), (MM, 21_000))
    found = moved(waited(before, 0.35), waited(now, 0.35))

    assert found.verdict == "cannot be told apart"
    assert "dram -> vector-fp32, as far as such times tell" in found.sentence
    assert moved(before, now).verdict == "moved"


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
