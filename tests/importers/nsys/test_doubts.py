"""Databases with what is not to be believed, or belongs to no step: kept out, counted and said."""

import pytest

from roofline.importers import Options, load
from roofline.importers.believed import overlong, unusable
from roofline.program import read
from roofline.report.document import of_run
from tests.importers.nsys.databases import (
    NAMES,
    TABLES,
    kernel,
    kernels,
    launch,
    pushed,
    run,
    write,
)

GRAPH = "cudaGraphLaunch_v10000"


def said(imported) -> str:
    return "\n".join(imported.recorder.warnings)


def codes(imported) -> set[str]:
    return {finding["code"] for finding in of_run(imported)["findings"]}


# From before the recording, and replayed by graphs


def test_kernels_from_before_the_window(tmp_path):
    """Two of 50 us run before anything is launched: 100 of 102 us are in no step and no total."""
    late = [200_000 + 1000 * at for at in range(4)]
    imported = run(
        tmp_path,
        kernels=[kernel(0, 50_000, 900), kernel(60_000, 110_000, 901),
                 *(kernel(start, start + 500, at) for at, start in enumerate(late))],
        runtime=[launch(start - 5000, start - 4000, at) for at, start in enumerate(late)],
    )  # fmt: skip
    program = read(imported)

    assert [row["step"] for row in kernels(imported)] == [-1, -1, 0, 0, 0, 0]
    assert program.whole.busy_s == pytest.approx(2e-6)
    assert program.whole.step_s == pytest.approx(8.5e-6)  # from the first launch, 195 us
    assert [(g.name, g.count, g.seconds) for g in imported.gaps] == [
        ("activities without a launch", 2, 100e-6),
    ]  # fmt: skip
    assert "RF008" in codes(imported)


def test_a_launch_whose_row_was_lost(tmp_path):
    """Its kernel runs after another was launched: it counts, and that is said."""
    imported = run(
        tmp_path, kernels=[kernel(1000, 2000, 1), kernel(2000, 3000, 2)], runtime=[launch(0, 9, 1)]
    )

    assert [row["step"] for row in kernels(imported)] == [0, 0]
    assert imported.gaps == ()
    assert "no launch recorded of 1 device activity: they count where they ran" in said(imported)


def test_without_launches_nothing_is_from_before(tmp_path):
    """Nothing says what was launched when."""
    imported = run(tmp_path, kernels=[kernel(0, 10, 1), kernel(20, 30, 2)])

    assert [row["step"] for row in kernels(imported)] == [0, 0]


def test_kernels_of_a_graph(tmp_path, monkeypatch):
    """Three of one graph launch, one launched alone: a gap, RF007, and one start of an operator."""
    monkeypatch.setitem(NAMES, 12, GRAPH)
    replayed = [kernel(100_000 * at, 100_000 * at + 50_000, 9) for at in range(1, 4)]
    imported = run(
        tmp_path,
        kernels=[*replayed, kernel(450_000, 460_000, 10)],
        runtime=[launch(0, 40, 9, name=12), launch(50, 90, 10)],
    )
    (gap,) = imported.gaps
    conventions = [imported.signatures[row["signature"]].ledger.conventions for row in kernels(imported)]  # fmt: skip

    assert (gap.name, gap.count, gap.seconds) == ("graph launches", 3, 150e-6)
    assert gap.what.startswith("1 graph launch replayed 3 device activities, 94% of device time")
    assert [bool(each) for each in conventions] == [True, True, True, False]
    assert "RF007" in codes(imported)
    assert read(imported).kernels.started == 1


# Times


def test_a_duration_that_later_kernels_contradict(tmp_path):
    """203.4 s between kernels of 500 ns that end before it does: unknown, and counted."""
    rows = [kernel(200_000, 200_500, 1), kernel(201_000, 203_400_001_000, 2),
            kernel(202_000, 202_500, 3)]  # fmt: skip
    imported = run(tmp_path, kernels=rows)

    assert [row["duration_ns"] for row in kernels(imported)] == [500, None, 500]
    assert imported.steps[0].duration_ns == 2500
    assert "1 device activity would still run after later ones" in said(imported)
    assert "without a positive duration" not in said(imported)  # a doubt is told once


