"""``roofline devices`` end to end, without a process."""

import json
from datetime import date

import pytest

from roofline.cli import main
from roofline.device import DRAM, Ceiling, Device, Variant
from roofline.devices import kept
from roofline.provenance import Basis, Provenance, spread


@pytest.fixture(autouse=True)
def _home(monkeypatch, tmp_path):
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")


def keep(device_id="cpu-toy-9000", rates=(10e9, 11e9, 12e9, 13e9, 14e9, 15e9), unstable=""):
    where = Provenance(
        basis=Basis.MEASURED,
        source="read kernel, samples of 10 ms",
        as_of=date(2026, 1, 2),
        spread=spread(list(rates), unstable=unstable),
    )
    ceiling = Ceiling(
        resource=DRAM, rate=12.5e9, provenance=where, variant=Variant(access="read", threads=2)
    )
    return kept.keep(Device(id=device_id, name="Toy 9000", kind="cpu", ceilings=(ceiling,)))


def run(capsys, *argv):
    code = main(["devices", *argv])
    out, err = capsys.readouterr()
    assert code == 0, err
    assert not err
    return out


def line(text, start):
    return next(x.split() for x in text.splitlines() if x.startswith(start))


def test_the_list_has_one_line_a_device(capsys):
    out = run(capsys)
    assert line(out, "nvidia-h100-sxm5-80gb") == [
        "nvidia-h100-sxm5-80gb", "gpu", "3350", "66.9", "989.4", "datasheet", "A",
    ]  # fmt: skip
    assert line(out, "amd-epyc-9654") == ["amd-epyc-9654", "cpu", "460.8", "7.37", "mixed", "B"]
    assert line(out, "nvidia-jetson-thor-t5000") == ["nvidia-jetson-thor-t5000", "gpu"]
    assert sum(f" {kind} " in f"{x} " for x in out.splitlines() for kind in ("cpu", "gpu")) == 67
    assert "Nothing is measured here yet" in out


def test_the_list_has_what_was_measured_here(capsys):
    keep()
    out = run(capsys)
    assert line(out, "cpu-toy-9000") == ["cpu-toy-9000", "cpu", "12.5", "measured"]
    assert "cpu-toy-9000: measured" in out
    assert "(today)" in out


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("argv", [(), ("h100-sxm",), ("rtx-4080",), ("p100-pcie",)])
def test_it_fits_the_terminal(capsys, monkeypatch, columns, argv):
    monkeypatch.setenv("COLUMNS", str(columns))
    out = run(capsys, *argv)
    assert max(len(x) for x in out.splitlines()) <= columns
    assert "\N{HORIZONTAL ELLIPSIS}" not in out  # nothing is cut off
    assert "\x1b" not in out


def test_one_device_shows_every_number_with_its_source(capsys):
    out = run(capsys, "NVIDIA H100 80GB HBM3")
    assert "NVIDIA H100 SXM5 80GB\nnvidia-h100-sxm5-80gb, gpu, printed" in out
    assert "tensor-bf16 989 Tflop/s datasheet A [1] dense, fp32 accumulate, 1.83 GHz" in " ".join(
        out.split()
    )
    assert line(out, "l2_capacity")[1:3] == ["50", "MiB"]
    assert "[1] NVIDIA H100 Tensor Core GPU Architecture whitepaper V1.04" in out
    assert "NVIDIA/cccl" in out
    assert "note: tensor peaks use 1830 MHz" in out


def test_a_derived_number_shows_its_formula_and_a_lacking_pipe_who_does_its_work(capsys):
    out = " ".join(run(capsys, "t4").split())
    assert "vector-fp64 254 Gflop/s derived A [1]" in out
    assert "[1] 40 SM x 1.59 GHz x 4 flop/clock, from NVIDIA Turing" in out
    assert "tensor-bf16 as vector-fp32: Turing has no bf16 arithmetic" in out
    assert "(third party)" in out


