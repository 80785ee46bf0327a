"""What is not a run, or not one for this version, is refused in one sentence."""

import errno
import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from roofline import runfile
from roofline.call import Call, Tensor
from roofline.errors import BadInput
from roofline.report.document import of_run
from roofline.runfile import Signature
from tests.runs import Script, call, tensor

RUN = Script().add(call("aten::mm", tensor(2, 3), tensor(3, 5)), 1).end_step().run()


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "run.roof"
    runfile.save(RUN, path)
    return path


def test_missing(tmp_path):
    with pytest.raises(BadInput, match="no run file"):
        runfile.load(tmp_path / "absent.roof")


def test_garbage_truncated_and_directory(tmp_path, saved):
    (tmp_path / "garbage.roof").write_bytes(b"not parquet")
    (tmp_path / "short.roof").write_bytes(saved.read_bytes()[:-20])
    for name, words in (
        ("garbage.roof", "is no run file; `roofline import` reads those of profilers"),
        ("short.roof", "cannot be read as a run file: its end is missing"),
    ):
        with pytest.raises(BadInput, match=words) as caught:
            runfile.load(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(BadInput, match="is a folder"):
        runfile.load(tmp_path)


@pytest.mark.parametrize("index", [1, -1])
def test_an_event_of_a_signature_that_is_not_there(saved, index):
    events = pq.read_table(saved)  # one event, of signature 0, the only one
    at = events.schema.get_field_index("signature")
    damaged = events.set_column(at, events.schema.field(at), pa.array([index], pa.int32()))
    pq.write_table(damaged, saved)
    with pytest.raises(BadInput, match="names a signature that is not there"):
        runfile.load(saved)


def test_a_full_disk_is_called_that(tmp_path, monkeypatch):
    def full(_, where, **__):
        os.unlink(where)  # as Arrow does with a file it could not finish
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(BadInput, match="No space left on device"):
        runfile.save(RUN, tmp_path / "run.roof")
    assert list(tmp_path.iterdir()) == []


def test_another_parquet_file(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "x.parquet")
    with pytest.raises(BadInput, match="is a Parquet file but not a roofline run"):
        runfile.load(tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"schema": "roofline.run/2"},
            "is written as roofline.run/2; this version reads roofline.run/1",
        ),
        ({"recorder": 5}, "is damaged"),
        ({"schema": None}, "is written as None"),
    ],
)
def test_newer_and_damaged(saved, change, message):
    events = pq.read_table(saved)
    meta = json.loads(events.schema.metadata[b"roofline"]) | change
    pq.write_table(events.replace_schema_metadata({b"roofline": json.dumps(meta)}), saved)
    with pytest.raises(BadInput, match=message):
        runfile.load(saved)


def test_a_failed_save_leaves_the_earlier_file(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(BadInput, match=r"cannot write .*run.roof: No space left on device"):
        runfile.save(RUN, saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == ["run.roof"]


def test_no_such_folder(tmp_path):
    with pytest.raises(BadInput, match=r"cannot write .*: No such file or directory"):
        runfile.save(RUN, tmp_path / "absent" / "run.roof")


def test_the_file_is_readable_by_common_tools(saved):
    import duckdb

    rows = duckdb.sql(f"select kind, duration_ns from read_parquet('{saved}')").fetchall()
    assert rows == [("op", 1000)]


def test_every_kind_of_argument_survives(tmp_path):
    args = (
        Tensor((2,), "bf16", (1,), 0, 3),
        1,
        2.5,
        True,
        "inf",
        None,
        (1, 2),
        (Tensor((1,)), None),
    )
    run = Script().add(Call("x::y", args), 1).end_step().run()
    runfile.save(run, tmp_path / "a.roof")

    assert runfile.load(tmp_path / "a.roof").signatures == (
        Signature(name="x::y", call=Call("x::y", args)),
    )


def test_a_run_takes_the_place_of_a_run_and_of_nothing_else(tmp_path, saved):
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "empty.roof").touch()

    assert runfile.place_for(saved) == saved
    assert runfile.place_for(tmp_path / "new.roof") == tmp_path / "new.roof"
    assert runfile.place_for(tmp_path / "empty.roof") == tmp_path / "empty.roof"
    for path, words in (
        (tmp_path / "train.py", "it is there and is no run file"),
        (tmp_path, "it is a folder"),
        (tmp_path / "no" / "x.roof", "there is no folder"),
    ):
        with pytest.raises(BadInput, match=f"cannot write .*: {words}"):
            runfile.place_for(path)


def test_an_element_type_that_nobody_knows_is_named(tmp_path):
    """As a newer version may write it: what it counted stays, else it is unknown and not zero."""
    x = Tensor((1024,), "fp12")
    strange = call("aten::relu", x, out=x)
    runfile.save(Script().add(strange, 100).end_step().run(), tmp_path / "strange.roof")
    (signature,) = runfile.load(tmp_path / "strange.roof").signatures

    assert signature.call is None
    assert signature.ledger.unaccounted == ("aten::relu",)
    found = of_run(runfile.load(tmp_path / "strange.roof"))
    assert found["coverage"] == 0.0
    (unknown,) = [f for f in found["findings"] if f["code"] == "RF002"]
    assert unknown["evidence"][0].endswith("no element type fp12 is known")
    assert found["items"][0]["demand"] is None
