"""Nsight Systems databases, hand-written: joins, ranges, steps, missing and renamed tables."""

import gzip
import sqlite3

import pyarrow as pa
import pytest

from roofline import runfile
from roofline.errors import BadInput
from roofline.importers import Options, load
from roofline.importers.nsys import database
from roofline.importers.nsys import read as tables
from roofline.importers.nsys.configured import Configured
from roofline.program import read
from tests.importers.nsys.databases import TABLES, kernel, kernels, launch, pushed, run, write

TWO = {"kernels": [kernel(1000, 3000, 1), kernel(3000, 3500, 2, name=2)],
       "runtime": [launch(100, 200, 1), launch(300, 400, 2)]}  # fmt: skip


@pytest.fixture(params=["adbc", "sqlite3"])
def driver(request, monkeypatch):
    """Both ways to read a database."""
    if request.param == "sqlite3":
        monkeypatch.setattr(database, "find_spec", lambda name: None)
    return request.param


def test_kernels_and_their_launches(driver, tmp_path):
    """Two kernels of 2000 and 500 ns; times count from the first launch, at 100."""
    imported = run(tmp_path, **TWO)
    first, second, *launches = imported.rows()
    names = [imported.signatures[row["signature"]].name for row in imported.rows()]

    assert names == ["gemm<float>", "add", "cudaLaunchKernel", "cudaLaunchKernel"]
    assert [(r["start_ns"], r["duration_ns"]) for r in (first, second)] == [
        (900, 2000),
        (2900, 500),
    ]
    assert [(r["kind"], r["start_ns"], r["duration_ns"]) for r in launches] == [
        ("launch", 0, 100), ("launch", 200, 100),
    ]  # fmt: skip
    assert (first["parent"], second["parent"], first["stream"]) == (2, 3, 7)
    assert first["counters"] == {
        "grid": 20, "block": 128, "registers per thread": 32, "shared memory": 1024,
    }  # fmt: skip


def test_a_large_table_is_read_in_halves(driver, tmp_path, monkeypatch):
    """The same events in the same order."""
    several = {
        "kernels": [kernel(1000 * at, 1000 * at + 500, at, name=1 + at % 2) for at in range(1, 8)],
        "runtime": [launch(1000 * at - 400, 1000 * at - 300, at) for at in range(1, 8)],
    }
    whole = run(tmp_path, **several).rows()
    monkeypatch.setattr(tables, "_SIDE_BY_SIDE", 2)
    (tmp_path / "halves").mkdir()

    assert run(tmp_path / "halves", **several).rows() == whole


def test_configurations_are_of_their_own_kernels_beside_copies():
    """Kernel, copy, another kernel, the first again; then one of which only the grid is known."""
    grid, block = ("grid", 20.0), ("block", 128.0)
    rest = [("registers per thread", 32.0), ("shared memory", 0.0)]
    known = [(20, 128, 32, 0), (None,) * 4, (7, 128, 32, 0), (20, None, None, None)]
    first, other = [grid, block, *rest], [("grid", 7.0), block, *rest]

    def counters(configurations, numbers):
        return Configured(configurations, rows=4).of(pa.array(numbers)).to_pylist()

    assert counters(known[:3], [0, 1, 2, 0]) == [first, [], other, first]
    assert counters(known, [3, 2, 1]) == [[grid], other, []]


def test_what_can_be_said(driver, tmp_path):
    """Busy 2.5 us of 3.4 us; nothing is accounted for, on the device that the file names."""
    program = read(run(tmp_path, **TWO))

    assert program.device.name == "NVIDIA H100 SXM5 80GB"
    assert program.whole.busy_s == pytest.approx(2.5e-6)
    assert program.whole.step_s == pytest.approx(3.4e-6)
    assert program.whole.coverage == 0.0


