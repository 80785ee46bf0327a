"""Graphs recorded as a whole: time of the device whose kernels are unknown, never nothing.

No recording: the table is written by hand, with the columns that Nsight Systems' own reports of 2025
ask for; what stands in them is as CUPTI describes ``CUpti_ActivityGraphTrace2``.
"""

import pytest

from roofline import runfile
from roofline.diagnosis import diagnose
from roofline.importers import load
from roofline.importers.nsys import database
from roofline.program import read
from tests.importers.nsys.databases import NAMES, TABLES, kernel, kernels, launch, pid, write

GRAPH_TABLE = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
WITH = {
    **TABLES,
    GRAPH_TABLE: (
        'start INTEGER, "end" INTEGER, deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, '
        "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, "
        "graphExecId INTEGER"
    ),
}
LAUNCHES_GRAPH = max(NAMES) + 1
ON_HOST = 2**31 - 1


@pytest.fixture(params=["adbc", "sqlite3"], autouse=True)
def driver(request, monkeypatch):
    """Both ways to read a database."""
    if request.param == "sqlite3":
        monkeypatch.setattr(database, "find_spec", lambda name: None)
    monkeypatch.setitem(NAMES, LAUNCHES_GRAPH, "cudaGraphLaunch_v10000")


def graph(start, end, correlation, number=4, device=0, stream=7) -> dict:
    """A row of the table of whole graphs."""
    return {
        "start": start, "end": end, "deviceId": device, "contextId": 1, "streamId": stream,
        "correlationId": correlation, "globalPid": pid(5), "graphId": number,
        "graphExecId": number + 1,
    }  # fmt: skip


def graphs_launched(*correlations) -> list[dict]:
    return [launch(10 * c, 10 * c + 5, c, name=LAUNCHES_GRAPH) for c in correlations]


# A kernel of 100 ns, then graph 4 for 500 and 300 ns and graph 6 for 100: 900 of 1000 ns are graphs.
ROWS = {
    "kernels": [kernel(100, 200, 1)],
    GRAPH_TABLE: [graph(200, 700, 2), graph(800, 1100, 3), graph(1200, 1300, 4, number=6)],
    "runtime": [launch(10, 15, 1), *graphs_launched(2, 3, 4)],
}


def imported(folder, without=(), **rows):
    return load([write(folder / "export", tables=WITH, without=without, **rows)])


def test_they_are_time_of_the_device_under_their_numbers(tmp_path):
    run = imported(tmp_path, **ROWS)
    ran = [(run.signatures[r["signature"]].name, r["duration_ns"]) for r in kernels(run)]
    program = read(run)

    assert ran == [
        ("gemm<float>", 100), ("CUDA graph 4", 500), ("CUDA graph 4", 300), ("CUDA graph 6", 100),
    ]  # fmt: skip
    assert {r["kind"] for r in kernels(run)} == {"kernel"}
    assert [run.signatures[run.rows()[r["parent"]]["signature"]].name for r in kernels(run)] == [
        "cudaLaunchKernel", *["cudaGraphLaunch"] * 3,
    ]  # fmt: skip
    assert program.whole.busy_s == pytest.approx(1e-6)
    assert program.whole.coverage == 0


def test_they_are_a_gap_with_its_way_out(tmp_path):
    run = imported(tmp_path, **ROWS)
    (gap,) = run.gaps

    assert (gap.name, gap.count, gap.seconds) == ("graph launches", 3, pytest.approx(900e-9))
    assert gap.what.startswith("3 graph launches recorded as a whole, 90% of device time")
    assert "`nsys profile --cuda-graph-trace=node`" in gap.what
    assert gap.what in next(f for f in diagnose(read(run)) if f.code == "RF007").evidence


def test_a_recording_of_graphs_alone(tmp_path):
    """Tables are made when they are needed: without a kernel there is no table of any."""
    only = {name: rows for name, rows in ROWS.items() if name != "kernels"}
    run = imported(tmp_path, without=("CUPTI_ACTIVITY_KIND_KERNEL",), **only)
    assert [row["duration_ns"] for row in kernels(run)] == [500, 300, 100]


