"""A file is written whole or not at all, and can be read by whom any other file can."""

import os
from pathlib import Path

import pytest

from roofline.errors import BadInput
from roofline.whole import place_for, whole


def test_a_file_takes_its_place_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with whole(path) as file:
        file.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


def fail_within(path: Path) -> None:
    with whole(path) as file:
        file.write_text("half")
        raise KeyboardInterrupt


def test_what_fails_leaves_the_earlier_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        fail_within(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with (
        pytest.raises(BadInput, match=r"cannot write .*a\.txt: No such file"),
        whole(tmp_path / "no" / "a.txt"),
    ):
        pass


def test_others_may_read_it_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with whole(tmp_path / "a.txt") as file:
            file.write_text("")
    finally:
        os.umask(before)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o644


def test_a_link_stays_and_what_it_names_is_written(tmp_path: Path) -> None:
    end, link = tmp_path / "runs" / "a.txt", tmp_path / "newest"
    end.parent.mkdir()
    link.symlink_to(end)
    with whole(link) as file:
        file.write_text("new")
    assert link.is_symlink()
    assert end.read_text() == "new"


def test_a_pipe_is_written_into_and_never_replaced(tmp_path: Path) -> None:
    """/dev/null too is one for the whole machine: no file may take its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert place_for(pipe, b"PAR1", "run file") == pipe
        with whole(pipe) as file:
            file.write_text("page")
        assert os.read(reader, 99) == b"page"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_name_as_long_as_the_system_takes(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    with whole(path) as file:
        file.write_text("new")
    assert path.read_text() == "new"
    with pytest.raises(BadInput, match="File name too long"):
        place_for(tmp_path / ("x" * 256), b"PAR1", "run file")
