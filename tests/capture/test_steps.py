"""Where steps end, and which are warm-up."""

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from roofline.capture import profile
from roofline.capture.recording import Recording
from roofline.errors import BadInput


def train(steps, mark=lambda: None):
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        mark()
    torch.ones(1).exp()  # after the last step


def steps_of(run, name):
    return [row["step"] for row in run.rows() if run.signatures[row["signature"]].name == name]


def test_a_step_ends_at_every_optimizer_step_and_the_first_is_warm_up():
    with profile() as run:
        train(3)
    result = run.result
    assert [step.warmup for step in result.steps] == [True, False, False]
    assert steps_of(result, "aten::addmm") == [0, 1, 2]
    assert steps_of(result, "aten::exp") == [-1]
    assert "3 steps, ending at each Optimizer.step; warm-up is the first 1" in result.recorder.timer
    gap = next(g for g in result.gaps if g.name == "after the last step")
    assert gap.count == 2  # ones and exp


def test_steps_follow_each_other_and_hold_their_events():
    with profile() as run:
        train(3)
    steps, rows = run.result.steps, run.result.rows()
    ends = [step.start_ns + step.duration_ns for step in steps]
    assert [step.start_ns for step in steps[1:]] == ends[:-1]
    for row in rows:
        if row["step"] >= 0:
            step = steps[row["step"]]
            assert step.start_ns <= row["start_ns"]
            assert row["start_ns"] + row["duration_ns"] <= step.start_ns + step.duration_ns
    for index, step in enumerate(steps):
        busy = sum(row["duration_ns"] for row in rows if row["step"] == index)
        assert 0 < step.bookkeeping_ns <= step.duration_ns - busy


@pytest.mark.parametrize(
    ("warmup", "expected"),
    [(0, [False] * 4), (2, [True, True, False, False]), (9, [True, True, True, False])],
)
def test_warm_up_as_asked_but_one_step_always_remains(warmup, expected):
    with profile(warmup=warmup) as run:
        train(4)
    assert [step.warmup for step in run.result.steps] == expected


def test_steps_that_the_program_ends_itself_are_the_only_ones():
    with profile() as run:
        for _ in range(3):
            train(2)
            run.step("epoch")
    result = run.result
    assert [step.name for step in result.steps] == ["epoch"] * 3
    assert steps_of(result, "aten::addmm") == [0, 0, 1, 1, 2, 2]


def test_one_step_sets_the_first_call_of_each_signature_apart_where_more_follow():
    x, y = torch.ones(4), torch.ones(5)
    with profile() as run:
        for _ in range(3):
            x.exp()
        y.exp()  # called once: it is all there is
    result = run.result
    assert result.events["step"].to_pylist() == [0, 1, 1, 1]
    assert [(s.warmup, s.name) for s in result.steps] == [(True, "first calls"), (False, "")]
    durations = result.events["duration_ns"].to_pylist()
    warm, whole = result.steps
    assert warm.duration_ns == durations[0]
    last = result.rows()[-1]
    # From the first event's start to the last one's end, without the call set apart.
    assert (
        whole.duration_ns == last["start_ns"] + last["duration_ns"] - whole.start_ns - durations[0]
    )


def test_one_step_with_more_warm_up_than_calls_keeps_the_last_call():
    x = torch.ones(4)
    with profile(warmup=5) as run:
        for _ in range(3):
            x.exp()
    assert run.result.events["step"].to_pylist() == [0, 0, 1]


def test_one_step_without_warm_up():
    x = torch.ones(4)
    with profile(warmup=0) as run:
        x.exp(), x.exp()
    assert run.result.events["step"].to_pylist() == [0, 0]
    assert len(run.result.steps) == 1


def test_recording_stops_after_as_many_steps_as_asked_and_the_program_goes_on():
    seen = []
    with profile(warmup=1, steps=2) as run:
        train(6, mark=lambda: seen.append(torch._C._len_torch_dispatch_stack()))
    result = run.result
    assert [step.warmup for step in result.steps] == [True, False, False]
    assert steps_of(result, "aten::addmm") == [0, 1, 2]
    assert steps_of(result, "aten::exp") == []
    assert seen == [1, 1, 0, 0, 0, 0]  # no mode is left to slow down the rest


