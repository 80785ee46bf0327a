"""Pinned threads and their samples.  No test here depends on how fast anything is."""

import os
import subprocess
import sys
import threading
import time

import pytest

from roofline.bench.cpu import crew as crew_module
from roofline.bench.cpu.crew import Crew, Load, _waited_s
from roofline.bench.sample import Sample

HERE = sorted(os.sched_getaffinity(0))
TWO = pytest.mark.skipif(len(HERE) < 2, reason="needs two CPUs")


def test_threads_are_pinned_and_the_caller_is_not():
    before = os.sched_getaffinity(0)
    with Crew([{HERE[0]}, {HERE[-1]}]) as crew:
        assert crew.each(lambda _: os.sched_getaffinity(0)) == [{HERE[0]}, {HERE[-1]}]
        assert os.sched_getaffinity(0) == before
    assert os.sched_getaffinity(0) == before


def test_results_come_in_the_order_of_the_threads():
    with Crew([HERE] * 3) as crew:
        assert crew.each(lambda index: time.sleep(0.02 * (3 - index)) or index) == [0, 1, 2]


def test_an_error_in_one_thread_is_raised_here_and_the_crew_still_works():
    def work(index: int) -> int:
        if index == 1:
            raise ValueError("second thread")
        return index

    with Crew([HERE] * 2) as crew:
        with pytest.raises(ValueError, match="second thread"):
            crew.each(work)
        assert crew.each(lambda index: index) == [0, 1]


def test_threads_are_gone_afterwards():
    before = threading.active_count()
    with Crew([HERE] * 4):
        assert threading.active_count() == before + 4
    assert threading.active_count() == before


def test_a_sample_that_is_too_short_is_repeated_with_more_passes():
    calls = []

    def run(_: int, passes: int) -> None:
        calls.append(passes)
        time.sleep(0.002 * passes)

    with Crew([HERE[:1]]) as crew:
        load = Load(run, amount=1.0, seconds=0.02)
        sample = crew.sample(load)
    # 1 pass is 2 ms and short of half of 20 ms; the next try has about 20 / 2 passes.
    assert calls[0] == 1
    assert len(calls) >= 2
    assert calls[-1] == load.passes > 1
    # Sleeping guarantees at least 2 ms a pass, so at most 500 passes a second.
    assert 0 < sample.rate <= 500


def test_a_thread_that_does_not_get_the_cpu_gives_no_clean_sample():
    with Crew([HERE[:1]]) as crew:
        taken = crew.samples(Load(lambda _, passes: time.sleep(0.01 * passes), 1.0, 0.005), 4)
    assert taken.rates == ()
    assert len(taken.all) == 4  # and nobody waits for more of the same


def test_one_late_thread_makes_the_whole_sample_unclean():
    def run(index: int, _: int) -> None:
        until = time.thread_time() + 0.01
        if index == 1:
            time.sleep(0.05)
        while time.thread_time() < until:
            pass

    with Crew([HERE[:1], HERE[-1:]]) as crew:
        sample = crew.sample(Load(run, amount=2.0, seconds=0.01))
    # Two threads worked 10 ms each of at least 60 ms that both were there: 20 / 120 at most.
    assert sample.busy < 0.2


def spin(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


@TWO
def test_a_leader_whose_threads_only_wait_for_each_other_is_clean(monkeypatch):
    # Two CPUs allowed, one thread at work: half of the CPU time is not used, and nobody took it.
    monkeypatch.setattr(crew_module, "_waited_s", lambda: 5.0)
    with Crew([HERE[:2]]) as crew:
        assert crew.sample(Load(lambda _i, _p: spin(0.01), 1.0, 0.005)).clean


@TWO
def test_a_leader_whose_threads_were_kept_from_the_cpu_is_not_clean(monkeypatch):
    # Ready without a CPU for 20 ms in all, while at most 2 x 10 ms or so could be used.
    waited = iter([1.0, 1.020])
    monkeypatch.setattr(crew_module, "_waited_s", lambda: next(waited))
    with Crew([HERE[:2]]) as crew:
        sample = crew.sample(Load(lambda _i, _p: spin(0.01), 1.0, 0.005))
    wall_s = 1.0 / sample.rate
    assert sample.busy == pytest.approx(1 - 0.020 / (2 * wall_s))


@TWO
def test_without_a_count_of_waiting_a_leader_is_judged_by_cpu_time(monkeypatch):
    monkeypatch.setattr(crew_module, "_waited_s", lambda: None)
    with Crew([HERE[:2]]) as crew:
        # One of two CPUs used: half.
        assert crew.sample(Load(lambda _i, _p: spin(0.02), 1.0, 0.005)).busy < 0.9


@pytest.mark.skipif(_waited_s() is None, reason="this kernel does not count waiting threads")
def test_waiting_for_a_cpu_is_counted():
    # Threads that ended are counted no longer: those of other tests must not end meanwhile.
    program = (
        "import time\n"
        "from roofline.bench.cpu.crew import Crew, _waited_s\n"
        "def spin(_):\n"
        "    end = time.thread_time() + 0.05\n"
        "    while time.thread_time() < end: pass\n"
        f"with Crew([{HERE[:1]}, {HERE[:1]}]) as crew:  # two threads on one CPU\n"
        "    before = _waited_s()\n"
        "    crew.each(spin)\n"
        "    print(_waited_s() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    # While one ran its 50 ms the other waited; whoever finished first waited at least once.
    assert float(done.stdout) > 0


def test_loads_take_turns_and_go_on_for_the_time_they_are_given(monkeypatch):
    """A, B, A, B: two samples each are enough, and half a second of a made-up clock is not over."""
    order: list[str] = []
    now = iter(range(1000))
    monkeypatch.setattr(crew_module.time, "perf_counter", lambda: next(now) / 8)
    monkeypatch.setattr(
        Crew, "sample", lambda _, load: order.append(load.keeps) or Sample(1.0, 1.0)
    )
    loads = [
        Load(lambda *_, n=name: order.append(f"warm {n}"), 1.0, 1.0, keeps=name) for name in "AB"
    ]
    with Crew([HERE[:1]]) as crew:
        short = crew.in_turns(loads, 2)
    assert order == ["warm A", "A", "warm B", "B"] * 2
    assert [len(of.all) for of in short] == [2, 2]
    order.clear()
    with Crew([HERE[:1]]) as crew:
        longer = crew.in_turns(loads, 2, least_s=0.5)
    assert (
        order == ["warm A", "A", "warm B", "B"] * 3
    )  # the clock says 1/8 at the first turn, 1/2 at the fourth
    assert [len(of.all) for of in longer] == [3, 3]