def test_two_processes_with_the_same_correlation_ids(driver, tmp_path):
    """Joined by correlation and process: each kernel gets its own process's launch."""
    imported = run(
        tmp_path,
        kernels=[kernel(1000, 2000, 1, process=5), kernel(1500, 2500, 1, process=6, name=2)],
        runtime=[launch(500, 600, 1, process=6), launch(100, 200, 1, process=5)],
        nvtx=[pushed(0, 300, "first", process=5), pushed(400, 700, "second", process=6)],
    )
    first, second, *_ = imported.rows()

    assert (first["module"], second["module"]) == ("first", "second")
    assert first["thread"] != second["thread"]
    assert [r["start_ns"] for r in imported.rows() if r["kind"] == "launch"] == [0, 400]


def test_kernels_that_do_not_say_their_process(driver, tmp_path):
    """One process: the id alone joins.  Two: nothing is guessed."""
    columns = dict(TABLES)
    columns["CUPTI_ACTIVITY_KIND_KERNEL"] = (
        'start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, demangledName INTEGER'
    )
    bare = {
        "start": 1000,
        "end": 2000,
        "deviceId": 0,
        "streamId": 7,
        "correlationId": 1,
        "demangledName": 1,
    }
    alone = load(
        [write(tmp_path / "a", tables=columns, kernels=[bare], runtime=[launch(100, 200, 1)])]
    )
    two = load(
        [write(tmp_path / "b", tables=columns, kernels=[bare],
               runtime=[launch(100, 200, 1), launch(300, 400, 1, process=6)])]
    )  # fmt: skip

    assert kernels(alone)[0]["parent"] == 1
    assert kernels(two)[0]["parent"] is None
    assert any("says which of 2 processes" in text for text in two.recorder.warnings)


def test_ranges_nest_into_modules(driver, tmp_path):
    """The innermost ranges around a launch, on its thread only; other kinds of range do not count."""
    imported = run(
        tmp_path,
        kernels=[kernel(1000, 1100, 1), kernel(1200, 1300, 2), kernel(1400, 1500, 3)],
        runtime=[launch(110, 120, 1), launch(160, 170, 2), launch(210, 220, 3, thread=2)],
        nvtx=[pushed(100, 200, "forward"), pushed(150, 180, "layer 1"), pushed(0, 900, "mark", kind=60),
              pushed(300, 400, "later", thread=2)],
    )  # fmt: skip

    assert [row["module"] for row in kernels(imported)] == ["forward", "forward.layer 1", ""]


def test_ranges_named_as_steps_are_steps(driver, tmp_path):
    """Two iterations; what was launched in one belongs to it wherever it runs."""
    imported = run(
        tmp_path,
        kernels=[kernel(150, 450, 1), kernel(450, 600, 2)],
        runtime=[launch(110, 120, 1), launch(310, 320, 2)],
        nvtx=[
            pushed(100, 200, "iteration 0"),
            pushed(300, 400, "iteration 1"),
            pushed(105, 190, "model"),
        ],
    )

    assert [step.name for step in imported.steps] == ["iteration 0", "iteration 1"]
    assert [row["step"] for row in kernels(imported)] == [0, 1]
    assert [row["module"] for row in kernels(imported)] == ["model", ""]
    assert imported.steps[1].duration_ns == 300  # 300..400 on the host, the device is done at 600


def test_copies_and_memsets_have_their_bytes(driver, tmp_path):
    """1 MB from the host crosses the link and memory; a memset writes memory."""
    copy = {"start": 10, "end": 60, "deviceId": 0, "streamId": 7, "correlationId": 4, "globalPid": 5 << 24,
            "bytes": 1_000_000, "copyKind": 1}  # fmt: skip
    zero = {
        "start": 70,
        "end": 80,
        "deviceId": 0,
        "streamId": 7,
        "correlationId": 5,
        "globalPid": 5 << 24,
        "bytes": 4096,
    }
    imported = run(tmp_path, kernels=[kernel(100, 200, 1)], memcpy=[copy], memset=[zero])
    by_name = {s.name: s.ledger for s in imported.signatures}

    assert {r.name: n for r, n in by_name["Memcpy HtoD"].demand().items()} == {
        "pcie": 1_000_000,
        "dram": 1_000_000,
    }
    assert {r.name: n for r, n in by_name["Memset (Device)"].demand().items()} == {"dram": 4096}
    assert [row["kind"] for row in kernels(imported)] == ["memcpy", "memcpy", "kernel"]


