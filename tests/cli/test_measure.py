"""``roofline measure`` around a measurement that is made up."""

import json
from dataclasses import replace
from datetime import date

import pytest

from roofline.bench import cpu
from roofline.cli import main
from roofline.device import (
    DRAM,
    L2,
    TENSOR_TF32,
    VECTOR_FP32,
    Ceiling,
    Device,
    Mapped,
    Reach,
    Variant,
)
from roofline.devices import kept
from roofline.provenance import Basis, Provenance, spread


def measured(samples: list[float], dropped: int = 0) -> Provenance:
    return Provenance(
        basis=Basis.MEASURED,
        source="toy",
        as_of=date(2026, 1, 1),
        spread=spread(samples, dropped=dropped),
    )


DEVICE = Device(
    id="cpu-toy-2c",
    name="Toy CPU",
    kind="cpu",
    ceilings=(
        Ceiling(
            resource=VECTOR_FP32, rate=2e11, variant=Variant(threads=2, reach=Reach.REGISTER),
            provenance=measured([2e11] * 9, dropped=3),
        ),
        Ceiling(
            resource=DRAM, rate=4e10, variant=Variant(access="copy", threads=1),
            provenance=measured([3e10, 4e10, 5e10]),
        ),
        Ceiling(
            resource=L2, rate=1e11, variant=Variant(access="read", threads=1), capacity=1 << 20,
            provenance=measured([1e11] * 7),
        ),
    ),
    mapped=(Mapped(lacks=TENSOR_TF32, uses=VECTOR_FP32, why="a toy has no tf32"),),
    note="l3 read, 1 thread: no plateau in working sets of 8 KiB to 256 MiB",
)  # fmt: skip


@pytest.fixture(autouse=True)
def toy(monkeypatch, tmp_path):
    """A measurement that takes no time, and a home that is nobody's."""
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path / "home"))
    asked: list[bool] = []

    def measure(quick=False, progress=None):
        asked.append(quick)
        progress("memory, 1 thread", 0.5)
        return DEVICE

    monkeypatch.setattr(cpu, "measure", measure)
    return asked


def test_it_prints_the_table_and_keeps_the_result(capsys, toy):
    assert main(["measure", "--quick"]) == 0
    out, err = capsys.readouterr()
    assert toy == [True]
    rows = [" ".join(line.split()) for line in out.splitlines()]
    # Memory first, from the core outwards.  Seven equal samples have an interval, three have none.
    at = next(i for i, row in enumerate(rows) if row.startswith("l2"))
    assert rows[at : at + 3] == [
        "l2 read 1 1 MiB 100 GB/s ± 0.0% 7 100%",
        "dram copy 1 40.0 GB/s 3 100%",
        "vector-fp32 register 2 200 Gflop/s ± 0.0% 9 75%",
    ]
    assert "tensor-tf32 is taken as vector-fp32: a toy has no tf32" in out
    assert "l3 read, 1 thread: no plateau" in out
    assert err.startswith("roofline: kept in ")
    assert kept.newest("cpu-toy-2c") == DEVICE


def test_json_is_one_document_as_it_is_kept(capsys):
    assert main(["measure", "--json"]) == 0
    out, _ = capsys.readouterr()
    document = json.loads(out)
    assert document["schema"] == "roofline.device/1"
    assert [c["rate"] for c in document["device"]["ceilings"]] == [2e11, 4e10, 1e11]
    [path] = kept.history("cpu-toy-2c")
    assert json.loads(path.read_text()) == document


def test_output_is_written_too(capsys, tmp_path):
    target = tmp_path / "cpu.json"
    target.write_text("{}")
    assert main(["measure", "-o", str(target)]) == 0
    assert json.loads(target.read_text())["device"]["id"] == "cpu-toy-2c"
    assert list(tmp_path.glob(".cpu.json*")) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--device", "cuda:99"],
            "roofline: no device 'cuda:99'; there is no GPU that torch can use, and cpu\n",
        ),
        (["--device", "tpu"], "roofline: 'tpu' cannot be measured; there is cpu, all\n"),
        (
            ["-o", "/nowhere/x.json"],
            "roofline: cannot write /nowhere/x.json: there is no folder /nowhere\n",
        ),
    ],
)
def test_a_mistake_is_one_sentence_before_anything_is_measured(
    capsys, monkeypatch, toy, arguments, sentence
):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["measure", *arguments]) == 2
    assert capsys.readouterr() == ("", sentence)
    assert toy == []


def test_a_home_that_cannot_be_written_still_leaves_the_output(capsys, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path / "file"))
    assert main(["measure", "-o", str(tmp_path / "cpu.json")]) == 2
    assert "cannot keep the ceilings of cpu-toy-2c" in capsys.readouterr().err
    assert (tmp_path / "cpu.json").exists()


def stopped(monkeypatch, device: Device | None) -> None:
    def measure(quick=False, progress=None):
        raise cpu.Stopped(device)

    monkeypatch.setattr(cpu, "measure", measure)


def test_ctrl_c_keeps_what_is_measured_and_exits_130(capsys, monkeypatch):
    stopped(monkeypatch, DEVICE)
    assert main(["measure"]) == 130
    out, err = capsys.readouterr()
    assert "vector-fp32" in out
    assert err.startswith("roofline: interrupted; the part measured is kept in ")
    assert kept.newest("cpu-toy-2c") == DEVICE


def test_ctrl_c_before_anything_is_measured_keeps_nothing(capsys, monkeypatch):
    stopped(monkeypatch, None)
    assert main(["measure"]) == 130
    out, err = capsys.readouterr()
    assert (out, err.strip()) == ("", "roofline: interrupted")
    assert kept.kept_ids() == ()


def test_a_bar_is_drawn_for_a_terminal_only(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    assert main(["measure", "--quiet"]) == 0
    assert "memory, 1 thread" not in capsys.readouterr().err


def test_everything_is_the_cpu_and_every_gpu(capsys, monkeypatch, toy):
    from roofline.bench import gpu

    monkeypatch.setattr(gpu, "count", lambda: 2)
    card = replace(DEVICE, id="gpu-toy", name="Toy GPU", kind="gpu")
    monkeypatch.setattr(
        gpu, "measure", lambda index, quick, progress: replace(card, note=f"{index}")
    )
    assert main(["measure", "--device", "all", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["schema"] == "roofline.measured/1"
    assert [(d["id"], d["note"]) for d in shown["devices"]][1:] == [
        ("gpu-toy", "0"),
        ("gpu-toy", "1"),
    ]
    assert shown["devices"][0]["id"] == DEVICE.id
    assert len(kept.history("gpu-toy")) == 2
    assert main(["measure", "--device", "cuda:1"]) == 0
    assert "Toy GPU (gpu-toy)" in capsys.readouterr().out