def test_a_measured_device_shows_its_spread(capsys):
    """Of 10, 11, ..., 15: median 12.5, quartiles 11.25 and 13.75, interval of all six [10, 15]."""
    keep()
    out = " ".join(run(capsys, "cpu-toy-9000").split())
    assert "cpu-toy-9000, cpu, measured" in out
    assert "read, 2 threads 6 12.5 GB/s 11.2 GB/s to 13.8 GB/s 10.0 GB/s to 15.0 GB/s" in out
    keep(rates=(10e9, 12e9))
    assert "2 11.0 GB/s 10.5 GB/s to 11.5 GB/s too few samples" in " ".join(
        run(capsys, "cpu-toy-9000").split()
    )


def test_samples_that_are_no_one_number_are_said_to_be(capsys):
    keep(unstable="drifting: +9.1% from the first third to the last")
    out = run(capsys, "cpu-toy-9000")
    assert "no one number: dram read, 2 threads: drifting: +9.1% from the first third" in out
    keep()
    assert "no one number" not in run(capsys, "cpu-toy-9000")


def test_a_device_with_both_shows_both(capsys):
    keep("nvidia-h100-sxm5-80gb")
    out = run(capsys, "h100-sxm")
    assert out.index("nvidia-h100-sxm5-80gb, gpu, printed") < out.index("Toy 9000")
    documents = json.loads(run(capsys, "h100-sxm", "--json"))["devices"]
    assert [d["measured_at"] is None for d in documents] == [True, False]


def test_json_is_one_document(capsys):
    document = json.loads(run(capsys, "h100-sxm", "--json"))
    assert document["schema"] == "roofline.devices/1"
    (device,) = document["devices"]
    assert device["id"] == "nvidia-h100-sxm5-80gb"
    (dram,) = (c for c in device["ceilings"] if c["resource"] == "dram")
    assert dram == {
        "resource": "dram", "unit": "B", "rate": 3.35e12, "capacity": None, "basis": "datasheet",
        "variant": {"access": None, "threads": None, "sustained": False, "reach": None, "node": None,
                        "way": None},
        "source": dram["source"], "as_of": "2026-11-29", "conditions": "peak, HBM3",
        "confidence": "A", "spread": None,
    }  # fmt: skip
    assert {"name", "value", "unit", "basis", "source"} <= device["facts"][0].keys()
    assert device["measured_at"] is None


def test_json_of_all_devices_has_all_of_them(capsys):
    keep()
    document = json.loads(run(capsys, "--json"))
    assert len(document["devices"]) == 68
    assert document["devices"][-1]["id"] == "cpu-toy-9000"
    assert document["devices"][-1]["ceilings"][0]["spread"]["n"] == 6
    p100 = next(d for d in document["devices"] if d["id"] == "nvidia-p100-sxm2-16gb")
    assert {"lacks": "tensor-fp16", "uses": "vector-fp32"}.items() <= p100["mapped"][2].items()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("h100", "roofline: 'h100' is more than one device: nvidia-h100-nvl-94gb, "),
        ("rtx 2080", "roofline: no device 'rtx 2080'; the nearest are nvidia-rtx-2080-ti"),
    ],
)
def test_a_wrong_name_is_one_line_and_exit_code_2(capsys, name, message):
    assert main(["devices", name]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith(message)
    assert err.count("\n") == 1


def test_a_damaged_measurement_is_named(capsys):
    path = keep()
    path.write_text("{")
    assert main(["devices", "cpu-toy-9000"]) == 2
    assert str(path) in capsys.readouterr().err
    keep("cpu-toy-9001")
    assert main(["devices", "--json"]) == 0  # the list goes on without it
    out, err = capsys.readouterr()
    assert err.startswith("roofline: warning: the kept ceilings")
    assert [d["id"] for d in json.loads(out)["devices"][67:]] == ["cpu-toy-9001"]


def test_help_has_an_example(capsys):
    assert "roofline devices h100-sxm" in run(capsys, "--help")
