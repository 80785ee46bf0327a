"""Tables of ``nsys stats``, written by hand in the form of its reports."""

import pytest

from roofline.errors import BadInput
from roofline.importers import load

TRACE = """Processing [report.sqlite] with [cuda_gpu_trace.py]...
Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name
1000,500,1,,,,,,,,,,4.194,8388.608,Pageable,Device,NVIDIA H200 (0),1,,7,[CUDA memcpy Host-to-Device]
2000,250,2,64,1,1,256,1,1,32,0.000,0.016,,,,,NVIDIA H200 (0),1,,7,"void gemm<float, 4>(T1 *, int)"
2300,250,3,64,1,1,256,1,1,32,0.000,0.016,,,,,NVIDIA H200 (0),1,,7,"void gemm<float, 4>(T1 *, int)"
"""
SUMMARY = """Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
 75.0,3000,3,1000.0,1000.0,900,1100,10.0,"void gemm<float, 4>(T1 *, int)"
 25.0,1000,1,1000.0,1000.0,1000,1000,0.0,add
"""


def imported(folder, text):
    """Import one table."""
    (folder / "table").write_text(text)
    return load([folder / "table"])


def test_the_gpu_trace(tmp_path):
    """Three activities from 1000 to 2550 ns; names with commas; 4.194 MB from the host."""
    run = imported(tmp_path, TRACE)
    copy, first, second = run.rows()

    assert [run.signatures[r["signature"]].name for r in (copy, first)] == [
        "Memcpy HtoD",
        "gemm<float, 4>",
    ]
    assert [(r["start_ns"], r["duration_ns"]) for r in run.rows()] == [
        (0, 500),
        (1000, 250),
        (1300, 250),
    ]
    assert first["counters"] == {"grid": 64, "block": 256, "registers per thread": 32}
    assert first["signature"] == second["signature"]
    assert {r.name: n for r, n in run.signatures[0].ledger.demand().items()} == {
        "pcie": 4_194_000, "dram": 4_194_000,
    }  # fmt: skip
    assert run.steps[0].duration_ns == 1550


def test_microseconds(tmp_path):
    """--timeunit microseconds: the unit is in the column's name."""
    run = imported(tmp_path, TRACE.replace("(ns)", "(us)"))

    assert run.rows()[1]["duration_ns"] == 250_000


@pytest.mark.parametrize(
    "text", [SUMMARY, SUMMARY.replace("Time (%)", "Time(%)").replace("Avg (ns)", "Average")]
)
def test_the_summary_of_kernels(text, tmp_path):
    """Three launches of 1000 ns and one: averages, so nothing is known of the time between."""
    run = imported(tmp_path, text)

    assert [r["duration_ns"] for r in run.rows()] == [1000] * 4
    assert run.steps[0].duration_ns == 0
    assert any("average duration" in warning for warning in run.recorder.warnings)


def test_other_reports_beside_it(tmp_path):
    """The summary of runtime calls is skipped, and that is said: it is no reason to doubt the rest."""
    api = "Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n100.0,5,1,5.0,cudaMalloc\n"
    run = imported(tmp_path, api + "\n" + SUMMARY)

    assert len(run.rows()) == 4
    assert not any("report" in warning for warning in run.recorder.warnings)
    assert [gap.what for gap in run.gaps] == ["1 report in which nothing is of kernels"]


def test_no_report_of_kernels(tmp_path):
    """Which report has them."""
    with pytest.raises(BadInput, match="cuda_gpu_trace"):
        imported(tmp_path, SUMMARY.splitlines()[0] + "\n")
