"""The frame around every format: recognised by content, refused in one sentence."""

import gzip
import os
import threading
from pathlib import Path

import pytest

from roofline.errors import BadInput
from roofline.importers import FORMATS, foreign_file, load, recognise
from roofline.importers.format import HEAD, source

HERE = Path(__file__).parent
TRACE = HERE / "kineto" / "torch-2.11" / "ln_hand.json.gz"
PAGE = HERE / "ncu" / "2025.3" / "ln_hand.raw.csv.gz"


def test_names_are_no_evidence(tmp_path):
    """A trace named like a table and a table named like a trace."""
    for path, name, kind in ((TRACE, "kernels.csv", "kineto"), (PAGE, "trace.json", "ncu")):
        (tmp_path / name).write_bytes(gzip.decompress(path.read_bytes()))
        assert recognise(source(tmp_path / name)).name == kind


def test_each_sample_belongs_to_one_format_only():
    for each in FORMATS:
        samples = [p for p in (HERE / each.name).rglob("*") if p.suffix in (".gz", ".json", ".csv")]
        for path in samples:
            if "README" not in path.name:
                assert recognise(source(path)).name == each.name, path


def test_names_and_titles_are_distinct():
    assert len({each.name for each in FORMATS}) == len(FORMATS)
    assert len({each.title for each in FORMATS}) == len(FORMATS)


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        (b"", "is empty"),
        (b"PAR1\x15\x00", "is a Parquet file: a saved run opens with `roofline show`"),
        (b"PK\x03\x04rest", "is a zip archive: unpack it first"),
        (b"\x28\xb5\x2f\xfd", "is compressed, not by gzip"),
        (b"\x7fELF\x02", "is a program"),
        (b"\x89PNG\r\n", "is a picture or document"),
        (b'{"cells": [], "nbformat": 4}', "is a notebook"),
        (b"<!doctype html><html>", "is a web page"),
        (b'{"name": "x"}', "is JSON, but no trace known here"),
        (b"abc\0def", "is binary, and of no kind known here"),
        (b"hello\n", "is text of no kind known here"),
        (b"a,b,c,d,e,f,g,h,i,j,k\n", "is a table without known columns"),
    ],
)
def test_a_file_that_is_none_of_ours(tmp_path, content, looks):
    for name, data in (("x.json", content), ("x.json.gz", gzip.compress(content))):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(BadInput) as caught:
            load([tmp_path / name])
        assert str(caught.value).startswith(f"{name} {looks}; imported are ")
        assert "PyTorch profiler trace" in str(caught.value)


def test_absent_unreadable_and_none(tmp_path):
    with pytest.raises(BadInput, match=r"cannot read .*absent.json: No such file or directory"):
        load([tmp_path / "absent.json"])
    with pytest.raises(BadInput, match="Is a directory"):
        load([tmp_path])
    with pytest.raises(BadInput, match="no file to import; there are readers for "):
        load([])


def test_files_that_do_not_belong_together(tmp_path):
    stats = tmp_path / "stats.csv"
    stats.write_text("Time (%),Total Time (ns),Instances,Avg (ns),Name\n100.0,5000,1,5000,gemm\n")
    for files in ([TRACE, stats], [TRACE, PAGE, stats]):
        with pytest.raises(
            BadInput, match=r"is a PyTorch profiler trace; .* imported one at a time"
        ):
            load(files)
    with pytest.raises(BadInput, match="each trace is a run of its own; import them one at a time"):
        load([TRACE, TRACE.with_name("decode_1.json.gz")])


def test_gzip_members_padding_and_damage(tmp_path):
    """Members follow one another; damage ends the text and keeps what stands before it."""
    text = b"x" * (2 * HEAD)
    whole = gzip.compress(text[:100]) + gzip.compress(text[100:]) + b"\0" * 512
    (tmp_path / "two.gz").write_bytes(whole)
    with source(tmp_path / "two.gz").open() as stream:
        assert stream.read() == text

    (tmp_path / "cut.gz").write_bytes(gzip.compress(bytes(range(256)) * 4000)[:2000])
    cut = source(tmp_path / "cut.gz")
    assert cut.head.startswith(bytes(range(256)))
    (tmp_path / "none.gz").write_bytes(b"\x1f\x8b\x08\x00garbage")
    with pytest.raises(
        BadInput, match=r"none.gz cannot be read: the gzip file (is damaged|ends early)"
    ):
        source(tmp_path / "none.gz")


@pytest.mark.parametrize("packed", [False, True])
def test_the_share_that_was_read_is_told(tmp_path, packed):
    data = gzip.decompress((HERE / "kineto" / "torch-2.11" / "train_eager.json.gz").read_bytes())
    path = tmp_path / "trace"
    path.write_bytes(gzip.compress(data, 1) if packed else data)
    told: list[float] = []
    load([path], tell=told.append)

    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) > 1


def test_the_same_file_twice_is_refused(tmp_path):
    """Counters of one run added to themselves would be twice its work."""
    plain = tmp_path / "page.csv"
    plain.write_bytes(gzip.decompress(PAGE.read_bytes()))
    (tmp_path / "link.csv.gz").symlink_to(PAGE)

    for files in ([PAGE, PAGE], [PAGE, tmp_path / "link.csv.gz"]):
        with pytest.raises(BadInput, match=r"is given twice; its work would be counted twice$"):
            load(files)
    with pytest.raises(BadInput, match=r"page\.csv hold the same; their work would be counted"):
        load([PAGE, plain])


def test_two_files_that_begin_alike_are_two(tmp_path):
    """They differ in their last byte, behind all that is looked at to recognise them."""
    for name, last in (("one.csv", b"1"), ("two.csv", b"2")):
        (tmp_path / name).write_bytes(b"\x7fELF" + bytes(HEAD) + last)

    with pytest.raises(BadInput, match=r"one\.csv is a program"):
        load([tmp_path / "one.csv", tmp_path / "two.csv"])


def test_a_text_in_utf_16_says_what_to_do(tmp_path):
    path = tmp_path / "trace.json"
    path.write_bytes('{"traceEvents": []}'.encode("utf-16"))

    with pytest.raises(BadInput, match=r"trace\.json is text in UTF-16: save it as UTF-8"):
        load([path])


@pytest.mark.parametrize("packed", [True, False])
def test_files_through_pipes(tmp_path, packed):
    """A pipe gives what it holds once, however often a reader begins; a copy goes with the run."""
    pipes = []
    for path in (TRACE, PAGE):
        pipes.append(tmp_path / path.name)
        os.mkfifo(pipes[-1])
        content = path.read_bytes() if packed else gzip.decompress(path.read_bytes())
        threading.Thread(target=pipes[-1].write_bytes, args=(content,), daemon=True).start()
    piped, read = load(pipes), load([TRACE, PAGE])

    assert piped.events.equals(read.events)
    assert piped.recorder == read.recorder
    assert foreign_file(pipes[0])


def test_the_copy_of_a_pipe_goes(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=(TRACE.read_bytes(),), daemon=True).start()
    looked = source(pipe)
    copy = looked.path

    assert (looked.name, copy.exists()) == ("pipe", True)
    del looked
    assert not copy.exists()