def test_what_the_profiler_could_not_take(tmp_path):
    """No times: left out, and said; no device, since it began on the host: there is only one."""
    rows = [graph(200, 700, 2), graph(0, 0, 3), graph(800, 900, 4, device=ON_HOST)]
    run = imported(tmp_path, kernels=[], runtime=graphs_launched(2, 3, 4), **{GRAPH_TABLE: rows})

    assert [row["duration_ns"] for row in kernels(run)] == [500, 100]
    assert "left out, without a usable start: 1 device activity" in run.recorder.warnings
    assert [(gap.name, gap.count) for gap in run.gaps] == [("graph launches", 2)]
    assert any("on which device ran 1 activity" in each for each in run.recorder.warnings)


def test_a_graph_whose_kernels_are_there_too_counts_once(tmp_path):
    """Graph 4 of launch 2 ran the two kernels of launch 2; that of launch 3 has none."""
    run = imported(
        tmp_path,
        kernels=[kernel(200, 300, 2), kernel(300, 700, 2)],
        runtime=graphs_launched(2, 3),
        **{GRAPH_TABLE: [graph(200, 700, 2), graph(800, 1100, 3)]},
    )

    assert [row["duration_ns"] for row in kernels(run)] == [100, 400, 300]
    assert [(gap.name, gap.count) for gap in run.gaps] == [
        ("graph launches", 2), ("graph launches", 1),
    ]  # fmt: skip


@pytest.mark.parametrize("without", [(), ("CUPTI_ACTIVITY_KIND_RUNTIME",)])
def test_it_counts_once_where_its_launch_was_lost(tmp_path, without):
    """Graph and kernels have the same process and correlation id; of process 6 it is another."""
    run = imported(
        tmp_path,
        without,
        kernels=[kernel(100, 110, 1), kernel(200, 300, 2), kernel(300, 700, 2),
                 kernel(750, 760, 3, process=6)],
        **{GRAPH_TABLE: [graph(200, 700, 2), graph(800, 1100, 3)]},
        **({} if without else {"runtime": [launch(10, 15, 1)]}),
    )  # fmt: skip
    assert [row["duration_ns"] for row in kernels(run)] == [10, 100, 400, 10, 300]


@pytest.mark.parametrize("number", [1, ON_HOST])
def test_the_device_is_chosen_when_graphs_are_single(tmp_path, number):
    """Device 0 has 700 ns; two kernels and the graph that ran them have 500 ns each."""
    at = 1 if number == 1 else 0
    run = imported(
        tmp_path,
        kernels=[kernel(1000, 1700, 1, device=1 - at), kernel(1000, 1250, 2, device=at),
                 kernel(1250, 1500, 2, device=at)],
        runtime=[launch(10, 15, 1), *graphs_launched(2)],
        **{GRAPH_TABLE: [graph(1000, 1500, 2, device=number)]},
    )  # fmt: skip
    assert [row["duration_ns"] for row in kernels(run)] == [700]
    assert [(gap.name, gap.count, gap.seconds) for gap in run.gaps] == [(f"device {at}", 2, 5e-7)]


def test_unknown_time_of_graphs_is_not_zero(tmp_path):
    rows = {GRAPH_TABLE: [graph(200, 200, 2)], "runtime": graphs_launched(2, 3)}
    run = imported(tmp_path, kernels=[kernel(300, 300, 3)], **rows)
    assert [(gap.count, gap.seconds) for gap in run.gaps] == [(1, None), (1, None)]


def test_they_are_kept_in_a_run(tmp_path):
    run = imported(tmp_path, **ROWS)
    runfile.save(run, tmp_path / "a.roof")
    again = runfile.load(tmp_path / "a.roof")
    assert (again.rows(), again.gaps) == (run.rows(), run.gaps)
