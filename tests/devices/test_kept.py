"""Measured ceilings at home: written whole or not at all, the newest counts, damage is named."""

import os
import resource as limits
import signal
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from roofline import devices
from roofline.device import DRAM, L2, VECTOR_FP32, Ceiling, Device, Fact, Reach, Variant
from roofline.devices import kept
from roofline.errors import BadInput, NotFound
from roofline.provenance import Basis, Provenance, spread


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def measured(device_id="cpu-toy-9000", read=12e9):
    where = Provenance(
        basis=Basis.MEASURED,
        source="read kernel, samples of 10 ms",
        as_of=date(2026, 1, 2),
        conditions="pinned",
        spread=spread([read, 0.9 * read, 1.1 * read]),
    )
    return Device(
        id=device_id,
        name="Toy 9000",
        kind="cpu",
        ceilings=(
            Ceiling(
                resource=DRAM,
                rate=read,
                provenance=where,
                variant=Variant(access="read", threads=2),
            ),
            Ceiling(resource=L2, rate=140e9, provenance=where, capacity=2 * 2**20),
            Ceiling(
                resource=VECTOR_FP32,
                rate=177e9,
                provenance=where,
                variant=Variant(threads=1, reach=Reach.REGISTER),
            ),
        ),
        facts=(Fact(name="isa", value="avx512f", unit="", provenance=where),),
        aliases=("Toy",),
        note="for tests",
    )


