"""A trace in stretches gives what it gives whole; what is kept in a file comes back as it was."""

import gzip
import json
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from roofline import kept
from roofline.errors import BadInput
from roofline.importers import load
from roofline.importers.kineto import trace as read
from roofline.importers.kineto.stretches.divide import Stretches
from roofline.report.document import of_run
from tests.importers.kineto.traces import Trace, matmul

RECORDED = sorted((Path(__file__).parent / "torch-2.11").glob("*.json.gz"))


def in_stretches(monkeypatch, path: Path, rows: int):
    """The run of a trace whose stretches have about so many rows, and how many there were."""
    counts: list[int] = []

    class Counting(Stretches):
        def divide(self) -> int:
            counts.append(super().divide())
            return counts[-1]

    with monkeypatch.context() as patched:
        patched.setattr(read, "Stretches", partial(Counting, rows=rows))
        return load([path]), counts[0]


def words(run) -> list[str]:
    """Every row in words: numbers of signatures and rows depend on the order of stretches."""
    rows = run.rows()
    names = [run.signatures[row["signature"]].name for row in rows]
    said = []
    for row, name in zip(rows, names, strict=True):
        cause = row["parent"]
        started = None if cause is None else (names[cause], rows[cause]["start_ns"])
        said.append(repr({**row, "signature": name, "parent": started}))
    return sorted(said)


def same(run, again) -> None:
    assert words(run) == words(again)
    assert (run.steps, run.gaps) == (again.steps, again.gaps)
    assert run.recorder == again.recorder
    one, two = of_run(run), of_run(again)
    assert {i["name"]: i["measured_s"] for i in one["items"]} == pytest.approx(
        {i["name"]: i["measured_s"] for i in two["items"]}
    )
    assert [f["code"] for f in one["findings"]] == [f["code"] for f in two["findings"]]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.partition(".")[0])
def test_recordings_in_stretches_are_the_same(monkeypatch, path):
    for rows in (60, 400):
        same(load([path]), in_stretches(monkeypatch, path, rows)[0])


def long(tmp_path: Path, **beside) -> Path:
    """Forty steps: a product in a module, its backward, a graph, a stray kernel, a copy."""
    trace = Trace(**beside)
    trace.add("python_function", "nn.Module: Net_0", 0, 60_000)
    for step in range(40):
        at = 1000 * step
        trace.add("user_annotation", f"ProfilerStep#{step}", at, 990)
        matmul(trace, at + 10)
        trace.op(
            "aten::mul",
            at + 200,
            50,
            ((4,), "fp32"),
            ((4,), "fp32"),
            args={"Sequence number": step},
        )
        trace.op(
            "autograd::engine::evaluate_function: X",
            at + 300,
            90,
            args={"Sequence number": step},
            tid=2,
        )
        trace.op("aten::neg", at + 310, 50, ((4,), "fp32"), tid=2)
        trace.kernel("layer", at + 1800, 4, launch=at + 500, by="cudaGraphLaunch")
        trace.kernel("stray", at + 600, 4)
        trace.kernel(
            "Memcpy HtoD (a -> b)", at + 650, 4, launch=at + 640, cat="gpu_memcpy", bytes=64
        )
    path = tmp_path / "long.json"
    path.write_text(trace.text())
    return path


