"""A file is written whole or not at all, and can be read by whom any other file can."""

import os
from pathlib import Path

import pytest

from roofline.errors import BadInput
from roofline.whole import whole


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