def test_it_does_not_choose_the_device(tmp_path):
    """The other device is busier without it."""
    rows = [kernel(0, 203_400_000_000, 1), kernel(1000, 1500, 2), kernel(2000, 2500, 3),
            kernel(0, 5000, 4, device=1)]  # fmt: skip
    imported = run(tmp_path, kernels=rows)

    assert [row["duration_ns"] for row in kernels(imported)] == [5000]


def test_streams_are_apart():
    """A long kernel beside short ones of another stream is none; of its own stream it is."""
    import pyarrow as pa

    start, duration = pa.array([0, 10, 20, 30]), pa.array([10_000, 5, None, 5])

    assert overlong(start, duration, pa.array([1, 2, 2, 2])) == []
    assert overlong(start, duration, pa.array([1, 2, 2, 1])) == []  # the median is half of it
    assert overlong(start, duration, pa.array([2, 2, 2, 2])) == [0]
    assert overlong(start, duration, pa.array([2, 7, 2, 7])) == []
    assert overlong(pa.array([0, 5, 10, 20, 30]), pa.array([4, 9000, 5, 5, 5]), pa.array([2, 1, 1, 1, 1])) == [1]  # fmt: skip


def test_durations_of_zero_are_no_measure():
    """Of six with four of no length the median is that of the other two."""
    import pyarrow as pa

    start, duration = pa.array([0, 1, 2, 3, 4, 5]), pa.array([9, 0, 0, 0, 0, 8])

    assert overlong(start, duration, pa.array([1] * 6)) == []


def test_activities_of_no_stream_may_overlap(tmp_path):
    """A long one beside short ones is believed where nothing says that they share a stream."""
    rows = [kernel(0, 90_000, 1), *(kernel(at, at + 50, at) for at in range(100, 900, 100))]
    alone = run(tmp_path, kernels=[row | {"streamId": None} for row in rows])

    assert kernels(alone)[0]["duration_ns"] == 90_000


@pytest.mark.parametrize(
    ("starts", "out"),
    [
        ([0, 17 * 10**17, 17 * 10**17 + 5], [0]),  # not recorded
        ([0, 17 * 10**17], [0]),
        ([0, 0, 0, 17 * 10**17], [0, 1, 2]),
        ([5, 17 * 10**17, 17 * 10**17 + 5], [0]),  # not of this recording
        ([0, 4 * 3600 * 10**9, 4 * 3600 * 10**9 + 9], [0]),  # not recorded, on a machine just begun
        ([0, 5, 3000 * 10**9], []),
        ([None, 5, 9], [0]),
    ],
)
def test_starts_that_lie_apart(starts, out):
    """By more than a day from the middle, or 0 where the others are an hour later."""
    import pyarrow as pa

    wrong = unusable(pa.array(starts, pa.int64()))

    assert ([] if wrong is None else [at for at, each in enumerate(wrong.to_pylist()) if each]) == out  # fmt: skip


def test_a_start_that_was_not_recorded(tmp_path):
    """0 among 1.7e18: left out, so that the step is 1.5 us and not 1.7e9 s."""
    epoch = 17 * 10**17
    rows = [kernel(0, 500, 1), kernel(epoch, epoch + 500, 2), kernel(epoch + 1000, epoch + 1500, 3)]
    imported = run(tmp_path, kernels=rows)

    assert imported.steps[0].duration_ns == 1500
    assert "left out, without a usable start: 1 device activity" in said(imported)


# Steps


def test_a_step_in_which_nothing_was_started(tmp_path):
    """Of three ranges the last is empty: two steps, and kernels are divided by two."""
    imported = run(
        tmp_path,
        kernels=[kernel(150, 250, 1), kernel(350, 450, 2)],
        runtime=[launch(110, 120, 1), launch(310, 320, 2)],
        nvtx=[pushed(100, 200, "step 0"), pushed(300, 400, "step 1"), pushed(500, 600, "step 2")],
    )

    assert [step.name for step in imported.steps] == ["step 0", "step 1"]
    assert "1 marked step in which nothing was started: left out" in said(imported)
    assert read(imported).whole.busy_s == pytest.approx(100e-9)


