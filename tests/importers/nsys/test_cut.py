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


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("pages", [1, 2, 9])
def test_pages_that_are_missing(tmp_path, whole, pages, packed):
    octets = whole.read_bytes()
    page = page_of(octets)
    left = len(octets) // page - pages
    said = f"^cut is cut: {left} of its {left + pages} pages of {page} B are there; export or copy"
    with pytest.raises(BadInput, match=said):
        load([shorter(whole, pages * page, tmp_path / "cut", packed)])


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


@pytest.mark.parametrize("packed", [False, True])
def test_so_little_of_the_last_page_that_nothing_reads_it(tmp_path, whole, packed):
    page = page_of(whole.read_bytes())
    said = f"^cut is cut: {page - 1} of {page} B of its last page are missing; export or copy"
    with pytest.raises(BadInput, match=said):
        load([shorter(whole, page - 1, tmp_path / "cut", packed)])


def test_a_gzip_file_with_something_behind_it(tmp_path, whole):
    """It does not end early."""
    for junk in (b"junk", b"a longer piece of text"):
        (tmp_path / "x").write_bytes(gzip.compress(whole.read_bytes()) + junk)
        with pytest.raises(BadInput, match="something that is no gzip follows its end"):
            load([tmp_path / "x"])


# A write-ahead log beside it


@pytest.fixture
def logged(tmp_path, whole) -> Path:
    """A database of whole pages, of whose log some bring pages anew: 499 more kernels."""
    made = tmp_path / "made"
    made.write_bytes(whole.read_bytes())
    writer = sqlite3.connect(made)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("PRAGMA wal_autocheckpoint=0")
    writer.execute(
        'INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, "end", deviceId, streamId) '
        'SELECT start + 100000, "end" + 100000, 0, 7 FROM CUPTI_ACTIVITY_KIND_KERNEL'
    )
    writer.commit()
    path = tmp_path / "x"
    path.write_bytes(made.read_bytes())
    (tmp_path / "x-wal").write_bytes((tmp_path / "made-wal").read_bytes())
    writer.close()
    return path


def test_with_its_log_it_is_whole(logged):
    run = load([logged])
    assert len(kernels(run)) == 998
    assert "cut" not in " ".join(run.recorder.warnings)


def test_a_cut_that_its_log_does_not_mend(logged):
    """The last page, which only the database has: the copy, as SQLite makes it whole, hides that."""
    octets = logged.read_bytes()
    logged.write_bytes(octets[:-100])
    assert load([logged]).recorder.warnings[0].startswith(f"{CUT}100 of ")

    logged.write_bytes(octets[: -2 * page_of(octets)])
    with pytest.raises(BadInput, match=r"^x is cut: \d+ of its \d+ pages of"):
        load([logged])


def test_a_cut_that_its_log_mends(logged):
    """A checkpoint that did not end leaves a database shorter than it says; its log has the rest."""
    octets = logged.read_bytes()
    page = page_of(octets)
    pages = len(octets) // page
    with sqlite3.connect(logged) as writer:
        writer.execute("PRAGMA wal_autocheckpoint=0")
        writer.execute('UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET "end" = "end" + 1')
        writer.execute("UPDATE NVTX_EVENTS SET text = ''")
        writer.execute("UPDATE StringIds SET value = value || ' '")
        writer.commit()
        log = (logged.parent / "x-wal").read_bytes()
    writer.close()
    frames = range(32, len(log), 24 + page)
    assert {pages, pages - 1} <= {int.from_bytes(log[at : at + 4], "big") for at in frames}
    for left in (page + 100, 2 * page):
        logged.write_bytes(octets[:-left])
        (logged.parent / "x-wal").write_bytes(log)
        run = load([logged])
        assert len(kernels(run)) == 998
        assert CUT not in " ".join(run.recorder.warnings)


@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_a_log_that_is_cut(logged, keep):
    log = logged.parent / "x-wal"
    octets = log.read_bytes()
    log.write_bytes(octets[: int(len(octets) * keep)])
    run = load([logged])
    (said,) = [each for each in run.recorder.warnings if "x-wal" in each]
    assert len(kernels(run)) == 499
    assert said.startswith("of x-wal ")
    assert said.endswith(" left out: cut, damaged, or of a write that did not end")


def test_a_log_that_is_damaged(logged):
    """One octet in its second page: nothing from there on counts."""
    log = logged.parent / "x-wal"
    octets = bytearray(log.read_bytes())
    octets[32 + 24 + page_of(logged.read_bytes()) + 100] ^= 255
    log.write_bytes(octets)
    run = load([logged])
    assert len(kernels(run)) == 499
    assert any(each.startswith("of x-wal ") for each in run.recorder.warnings)


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_what_is_no_log(tmp_path, whole, end):
    (tmp_path / "x").write_bytes(whole.read_bytes())
    (tmp_path / f"x{end}").write_bytes(b"garbage" * 100)
    run = load([tmp_path / "x"])
    assert len(kernels(run)) == 499
    assert f"x{end} is damaged: nothing in it counts" in run.recorder.warnings


def test_a_log_that_nobody_may_read(tmp_path, whole, monkeypatch):
    (tmp_path / "x").write_bytes(whole.read_bytes())
    (tmp_path / "x-wal").write_bytes(b"garbage")
    opened = Path.open

    def refused(path, *how):
        if path.name == "x-wal":
            raise PermissionError(13, "Permission denied")
        return opened(path, *how)

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(BadInput, match=r"^cannot read x-wal: Permission denied$"):
        load([tmp_path / "x"])


def test_what_stood_in_a_log_before_it_began_anew(tmp_path, whole):
    """It lies behind the pages that count, and is none of them."""
    path = tmp_path / "x"
    path.write_bytes(whole.read_bytes())
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute('UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET "end" = "end" + 1')
    writer.commit()
    writer.execute("PRAGMA wal_checkpoint(RESTART)")
    writer.execute("UPDATE StringIds SET value = value || ' '")
    writer.commit()
    run = load([path])
    writer.close()
    assert {row["duration_ns"] for row in kernels(run)} == {51}
    assert "x-wal" not in " ".join(run.recorder.warnings)
