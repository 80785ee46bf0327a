"""Streams beside each other, and the path that the length of a step is made of."""

from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.program.device import critical
from roofline.program.device.critical import critical_path
from roofline.program.device.overlap import overlap
from roofline.report import device_time
from roofline.runfile import Event, Run, Signature, Step, table
from tests.runs import RECORDER, device

NAMES = ("gemm", "relu", "ncclDevKernel_AllReduce", "Memcpy HtoD")


def run(*rows, us=100.0, bookkeeping_us=0.0):
    """Kernels (name, start us, us, stream) of one step that begins at 0."""
    events = [
        Event(
            signature=NAMES.index(name), step=0, stream=stream,
            kind="memcpy" if name.startswith("Memcpy") else "kernel",
            start_ns=round(start * 1000), duration_ns=round(length * 1000),
        )
        for name, start, length, stream in rows
    ]  # fmt: skip
    step = Step(
        start_ns=0, duration_ns=round(us * 1000), bookkeeping_ns=round(bookkeeping_us * 1000)
    )
    return Run(
        recorder=RECORDER, device=device(), signatures=tuple(Signature(name=n) for n in NAMES),
        steps=(step,), gaps=(), events=table(events),
    )  # fmt: skip


def test_one_stream_is_kernels_and_waiting():
    """5 us before the first, 10 between, 15 after the last."""
    path = critical_path(run(("gemm", 5, 40, 7), ("relu", 55, 30, 7)))

    assert path.kernels_s == pytest.approx(70e-6)
    assert path.waiting_s == pytest.approx(30e-6)
    assert path.beside_s == 0.0
    assert path.longest == (("gemm", pytest.approx(40e-6)), ("relu", pytest.approx(30e-6)))


def test_the_recorders_own_work_is_no_waiting():
    path = critical_path(run(("gemm", 5, 40, 7), ("relu", 55, 30, 7), bookkeeping_us=20))

    assert path.waiting_s == pytest.approx(10e-6)


def test_what_runs_beside_the_path_is_not_on_it():
    """relu from 0 to 30 beside gemm from 0 to 60; what ended last is what the rest waited for."""
    path = critical_path(
        run(("gemm", 0, 60, 7), ("relu", 0, 30, 8), ("ncclDevKernel_AllReduce", 60, 40, 9))
    )

    assert (path.kernels_s, path.communication_s) == (pytest.approx(60e-6), pytest.approx(40e-6))
    assert (path.waiting_s, path.beside_s) == (0.0, pytest.approx(30e-6))


def test_hidden_communication_is_beside_the_path():
    recording = run(("gemm", 0, 60, 7), ("ncclDevKernel_AllReduce", 20, 30, 9), ("relu", 60, 40, 7))
    path, streams = critical_path(recording), overlap(recording)

    assert (path.kernels_s, path.communication_s) == (pytest.approx(100e-6), 0.0)
    assert path.beside_s == pytest.approx(30e-6)
    assert (streams.streams, streams.exposed_s) == (2, 0.0)
    assert streams.beside_s == pytest.approx(30e-6)


def test_copies_stand_apart():
    path = critical_path(run(("Memcpy HtoD", 0, 50, 7), ("gemm", 50, 50, 7)))

    assert (path.copies_s, path.kernels_s) == (pytest.approx(50e-6), pytest.approx(50e-6))


def test_the_parts_add_up_to_the_step():
    rows = (("gemm", 3, 40, 7), ("relu", 20, 45, 8), ("Memcpy HtoD", 70, 9, 9), ("gemm", 75, 20, 7))
    path = critical_path(run(*rows))

    length = path.kernels_s + path.communication_s + path.copies_s + path.waiting_s
    assert length == pytest.approx(100e-6)


def test_without_a_device_or_a_length_there_is_no_path():
    recording = run(("gemm", 0, 60, 7))

    assert critical_path(replace(recording, events=table([]))) is None
    assert critical_path(run(("gemm", 0, 60, 7), us=0.0)) is None
    assert overlap(replace(recording, events=table([]))) is None


def test_in_words():
    whole = {"critical_path": {
        "kernels_s": 60e-6, "communication_s": 40e-6, "copies_s": 0.0, "waiting_s": 0.0,
        "beside_s": 30e-6,
    }}  # fmt: skip

    assert device_time.words(whole) == (
        "critical path of a step: kernels 60.0 us (60%), communication 40.0 us (40%); another "
        "30.0 us ran beside it"
    )
    assert device_time.words({"critical_path": None}) == device_time.words(None) == ""


@given(
    rows=st.lists(st.tuples(st.integers(0, 3000), st.integers(-2000, 3000), st.integers(0, 2)), max_size=8),
    begin=st.integers(-500, 3000), more=st.integers(0, 500),
)  # fmt: skip
def test_all_at_once_is_the_walk_from_one_to_the_next(rows, begin, more):
    """Durations, gaps (overlaps below 0) and keys; where all are on the path, and where not."""
    work, at = critical._Work(), 0
    for duration, gap, key in rows:
        at += gap
        for column, value in ((work.start, at), (work.end, at + duration), (work.key, key)):
            column.append(value)
        at += duration
    end = max([*work.end, begin]) + more
    once, walked = Counter(), Counter()
    found = critical._walk(work, begin, end, once)
    with patch.object(critical, "_one_by_one", return_value=None):
        assert found == critical._walk(work, begin, end, walked)
    assert +once == +walked
