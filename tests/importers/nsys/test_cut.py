"""A database that was cut: never read as if it were whole."""

import gzip
import sqlite3
from pathlib import Path

import pytest

from roofline.errors import BadInput
from roofline.importers import load
from tests.importers.nsys.databases import kernel, kernels, launch, write

CUT = "the file is cut: "


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """Kernels and their launches, the last table written: its rows are in the last page."""
    return write(
        tmp_path_factory.mktemp("whole") / "whole",
        kernels=[kernel(100 * at, 100 * at + 50, at) for at in range(1, 500)],
        runtime=[launch(100 * at - 50, 100 * at - 40, at) for at in range(1, 500)],
    )


def page_of(octets: bytes) -> int:
    return int.from_bytes(octets[16:18], "big")


def shorter(path: Path, by: int, into: Path, packed: bool = False) -> Path:
    octets = path.read_bytes()[:-by] if by else path.read_bytes()
    into.write_bytes(gzip.compress(octets) if packed else octets)
    return into


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("by", [1, 100, 3000])
def test_a_cut_within_the_last_page_is_the_first_doubt(tmp_path, whole, by, packed):
    """SQLite reads the missing bytes as zeros, even where that changes a value of some row."""
    run = load([shorter(whole, by, tmp_path / "cut", packed)])

    assert run.recorder.warnings[0].startswith(f"{CUT}{by} of {page_of(whole.read_bytes())} B of ")
    assert len(kernels(run)) == 499


def test_whole_ones_have_no_such_doubt(tmp_path, whole):
    for packed in (False, True):
        run = load([shorter(whole, 0, tmp_path / "whole", packed)])
        assert CUT not in " ".join(run.recorder.warnings)


@pytest.mark.parametrize("pages", [1, 2, 9])
def test_pages_that_are_missing(tmp_path, whole, pages):
    octets = whole.read_bytes()
    page = page_of(octets)
    left = len(octets) // page - pages
    said = f"^cut is cut: {left} of its {left + pages} pages of {page} B are there; export or copy"
    with pytest.raises(BadInput, match=said):
        load([shorter(whole, pages * page, tmp_path / "cut")])


def test_pages_of_64_kib(tmp_path, whole):
    """Their size does not fit into two bytes, and is written as 1."""
    wide = tmp_path / "wide"
    with sqlite3.connect(whole) as old, sqlite3.connect(wide) as new:
        new.execute("PRAGMA page_size=65536")
        new.executescript("\n".join(old.iterdump()))
    new.close()
    cut = load([shorter(wide, 5, tmp_path / "cut")])

    assert cut.recorder.warnings[0].startswith(f"{CUT}5 of 65536 B of its last page")


def test_pages_that_the_last_writer_did_not_count(tmp_path, whole):
    """Writers before SQLite 3.7 changed the file and left the count: the last page is all there is."""
    octets = bytearray(whole.read_bytes())
    octets[28:32] = (7).to_bytes(4, "big")
    octets[92:96] = (0).to_bytes(4, "big")
    path = tmp_path / "old"
    path.write_bytes(octets)
    assert CUT not in " ".join(load([path]).recorder.warnings)
    path.write_bytes(octets[:-10])
    assert load([path]).recorder.warnings[0].startswith(f"{CUT}10 of ")
