"""A program counted as it runs, and from the profiler's trace of the same step."""

import pytest

torch = pytest.importorskip("torch")

import roofline as rl  # noqa: E402
from tests.account.programs import language_training, pictures_training  # noqa: E402
from tests.runs import Script, call, tensor  # noqa: E402

# Autograd adds gradients up in place, but not while any dispatch mode sees it: the same bytes.
SAME = {"aten::add_": "aten::add"}


def ledgers(counted):
    """Calls and amounts by operator; operators that need nothing (views) are left out."""
    found = {}
    for group in counted.by():
        name = SAME.get(group.name, group.name)
        assert not group.algorithmic.unaccounted, group.name
        for entry in group.algorithmic.entries:
            key = (name, entry.resource.name, entry.access)
            found[key] = found.get(key, 0) + entry.amount
    return found


def recorded(step, path):
    with torch.profiler.profile(record_shapes=True) as profiler:
        step()
    profiler.export_chrome_trace(str(path))
    return rl.account(path)


@pytest.mark.parametrize("program", [language_training, pictures_training])
def test_a_live_run_and_its_trace_agree_to_the_last_byte(program, tmp_path):
    step = program()
    live = rl.account(step)
    trace = recorded(step, tmp_path / "trace.json")
    assert ledgers(live) == ledgers(trace)
    assert live.flop == trace.flop > 1_000_000
    assert (live.account.read, live.account.written) == (trace.account.read, trace.account.written)


def test_a_recording_of_ours_agrees_as_well():
    step = language_training()
    with rl.profile() as run:
        step()
    assert ledgers(rl.account(run)) == ledgers(rl.account(step))


def test_phases_and_modules_of_a_recording_are_those_of_the_count():
    step = language_training()
    with rl.profile() as run:
        step()
    counted, again = rl.account(step), rl.account(run)
    for grouping in ("module", "phase"):
        flop = {g.name: g.algorithmic.flop for g in counted.by(grouping)}
        assert flop == {g.name: g.algorithmic.flop for g in again.by(grouping)}
    assert {"forward", "backward", "optimizer"} <= set(flop)


def test_steps_that_are_counted_together_are_said_to_be():
    def run(steps):
        script = Script()
        for _ in range(steps):
            script.add(call("aten::relu", tensor(10), out=tensor(10)), 5).end_step()
        return rl.account(script.run()).account

    assert run(1).subject == "toy.py"
    assert run(3).subject == "toy.py, 3 measured steps together"
    assert run(3).read == 3 * run(1).read