def test_two_devices(driver, tmp_path):
    """The one that worked longer is the run; the other is a gap with its time."""
    imported = run(
        tmp_path, kernels=[kernel(0, 100, 1), kernel(0, 5000, 2, device=1), kernel(200, 300, 3)]
    )

    assert len(kernels(imported)) == 1
    (gap,) = imported.gaps
    assert (gap.name, gap.count, gap.seconds) == ("device 0", 2, 200e-9)
    assert gap.what.endswith("; --device cuda:0 imports it instead")
    other = load([tmp_path / "export"], Options(device="cuda:0"))
    assert len(kernels(other)) == 2
    assert [(gap.name, gap.count) for gap in other.gaps] == [("device 1", 1)]
    with pytest.raises(BadInput, match=r"ran on cuda:2, .* there is cuda:0, cuda:1$"):
        load([tmp_path / "export"], Options(device="cuda:2"))


def test_a_graph_launch_starts_several(driver, tmp_path):
    """Three kernels of one correlation id: one launch row, the parent of all."""
    imported = run(
        tmp_path,
        kernels=[kernel(100 * i, 100 * i + 50, 9) for i in range(1, 4)],
        runtime=[launch(0, 40, 9)],
    )

    assert [row["parent"] for row in kernels(imported)] == [3, 3, 3]
    assert len(imported.rows()) == 4


def test_a_launch_recorded_twice(driver, tmp_path):
    """By the runtime and by the driver under one id: no kernel is doubled."""
    imported = run(
        tmp_path, kernels=[kernel(100, 150, 1)], runtime=[launch(10, 40, 1), launch(20, 30, 1)]
    )

    assert len(kernels(imported)) == 1
    assert [r["start_ns"] for r in imported.rows() if r["kind"] == "launch"] == [0]