def test_a_mode_over_the_recorder_s_does_not_keep_the_run_from_whoever_waits_for_it():
    class Lets(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    full = []
    recording = Recording(warmup=0, steps=1, when_full=full.append)
    with recording, Lets():
        train(1)
        assert [recording.result] == full
        train(1)
    assert [recording.result] == full
    assert len(full[0].steps) == 1
    assert torch._C._len_torch_dispatch_stack() == 0


def test_two_optimizers_inside_one_another_end_one_step():
    model = nn.Linear(2, 2)
    inner = torch.optim.SGD(model.parameters(), lr=0.1)

    class Around(torch.optim.Optimizer):
        def step(self, closure=None):
            inner.step()
            inner.step()

    outer = Around(model.parameters(), {})
    with profile() as run:
        for _ in range(2):
            model(torch.ones(1, 2)).sum().backward()
            outer.step()
    assert len(run.result.steps) == 2


def test_waiting_for_a_processor_is_told_when_it_lasts(monkeypatch):
    from roofline.capture import recording

    def waits(each_ns):
        ticks = iter(range(0, 10**12, each_ns))
        monkeypatch.setattr(recording, "waited_ns", lambda: next(ticks))
        with profile() as run:
            train(3)
        return run.result

    # A whole second of waiting in every step: longer than the steps, so far more than 5 %.
    result = waits(10**9)
    assert [step.waited_ns for step in result.steps] == [10**9] * 3
    assert any("waited for a processor during" in w for w in result.recorder.warnings)
    assert waits(1).recorder.warnings == ()
    monkeypatch.setattr(recording, "waited_ns", lambda: None)  # a system that does not tell
    with profile() as run:
        train(3)
    assert [step.waited_ns for step in run.result.steps] == [None] * 3
    assert run.result.recorder.warnings == ()


def test_an_optimizer_that_raised_does_not_end_the_counting_of_steps():
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fails():
        raise ArithmeticError

    with profile() as run:
        with pytest.raises(ArithmeticError):
            optimizer.step(fails)
        for _ in range(3):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    assert len(run.result.steps) == 3


def test_other_hooks_of_optimizers_still_run_when_the_recording_stops():
    from torch.optim.optimizer import register_optimizer_step_post_hook

    seen = []
    with profile(warmup=0, steps=1) as run:
        hook = register_optimizer_step_post_hook(lambda *_: seen.append(1))
        train(3)
    hook.remove()
    assert len(seen) == 3
    assert len(run.result.steps) == 1


def test_a_recording_within_a_recording_sees_the_same():
    def work():
        torch.ones(3).exp()
        torch.ones(3, requires_grad=True).sum().backward()

    with profile() as alone:
        work()
    with profile() as outer:
        with profile() as inner:
            work()
        torch.ones(2).sin()
    names = [[s.name for s in run.result.signatures] for run in (alone, inner, outer)]
    assert names[1] == names[0]
    assert names[2] == [*names[0], "aten::ones", "aten::sin"]


def test_an_empty_recording():
    with profile() as run:
        pass
    assert run.result.steps == ()
    assert run.result.events.num_rows == 0


def test_the_result_exists_only_after_the_block():
    with profile() as run, pytest.raises(BadInput, match="block has not ended"):
        _ = run.result


def test_an_exception_passes_on_and_what_was_recorded_is_kept():
    def work():
        with run:
            torch.ones(3)
            raise KeyError

    run = profile()
    with pytest.raises(KeyError):
        work()
    assert run.result.events.num_rows == 1


@pytest.mark.parametrize("options", [{"warmup": -1}, {"steps": 0}])
def test_senseless_numbers_are_refused(options):
    with pytest.raises(BadInput, match=f"{next(iter(options))} must be at least"):
        profile(**options)