def test_what_was_launched_between_steps(tmp_path):
    """It belongs to none, which is said: 300 ns after the last, though the device still works."""
    imported = run(
        tmp_path,
        kernels=[kernel(150, 250, 1), kernel(350, 900, 2), kernel(900, 1200, 3)],
        runtime=[launch(110, 120, 1), launch(310, 320, 2), launch(450, 460, 3)],
        nvtx=[pushed(100, 200, "step 0"), pushed(300, 400, "step 1")],
    )
    (gap,) = imported.gaps

    assert [row["step"] for row in kernels(imported)] == [0, 1, -1]
    assert (gap.name, gap.count, gap.seconds) == ("outside every step", 1, 300e-9)


# Bytes


def test_bytes_beyond_any_memory(tmp_path):
    """2^63 - 1 of a copy: unknown, and said."""
    copy = {"start": 10, "end": 60, "deviceId": 0, "streamId": 7, "correlationId": 4,
            "globalPid": 5 << 24, "bytes": 2**63 - 1, "copyKind": 1}  # fmt: skip
    imported = run(tmp_path, kernels=[kernel(100, 200, 1)], memcpy=[copy])
    ledger = imported.signatures[kernels(imported)[0]["signature"]].ledger

    assert ledger.demand() == {}
    assert ledger.unaccounted
    assert "1 size of copies or memsets beyond any memory: unknown" in said(imported)


# Columns


@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "correlationId", "calls of the runtime have no correlation ids"),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid", "calls of the runtime have no threads"),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "start", "calls of the runtime have no start"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "end", "kernels have no end, and so no duration"),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", "bytes", "copies have no bytes"),
        ("StringIds", "id", "strings have no ids"),
        ("StringIds", "value", "strings have no texts"),
        ("NVTX_EVENTS", "globalTid", "NVTX ranges have no thread"),
    ],
)  # fmt: skip
def test_a_missing_column_is_named(table, column, words, tmp_path):
    """It works without, and says which fact is missing."""
    columns = dict(TABLES)
    kept = [c for c in columns[table].split(", ") if c.split()[0].strip('"') != column]
    columns[table] = ", ".join(kept).replace(" PRIMARY KEY", "")
    starts = [
        {k: v for k, v in launch(100, 200, 1).items() if k != column or "RUNTIME" not in table}
    ]
    ran = [{k: v for k, v in kernel(1000, 3000, 1).items() if k != column or "KERNEL" not in table}]
    path = write(
        tmp_path / "x", tables=columns, without=("StringIds",) if table == "StringIds" else (),
        kernels=ran, runtime=starts,
    )  # fmt: skip
    if table == "StringIds":
        import sqlite3

        with sqlite3.connect(path) as connection:
            connection.execute(f"CREATE TABLE StringIds ({columns[table]})")
    imported = load([path])

    assert len(kernels(imported)) == 1
    assert words in said(imported)


def test_calls_without_threads_are_joined_by_id_alone(tmp_path):
    """One process ran: nothing else can have launched it."""
    columns = dict(TABLES)
    columns["CUPTI_ACTIVITY_KIND_RUNTIME"] = (
        'start INTEGER, "end" INTEGER, correlationId INTEGER, nameId INTEGER'
    )
    starts = {k: v for k, v in launch(100, 200, 1).items() if k != "globalTid"}
    imported = load(
        [write(tmp_path / "x", tables=columns, kernels=[kernel(1000, 3000, 1)], runtime=[starts])]
    )

    assert kernels(imported)[0]["parent"] == 1


# Private things


def test_ranges_without_paths(tmp_path):
    """Of a path in a range its last part stays; all of it where it is asked for."""
    path = write(
        tmp_path / "x", kernels=[kernel(1000, 2000, 1)], runtime=[launch(500, 600, 1)],
        nvtx=[pushed(0, 900, "load /home/ann/data/file.bin")],
    )  # fmt: skip

    assert [row["module"] for row in kernels(load([path]))] == ["load file.bin"]
    assert [row["module"] for row in kernels(load([path], Options(keep_private=True)))] == [
        "load /home/ann/data/file.bin"
    ]
