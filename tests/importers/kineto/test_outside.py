"""Times that lie outside what was recorded: unknown and counted, never part of a sum."""

from functools import partial

import pytest

from roofline.importers import load
from roofline.importers.kineto import trace as importer
from roofline.importers.kineto.stretches.divide import Stretches
from roofline.program import read
from tests.importers.kineto.traces import Trace

X = ((64, 64), "fp16")


def relus(base=1.7e15) -> Trace:
    """Four relus, 100 us apart, of 30 us each on stream 7."""
    trace = Trace(base=base)
    for at in range(0, 400, 100):
        trace.op("aten::relu", at, 5, X)
        trace.kernel("relu", at + 20, 30, launch=at + 1)
    return trace


def odd(trace: Trace, start: float, us: float, **how) -> dict:
    """A fifth operator, whose kernel is at an odd time; launched at 401 us."""
    trace.op("aten::gelu", 400, 5, X)
    return trace.kernel("gelu", start, us, launch=401, **how)


def loaded(tmp_path, trace):
    run = load([trace.write(tmp_path / "odd.json")])
    durations = [
        row["duration_ns"]
        for row in run.rows()
        if row["kind"] == "kernel" and run.signatures[row["signature"]].name == "gelu"
    ]
    return run, durations


@pytest.mark.parametrize(
    ("start", "us", "how", "said"),
    [
        (420, 3.4e6, {}, "ended long after"),  # the last of its stream
        (-100, 9e9, {"stream": 9}, "begun before being launched"),  # alone on its stream
        (3.6e12, 30, {}, "ended long after"),  # 41 days later
        (-600, 30, {}, "begun before being launched"),  # 1 ms before its launch
    ],
)
def test_a_kernel_outside_the_recorded_time(tmp_path, start, us, how, said):
    """Four of 30 us are what the device worked; the step lasts from 0 to some 0.4 ms."""
    trace = relus()
    odd(trace, start, us, **how)
    run, durations = loaded(tmp_path, trace)
    program = read(run)

    assert durations == [None]
    assert program.whole.busy_s == pytest.approx(120e-6)
    assert program.whole.step_s < 0.5e-3
    assert [line for line in run.recorder.warnings if line.startswith("1 device") and said in line]


def test_a_start_of_zero_where_times_count_from_the_start_of_the_program(tmp_path):
    """Times begin at 1000 us, so that 0 is no missing time but one 1.4 ms before its launch."""
    trace = relus(base=1000)
    odd(trace, 420, 30)["ts"] = 0
    run, durations = loaded(tmp_path, trace)

    assert durations == [None]
    assert read(run).whole.step_s < 0.5e-3


@pytest.mark.parametrize(
    ("start", "us"),
    [
        (420, 2_500),  # long beside the rest, and soon after the host was done
        (-50, 30),  # the clocks of host and device differ a little
    ],
)
def test_an_unusual_time_that_can_be(tmp_path, start, us):
    trace = relus()
    odd(trace, start, us)
    run, durations = loaded(tmp_path, trace)

    assert durations == [us * 1000]
    assert not run.recorder.warnings


def test_work_that_is_queued_for_long_is_believed(tmp_path):
    """Ten launches in 50 us of a host that does not wait, of 40 ms each: each waits for another."""
    trace = Trace()
    for number in range(10):
        trace.op("aten::mm", number * 5, 5, X, X)
        trace.kernel("gemm", 100 + number * 40_000, 40_000, launch=number * 5 + 1)
    run = load([trace.write(tmp_path / "queue.json")])

    assert read(run).whole.busy_s == pytest.approx(0.4)
    assert not run.recorder.warnings


def test_clocks_that_are_apart_are_no_doubt(tmp_path):
    """Every kernel 2 ms before its launch: the clocks differ, and nothing is left out."""
    trace = Trace()
    for at in range(0, 10_000, 1000):
        trace.op("aten::relu", at, 5, X)
        trace.kernel("relu", at - 2000, 30, launch=at + 1)
    run = load([trace.write(tmp_path / "apart.json")])

    assert read(run).whole.busy_s == pytest.approx(300e-6)
    assert not run.recorder.warnings


@pytest.mark.parametrize(("us", "believed"), [(300, True), (20_000, False)])
def test_what_ends_after_the_profiler_stopped_is_not_believed(tmp_path, us, believed):
    """The profiler says that it recorded 600 us: it drops what ran later, so 20 ms cannot be."""
    trace = relus()
    odd(trace, 420, us)
    trace.add("Trace", "PyTorch Profiler (0)", -10, 610)
    _, durations = loaded(tmp_path, trace)

    assert durations == [us * 1000 if believed else None]