def test_several_devices_and_odd_times_in_stretches_are_the_same(tmp_path, monkeypatch):
    """Device 1 works 20 of 60 times; one kernel ends 100 s late, one begins 1 ms before its launch."""
    trace = Trace()
    for number in range(60):
        matmul(trace, 1000 * number, device=number % 3 // 2)
    trace.events[-1]["dur"] = 1e8
    trace.events[5]["ts"] -= 1100
    path = trace.write(tmp_path / "devices.json")
    again, stretches = in_stretches(monkeypatch, path, 40)

    assert stretches > 3
    assert [gap.name for gap in again.gaps] == ["device 1"]
    assert len(again.recorder.warnings) == 1
    same(load([path]), again)


def test_modules_graphs_and_strays_over_many_stretches(monkeypatch, tmp_path):
    path = long(tmp_path)
    again, stretches = in_stretches(monkeypatch, path, 50)
    assert stretches > 5
    same(load([path]), again)
    # Each kernel of a graph, launched at 500 in its step, ran in the middle of the next one.
    rows = again.rows()
    layers = [row for row in rows if again.signatures[row["signature"]].name == "layer"]
    assert [row["step"] for row in layers] == [*range(40)]
    assert {rows[row["parent"]]["kind"] for row in layers} == {"launch"}
    # Backward is told by its number, in the module of its forward operator.
    negs = [row for row in rows if again.signatures[row["signature"]].name == "aten::neg"]
    assert {(row["phase"], row["module"]) for row in negs} == {("backward", "Net_0")}


def test_an_operator_that_never_ends_is_one_stretch(monkeypatch, tmp_path):
    path = long(tmp_path)
    document = json.loads(path.read_text())
    around = next(e for e in document["traceEvents"] if e["name"] == "aten::neg")
    document["traceEvents"].append(
        {**around, "name": "aten::wait", "tid": 9, "ts": around["ts"] - 500, "dur": 90_000}
    )
    path.write_text(json.dumps(document))
    again, stretches = in_stretches(monkeypatch, path, 50)
    assert stretches == 1
    same(load([path]), again)


def test_launches_of_two_processes_are_one_stretch(monkeypatch, tmp_path):
    path = long(tmp_path)
    document = json.loads(path.read_text())
    document["traceEvents"] += [
        {**event, "pid": 77}
        for event in document["traceEvents"]
        if event.get("cat") == "cuda_runtime"
    ]
    path.write_text(json.dumps(document))
    again, stretches = in_stretches(monkeypatch, path, 50)
    assert stretches == 1
    same(load([path]), again)


def test_a_duration_that_cannot_be_at_the_end_of_a_stretch(monkeypatch, tmp_path):
    """The last kernel of a stretch runs over all of the next: only that one tells."""
    trace = Trace()
    for at in range(100):
        trace.op("aten::mul", 100 * at, 50, ((4,), "fp32"), ((4,), "fp32"))
        trace.kernel("k", 100 * at + 20, 5000 if at % 10 == 9 else 5, launch=100 * at + 10)
    path = tmp_path / "long.json"
    path.write_text(trace.text())
    again, stretches = in_stretches(monkeypatch, path, 30)
    assert stretches > 5
    same(load([path]), again)
    # 5 us is the median; 5,000 us is a thousand times that, and 1,000 us later others have ended.
    # Of the ten, the last has nothing after it.
    unknown = [r for r in again.rows() if r["kind"] == "kernel" and r["duration_ns"] is None]
    assert len(unknown) == 9


def test_a_stream_of_few_kernels_is_doubted_alike_in_stretches(monkeypatch, tmp_path):
    """Stream 9 runs every tenth time, for 5 us, and once for 3 ms by the trace: 600 times as long.

    Of the stretch in which it stands it is the stream's only one, and so would be its median.
    """
    trace = Trace()
    for at in range(60):
        trace.op("aten::mul", 100 * at, 50, ((4,), "fp32"), ((4,), "fp32"))
        stream = 9 if at % 10 == 5 else 7
        trace.kernel(
            "k", 100 * at + 20, 3000 if at == 15 else 5, launch=100 * at + 10, stream=stream
        )
    path = trace.write(tmp_path / "few.json")
    again, stretches = in_stretches(monkeypatch, path, 30)

    assert stretches > 5
    same(load([path]), again)
    unknown = [r for r in again.rows() if r["kind"] == "kernel" and r["duration_ns"] is None]
    assert [(row["start_ns"], row["stream"]) for row in unknown] == [(1_520_000, 9)]


def test_a_long_kernel_of_two_that_overlap_is_believed_where_nothing_ended(tmp_path):
    """On one stream 2 ms from 900 us on, in it 3 ms from 1,000 on; the next ends at 3,005 us.

    That is after the first ended and before the second did: only the second cannot be.
    """
    trace = Trace()
    for number, (at, us) in enumerate([(0, 5), (900, 2000), (1000, 3000), (3000, 5), (5000, 5)]):
        trace.op("aten::mul", 10 * number, 5, ((4,), "fp32"), ((4,), "fp32"))
        trace.kernel("k", at + 100, us, launch=10 * number + 1)
    run = load([trace.write(tmp_path / "two.json")])

    assert [row["duration_ns"] for row in run.rows() if row["kind"] == "kernel"] == [
        5_000, 2_000_000, None, 5_000, 5_000,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "kept_of",
    [{"cpu_op", "user_annotation"}, {"kernel"}, {"kernel", "cuda_runtime"}],
    ids=["the host alone", "kernels alone", "no operators"],
)
def test_parts_of_a_trace_in_stretches(monkeypatch, tmp_path, kept_of):
    path = long(tmp_path)
    document = json.loads(path.read_text())
    document["traceEvents"] = [e for e in document["traceEvents"] if e["cat"] in kept_of]
    path.write_text(json.dumps(document))
    again, stretches = in_stretches(monkeypatch, path, 30)
    assert stretches > 1
    same(load([path]), again)


def test_launches_joined_by_external_id_over_many_stretches(monkeypatch, tmp_path):
    """Launches stand on a thread of their own, and nesting joins none in any stretch."""
    trace = Trace()
    for at in range(60):
        number = trace.op("aten::mul", 100 * at, 50, ((4,), "fp32"), ((4,), "fp32"))["args"][
            "External id"
        ]
        trace.kernel("k", 100 * at + 20, 5, launch=100 * at + 10)
        launch = trace.events[-2]
        launch |= {"tid": 9}
        launch["args"] |= {"External id": number}
    path = tmp_path / "long.json"
    path.write_text(trace.text())
    again, stretches = in_stretches(monkeypatch, path, 30)
    assert stretches > 3
    same(load([path]), again)
    rows = again.rows()
    causes = {again.signatures[rows[row["parent"]]["signature"]].name
              for row in rows if row["kind"] == "kernel"}  # fmt: skip
    assert causes == {"aten::mul"}


def test_gzipped_and_in_stretches(monkeypatch, tmp_path):
    path = long(tmp_path)
    packed = path.with_suffix(".json.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert words(in_stretches(monkeypatch, packed, 50)[0]) == words(load([path]))


@pytest.mark.parametrize("most", [0, 200, 1 << 20])
def test_kept_tables_come_back(most):
    given = kept.Kept(most)
    for at in range(5):
        given.add(
            "a", pa.table({"x": [at, at + 1], "word": pa.array(["p", str(at)]).dictionary_encode()})
        )
        given.add("b", pa.table({"y": [1.5 * at]}))
    a = given.take("a")
    assert a["x"].to_pylist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
    assert a["word"].to_pylist() == ["p", "0", "p", "1", "p", "2", "p", "3", "p", "4"]
    given.add("b", pa.table({"y": [9.0]}))  # after something was read
    assert given.take("b")["y"].to_pylist() == [0.0, 1.5, 3.0, 4.5, 6.0, 9.0]
    assert given.take("a") is None


@pytest.mark.parametrize("several", [False, True])
def test_a_shelf_gives_back_in_order(several):
    shelf = kept.Shelf(several)
    for at in range(3):
        shelf.put({"at": at})
    assert [found["at"] for found in shelf] == [0, 1, 2]


@pytest.mark.parametrize("most", [0, 1 << 20])
def test_a_column_of_whole_numbers(most):
    column = kept.column(5, most)
    column[3] = -(2**62)
    assert column.tolist() == [0, 0, 0, -(2**62), 0]
    assert len(kept.column(0, most)) == 0


def test_a_folder_without_room_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(BadInput, match="TMPDIR names another folder"):
        kept.column(5, most=0)