def test_home_is_where_the_user_says(monkeypatch, tmp_path):
    assert kept.home() == tmp_path / "home"
    monkeypatch.setenv("ROOFLINE_HOME", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert kept.home() == tmp_path / "data" / "roofline"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert kept.home() == tmp_path / ".local" / "share" / "roofline"


def test_a_device_comes_back_whole(home):
    before = datetime.now(UTC)
    path = kept.keep(measured())
    assert path.parent == home / "ceilings" / "cpu-toy-9000"
    assert kept.newest("cpu-toy-9000") == measured()
    assert before - timedelta(seconds=1) <= kept.taken_at(path) <= datetime.now(UTC)
    document = msgspec.json.decode(path.read_bytes())
    assert document["schema"] == "roofline.device/1"
    assert document["device"]["ceilings"][1]["capacity"] == 2_097_152
    assert [p.name for p in path.parent.iterdir()] == [path.name]  # nothing half-written stays


def test_every_measurement_stays_and_the_newest_counts():
    paths = [kept.keep(measured(read=rate)) for rate in (10e9, 30e9, 20e9)]
    assert kept.history("cpu-toy-9000") == paths
    assert kept.newest("cpu-toy-9000").ceilings[0].rate == 20e9
    assert kept.kept_ids() == ("cpu-toy-9000",)


def test_nothing_kept_is_none_and_not_an_error():
    assert kept.newest("cpu-toy-9000") is None
    assert kept.history("cpu-toy-9000") == []
    assert kept.kept_ids() == ()


@pytest.mark.parametrize("device_id", ["", "../x", "a/b", "Toy", ".hidden"])
def test_an_id_is_never_a_path(device_id):
    with pytest.raises(BadInput, match="a device id is lower-case"):
        kept.keep(measured(device_id))


def test_a_file_that_cannot_be_used_is_named():
    path = kept.keep(measured())
    whole = path.read_text()
    for text, reason in [
        (whole[:-20], "Input data was truncated"),
        ("", "Input data was truncated"),
        ("[]", "Expected `object`, got `array`"),
        (whole.replace("roofline.device/1", "roofline.device/2"), "written as roofline.device/2"),
        ('{"schema": "roofline.device/1"}', "missing required field `device`"),
        (whole.replace('"name": "l2"', '"name": "l9"'), "unknown resources: l9"),
        (whole.replace("140000000000.0", "-1.0"), "must be a positive finite number"),
        (whole.replace('"id": "cpu-toy-9000"', '"id": "cpu-other"'), "it holds cpu-other"),
    ]:
        path.write_text(text)
        with pytest.raises(BadInput) as error:
            kept.newest("cpu-toy-9000")
        assert str(path) in str(error.value)
        assert reason in str(error.value)
        assert "\n" not in str(error.value)
    path.write_text(whole)
    assert kept.newest("cpu-toy-9000") == measured()


def test_a_name_that_is_no_time_is_refused():
    with pytest.raises(BadInput, match="not named after a time"):
        kept.taken_at(Path("yesterday.json"))


def test_a_folder_that_cannot_be_made_is_one_sentence(home):
    home.parent.mkdir(exist_ok=True)
    home.write_text("a file stands where the folder should be")
    with pytest.raises(
        BadInput, match=r"cannot keep the ceilings of cpu-toy-9000 in .*: Not a dir"
    ):
        kept.keep(measured())


def test_a_full_disk_leaves_earlier_results_intact():
    """A file-size limit of 100 B stands in for the full disk: the write itself fails half way."""
    path = kept.keep(measured())
    soft, hard = limits.getrlimit(limits.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        limits.setrlimit(limits.RLIMIT_FSIZE, (100, hard))
        with pytest.raises(BadInput, match="cannot keep the ceilings of cpu-toy-9000 in"):
            kept.keep(measured(read=99e9))
    finally:
        limits.setrlimit(limits.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert list(path.parent.iterdir()) == [path]
    assert kept.newest("cpu-toy-9000") == measured()


def test_an_interrupted_write_is_not_a_measurement(monkeypatch):
    kept.keep(measured())

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        kept.keep(measured(read=99e9))
    assert kept.newest("cpu-toy-9000") == measured()


def test_a_device_only_measured_here_is_found_by_its_id():
    with pytest.raises(NotFound, match="no device 'cpu-toy-9000'"):
        devices.find("cpu-toy-9000")
    kept.keep(measured())
    assert devices.find("CPU toy 9000") == measured()
    assert devices.resolve("cpu-toy-9000") == measured()
    assert "cpu-toy-9000" not in devices.known()


def test_resolve_prefers_the_measurement_and_find_the_datasheet():
    here = replace(measured("nvidia-h100-sxm5-80gb", read=3e12), kind="gpu")
    assert devices.resolve("h100-sxm").bases() == (Basis.DATASHEET,)
    with pytest.raises(NotFound, match="nothing measured is kept for nvidia-h100-sxm5-80gb in"):
        devices.resolve("h100-sxm", Basis.MEASURED)
    kept.keep(here)
    assert devices.resolve("h100-sxm") == here
    assert devices.resolve("NVIDIA H100 80GB HBM3", Basis.MEASURED) == here
    assert devices.resolve("h100-sxm", Basis.DATASHEET).ceilings[0].provenance.basis == "datasheet"
    assert devices.find("h100-sxm").name == "NVIDIA H100 SXM5 80GB"
    # Measuring one device says nothing about another.
    assert devices.resolve("a100-sxm4-80gb").bases() == (Basis.DATASHEET,)


def test_a_damaged_measurement_is_told_and_not_replaced_by_the_datasheet():
    path = kept.keep(replace(measured("nvidia-h100-sxm5-80gb"), kind="gpu"))
    path.write_text("{")
    with pytest.raises(BadInput, match="cannot be used"):
        devices.resolve("h100-sxm")
    assert devices.find("h100-sxm").id == "nvidia-h100-sxm5-80gb"


def test_an_interrupted_measurement_does_not_hide_a_whole_one_and_is_better_than_none():
    partial = replace(measured(), note="partial: interrupted before everything was measured")
    kept.keep(partial)
    assert kept.newest(partial.id) == partial

    kept.keep(measured())
    kept.keep(partial)
    assert kept.newest(partial.id) == measured()


def test_a_place_where_nothing_can_be_kept_is_refused_beforehand(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(BadInput, match=r"cannot keep ceilings in .*file.*: Not a directory"):
        kept.ready()
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path / "fine"))
    kept.ready()
    assert list((tmp_path / "fine" / "ceilings").iterdir()) == []