@pytest.mark.parametrize(
    "table", ["TARGET_INFO_GPU", "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "StringIds"]
)
def test_a_missing_table_is_named(driver, table, tmp_path):
    """It works without, and says which fact is missing."""
    imported = run(tmp_path, without=(table,), kernels=TWO["kernels"],
                   **({} if "RUNTIME" in table else {"runtime": TWO["runtime"]}))  # fmt: skip
    said = {"TARGET_INFO_GPU": "names the GPU", "NVTX_EVENTS": "no NVTX ranges",
            "CUPTI_ACTIVITY_KIND_RUNTIME": "no calls of the runtime", "StringIds": "no table of strings"}  # fmt: skip

    assert len(kernels(imported)) == 2
    assert any(said[table] in text for text in imported.recorder.warnings)
    assert (imported.device is None) == (table == "TARGET_INFO_GPU")


def test_no_kernels_at_all(tmp_path):
    """A recording without CUDA: which flag to set; an empty table: nothing ran."""
    with pytest.raises(BadInput, match="--trace=cuda,nvtx"):
        run(tmp_path, without=("CUPTI_ACTIVITY_KIND_KERNEL",))
    with pytest.raises(BadInput, match="nothing ran on a GPU"):
        load([write(tmp_path / "empty", kernels=[])])


def test_versioned_tables_and_renamed_columns(driver, tmp_path):
    """Tables ending in _V2, columns of other years, names as text, numbers as text."""
    columns = dict(TABLES)
    columns["CUPTI_ACTIVITY_KIND_KERNEL"] = (
        "startNs INTEGER, endNs INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, pid INTEGER, kernelName TEXT"
    )
    rows = [
        {
            "startNs": 10,
            "endNs": 30,
            "deviceId": 0,
            "streamId": 1,
            "correlationId": 1,
            "pid": 5,
            "kernelName": "_Z3fooPf",
        }
    ]
    imported = load([
        write(tmp_path / "x", tables=columns, kernels=rows, runtime=[launch(1, 2, 1)],
              nvtx=[pushed(0, 9, "outer")],
              renamed={"NVTX_EVENTS": "NVTX_EVENTS_V2", "CUPTI_ACTIVITY_KIND_RUNTIME": "CUPTI_ACTIVITY_KIND_RUNTIME_V3"})
    ])  # fmt: skip
    (row,) = kernels(imported)

    assert imported.signatures[row["signature"]].name == "foo"
    assert (row["duration_ns"], row["module"], row["parent"]) == (20, "outer", 1)


def test_rows_in_any_order(driver, tmp_path):
    """Rows of a table have no order: the same kernels, launches and joins, each list turned round."""
    starts = [launch(1000 * at - 50, 1000 * at - 10, at) for at in range(1, 5)]
    ran = [kernel(1000 * at, 1000 * at + 500, at) for at in range(1, 5)]
    straight = load([write(tmp_path / "straight", kernels=ran, runtime=starts)])
    mixed = starts[1:] + starts[:1]
    turned = load([write(tmp_path / "turned", kernels=ran[::-1], runtime=mixed)])

    assert straight.rows() == turned.rows()


def test_kernels_without_correlation_ids(driver, tmp_path):
    columns = dict(TABLES)
    kept = [c for c in columns["CUPTI_ACTIVITY_KIND_KERNEL"].split(", ") if "correlation" not in c]
    columns["CUPTI_ACTIVITY_KIND_KERNEL"] = ", ".join(kept)
    row = {k: v for k, v in kernel(10, 20, 1).items() if k != "correlationId"}
    imported = load(
        [write(tmp_path / "x", tables=columns, kernels=[row], runtime=[launch(1, 2, 1)])]
    )

    assert (
        "kernels have no correlation ids, and so no launch, thread or range"
        in imported.recorder.warnings
    )
    assert [row["parent"] for row in kernels(imported)] == [None]


def test_times_that_cannot_be(driver, tmp_path):
    """An end before its start, and none: durations unknown, counted, not negative."""
    rows = [kernel(100, 50, 1), kernel(200, None, 2), kernel(300, 300, 3), kernel(400, 500, 4)]
    imported = run(tmp_path, kernels=rows)

    assert [row["duration_ns"] for row in kernels(imported)] == [None, None, None, 100]
    assert any(
        "3 device activities without a positive duration" in t for t in imported.recorder.warnings
    )


def test_launches_whose_times_cannot_be(driver, tmp_path):
    """One that ended before it began, one of a hundred years, one of no length."""
    times = [(5, 1), (10, 10 + 3 * 10**18), (20, 20)]
    imported = run(
        tmp_path, kernels=[kernel(100 + at, 200 + at, at) for at in range(3)],
        runtime=[launch(start, end, at) for at, (start, end) in enumerate(times)],
    )  # fmt: skip
    launches = [row["duration_ns"] for row in imported.rows() if row["kind"] == "launch"]

    assert launches == [None, None, 0]


def test_ids_far_apart(driver, tmp_path):
    """The ends of 64 bits, with a process each or in one: every kernel has its own launch."""
    ids = [2**63 - 1, -(2**63), 7]
    ran = [kernel(100 * at + 50, 100 * at + 90, each) for at, each in enumerate(ids)]
    starts = [launch(100 * at, 100 * at + 9, each) for at, each in enumerate(ids)]
    other = [kernel(1000, 1010, 7, process=6)]
    alone = load([write(tmp_path / "alone", kernels=ran, runtime=starts)])
    two = [*starts, launch(900, 909, 7, process=6)]
    both = load([write(tmp_path / "both", kernels=ran + other, runtime=two)])

    assert [row["parent"] for row in kernels(alone)] == [3, 4, 5]
    assert [row["parent"] for row in kernels(both)] == [4, 5, 6, 7]


def test_text_in_a_grid(driver, tmp_path):
    """SQLite multiplies it as 0: no grid is that, and it is unknown; the rest is known."""
    imported = run(tmp_path, kernels=[kernel(1, 2, 1) | {"gridX": "x"}])

    assert kernels(imported)[0]["counters"] == {
        "block": 128, "registers per thread": 32, "shared memory": 1024,
    }  # fmt: skip


@pytest.mark.parametrize("bad", ["soon", b"\x01\x1b[31m", "12 s", 1e300])
def test_something_else_where_a_number_belongs(driver, bad, tmp_path):
    """That row is left out and counted; the others stay."""
    imported = run(tmp_path, kernels=[kernel(1, 2, 3), kernel(100, 200, 1) | {"start": bad}])

    assert [row["duration_ns"] for row in kernels(imported)] == [1]
    assert "1 cell without a number where one belongs: unknown" in imported.recorder.warnings
    assert "left out, without a usable start: 1 device activity" in imported.recorder.warnings


def test_no_start_at_all(driver, tmp_path):
    """Nothing can be placed: one sentence."""
    with pytest.raises(BadInput, match="no device activity has a usable start"):
        run(tmp_path, kernels=[kernel(1, 2, 1) | {"start": "soon"}])


def test_the_environment_never_leaves_the_file(driver, tmp_path):
    """Nor host and user names: the run is made of a few columns."""
    imported = run(tmp_path, **TWO)
    runfile.save(imported, tmp_path / "a.roof")

    assert b"hunter2" not in (tmp_path / "a.roof").read_bytes()
    assert b"SECRET_TOKEN" not in (tmp_path / "a.roof").read_bytes()


def test_gzipped_and_under_another_name(tmp_path):
    """By content; and saved, loaded and saved again it is the same."""
    plain = write(tmp_path / "x.csv", **TWO)
    packed = tmp_path / "x.json"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    imported = load([packed])
    runfile.save(imported, tmp_path / "a.roof")
    again = runfile.load(tmp_path / "a.roof")

    assert load([plain]).rows() == imported.rows() == again.rows()
    assert again.signatures == imported.signatures


def test_a_damaged_database(driver, tmp_path):
    """Overwritten from the middle on: one sentence, no traceback."""
    whole = write(tmp_path / "x", kernels=[kernel(i, i + 1, i) for i in range(5000)]).read_bytes()
    half = len(whole) // 2
    (tmp_path / "half").write_bytes(whole[:half] + bytes(len(whole) - half))

    with pytest.raises(BadInput, match="half is a damaged database"):
        load([tmp_path / "half"])


def test_rows_that_are_still_in_the_log(driver, tmp_path):
    """Of a database that is open for writing: they count, and its files stay as they are."""
    path = write(tmp_path / "x", kernels=[kernel(1, 2, 1)])
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("PRAGMA wal_autocheckpoint=0")
    writer.execute(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, 'end', deviceId) VALUES (10, 20, 0)"
    )
    writer.commit()
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    imported = load([path])
    after = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    writer.close()

    assert [row["duration_ns"] for row in kernels(imported)] == [1, 10]
    assert "x-wal" in before
    assert before == after


def test_a_write_that_was_interrupted(driver, tmp_path):
    """Its journal has the pages as they were: what was written of it does not count."""
    path = write(tmp_path / "x", kernels=[kernel(10 * at, 10 * at + 5, at) for at in range(500)])
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA cache_size=1")  # pages go to the file before the end of the write
    writer.execute('UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET "end" = start + 1')
    (tmp_path / "stopped").write_bytes(path.read_bytes())
    (tmp_path / "stopped-journal").write_bytes((tmp_path / "x-journal").read_bytes())
    writer.rollback()
    writer.close()

    assert {row["duration_ns"] for row in kernels(load([tmp_path / "stopped"]))} == {5}


def test_the_device_can_be_stated(tmp_path):
    """Where the file leaves it open, and never against what it says."""
    path = write(tmp_path / "x", **TWO)

    assert load([path], Options(device="h100-sxm")).device.name.startswith("NVIDIA H100")
    with pytest.raises(BadInput, match=r"recorded on NVIDIA H100.*--device says NVIDIA A100"):
        load([path], Options(device="a100-sxm4-80gb"))