def test_a_call_without_a_time_is_not_placed_against_the_times_of_others(tmp_path):
    """Five equal calls, of which one ran 3.4 s by the trace: four are compared with four."""
    trace = relus()
    trace.op("aten::relu", 400, 5, X)
    trace.kernel("relu", 420, 3.4e6, launch=401)
    run, _ = loaded(tmp_path, trace)
    (item,) = read(run).by("operator")
    (whole,) = read(load([relus().write(tmp_path / "four.json")])).by("operator")

    assert (item.calls, whole.calls) == (5, 4)
    assert item.measured_s == pytest.approx(120e-6)
    assert item.roof_fraction == pytest.approx(whole.roof_fraction)
    assert item.lost_s == pytest.approx(whole.lost_s)


EPOCH_US, TWO_DAYS_US = 1.7e15, 2 * 86_400e6


def left_out(run) -> list[str]:
    return [line for line in run.recorder.warnings if "without a usable start" in line]


@pytest.mark.parametrize("rows", [None, 4])
@pytest.mark.parametrize(
    ("base", "ts"),
    [
        (EPOCH_US, 1e-9),
        (EPOCH_US, 1.0),
        (EPOCH_US, 1e14),
        (EPOCH_US, 2e15),
        (EPOCH_US, EPOCH_US - TWO_DAYS_US),
        (EPOCH_US, EPOCH_US + TWO_DAYS_US),
        (1000.0, 1e14),
        (1000.0, 2e15),
        (1000.0, 1000.0 - TWO_DAYS_US),
    ],
)
def test_an_operator_far_from_all_others_is_left_out(tmp_path, monkeypatch, rows, base, ts):
    """In one stretch and in several: four relus take from 0 to the kernel's end at 320 + 30 us."""
    if rows is not None:
        monkeypatch.setattr(importer, "Stretches", partial(Stretches, rows=rows))
    trace = relus(base=base)
    trace.op("aten::gelu", 360, 5, X)["ts"] = ts
    run = load([trace.write(tmp_path / "far.json")])

    assert left_out(run) == ["left out, without a usable start: 1 event"]
    assert run.steps[0].duration_ns == pytest.approx(350_000, abs=1)
    assert [item.name for item in read(run).by("operator")] == ["aten::relu"]


def test_a_launch_far_from_all_others_is_left_out(tmp_path):
    """Its kernel stays, and nobody knows who launched it."""
    trace = relus()
    trace.events[-2]["ts"] = 1e14
    run = load([trace.write(tmp_path / "far.json")])

    assert left_out(run) == ["left out, without a usable start: 1 event"]
    assert [(gap.name, gap.count, gap.seconds) for gap in run.gaps] == [
        ("activities without a launch", 1, pytest.approx(30e-6)),
    ]


@pytest.mark.parametrize("host", [True, False])
@pytest.mark.parametrize("off", [-TWO_DAYS_US, TWO_DAYS_US])
def test_a_kernel_of_no_launch_far_from_all_others_is_left_out(tmp_path, host, off):
    """With a host beside them from 0 on, without one from the first kernel's start at 20 us on."""
    trace = relus()
    trace.kernel("stray", 420 + off, 30)
    if not host:
        trace.events = [event for event in trace.events if event["cat"] == "kernel"]
    run = load([trace.write(tmp_path / "far.json")])

    assert left_out(run) == ["left out, without a usable start: 1 event"]
    assert run.steps[0].duration_ns == pytest.approx(350_000 if host else 330_000, abs=1)


def test_a_record_of_the_profiler_far_from_all_others_says_nothing(tmp_path):
    """A recording of two days would let a kernel of 3.4 s pass that is the last of its stream."""
    trace = relus()
    odd(trace, 420, 3.4e6)
    trace.add("Trace", "PyTorch Profiler (0)", -TWO_DAYS_US, TWO_DAYS_US + 1e7)
    _, durations = loaded(tmp_path, trace)

    assert durations == [None]


def test_a_device_with_another_clock_is_no_doubt(tmp_path):
    """Host since 1970, device since it was started: most events are the device's, all are kept."""
    trace = Trace(base=EPOCH_US)
    for at in range(0, 400, 100):
        trace.op("aten::relu", at, 5, X)
        for later in range(4):
            number = 10 + at
            launch = at + 1 if later == 0 else None
            trace.kernel("relu", at + 20 * later - 1e15, 10, launch=launch, correlation=number)
    run = load([trace.write(tmp_path / "clocks.json")])

    assert not run.recorder.warnings
    assert read(run).whole.busy_s == pytest.approx(160e-6)  # 4 of 10 us, four times
