"""Ceilings measured by other tools, written by hand in the form of their files."""

import json

import pytest

from roofline.cli import main
from roofline.device import DRAM, L1, L2, SHARED, TENSOR_BF16, VECTOR_FP32, VECTOR_FP64
from roofline.devices import resolve
from roofline.errors import BadInput
from roofline.importers import Options, load
from roofline.provenance import Basis
from roofline.report.document import of_run

ERT = {
    "empirical": {
        "metadata": {"HOSTNAME": "secret-node"},
        "gbytes": {"data": [["L1", 3000.0], ["L2", 1000.5], ["DRAM", 100.25], ["NUMA", 1.0]]},
        "gflops": {"data": [["FP64 GFLOPs", 700.0], ["FP32 GFLOPs", 1400.0]]},
    }
}
AMD = """device,HBMBw,HBMBwLow,hbmBwHigh,L2Bw,L2BwLow,L2BwHigh,LDSBw,LDSBwLow,LDSBwHigh,FP32Flops,FP32FlopsLow,FP32FlopsHigh,MFMABF16Flops,MFMABF16FlopsLow,MFMABF16FlopsHigh,MFMAF32Flops,MFMAF32FlopsLow,MFMAF32FlopsHigh
0,1388.8,1388.2,1389.4,5017.1,5014.2,5020.0,17717.5,17714.5,17720.6,20948.9,20888.0,21009.7,170559.3,170554.8,170563.8,41443.4,41442.8,41444.0
1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1
"""
SYSTEM = (
    "workload_name,command,hostname,gpu_model,gpu_arch\nx,./secret --run,secret-node,MI200,gfx90a\n"
)


def imported(folder, *texts, **options):
    """Import these files."""
    paths = [folder / f"file{at}" for at in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return load(paths, Options(**options))


def test_ert(tmp_path):
    """GB/s and GFLOP/s, powers of 1000; a level that is none here is named."""
    run = imported(tmp_path, json.dumps(ERT))
    rates = {c.resource: c.rate for c in run.device.ceilings}

    assert rates == {
        L1: 3e12,
        L2: 1.0005e12,
        DRAM: 1.0025e11,
        VECTOR_FP64: 7e11,
        VECTOR_FP32: 1.4e12,
    }
    assert {c.provenance.basis for c in run.device.ceilings} == {Basis.MEASURED}
    assert any("'NUMA'" in text for text in run.recorder.warnings)
    assert "secret-node" not in str(run)


def test_ert_without_a_precision(tmp_path):
    """The tool's default is fp64, and that is said."""
    plain = {
        "empirical": {"gbytes": {"data": [["DRAM", 100.0]]}, "gflops": {"data": [["GFLOPs", 7.0]]}}
    }
    run = imported(tmp_path, json.dumps(plain))

    assert run.device.roof(Basis.MEASURED).ceiling(VECTOR_FP64).rate == 7e9
    assert any("names no precision" in text for text in run.recorder.warnings)


def test_rocprofiler_compute(tmp_path):
    """The first device of the node, with intervals; the system's table names it and stays private."""
    run = imported(tmp_path, AMD, SYSTEM)
    rates = {c.resource: c.rate for c in run.device.ceilings}
    hbm = run.device.ceilings[0].provenance.spread

    assert run.device.name == "AMD MI200"
    assert rates == {
        DRAM: 1388.8e9,
        L2: 5017.1e9,
        SHARED: 17717.5e9,
        VECTOR_FP32: 20948.9e9,
        TENSOR_BF16: 170559.3e9,
    }
    assert (hbm.low, hbm.high) == (1388.2e9, 1389.4e9)
    assert any("mfmaf32flops" in text for text in run.recorder.warnings)
    assert any("1 other device" in text for text in run.recorder.warnings)
    assert "secret" not in str(run)


def test_a_run_without_events_can_be_read(tmp_path):
    """Its roof is shown; nothing ran, so nothing is covered."""
    made = of_run(imported(tmp_path, AMD))

    assert len(made["roof"]) == 5
    assert (made["items"], made["coverage"]) == ([], None)
    assert "nothing that ran" in made["answer"][0]


def test_ceilings_are_kept_for_a_device(tmp_path, monkeypatch):
    """--keep: the next import for that device is placed under them."""
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path / "home"))
    (tmp_path / "roofline.csv").write_text(AMD)

    assert (
        main(
            [
                "import",
                str(tmp_path / "roofline.csv"),
                "--device",
                "amd-mi250x-gcd",
                "--keep",
                "--quiet",
            ]
        )
        == 0
    )
    assert resolve("amd-mi250x-gcd").in_force().ceiling(DRAM).rate == 1388.8e9


def test_a_run_has_no_ceilings_to_keep(tmp_path, monkeypatch, capsys):
    """--keep on a recording is a mistake."""
    (tmp_path / "x").write_text("Name,Calls,TotalDurationNs\nk,1,10\n")

    assert main(["import", str(tmp_path / "x"), "--keep"]) == 2
    assert "no measured ceilings to keep" in capsys.readouterr().err


@pytest.mark.parametrize("text", ['{"gbytes": 1, "gflops": [2]}', '{"gbytes": {"data": [[1, 2]]}, "gflops": ', SYSTEM,
                                  "device,HBMBw,L2Bw\n0,n/a,-5\n"])  # fmt: skip
def test_nothing_of_use_is_one_sentence(text, tmp_path):
    """Other shapes, cut off, no numbers."""
    with pytest.raises(BadInput):
        imported(tmp_path, text)
