"""Tables of ``nsys stats``, written by hand in the form of its reports."""

import time

import pytest

from roofline.errors import BadInput
from roofline.importers import Options, load

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


def imported(folder, text, **options):
    """Import one table."""
    (folder / "table").write_text(text)
    return load([folder / "table"], Options(**options))


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


COMMAS = """Start (ns),Duration (ns),Strm,Name
"1000,5",500,7,a
"2000,5",500,7,a
"2300,5",250,7,b
"""


@pytest.mark.parametrize("options", [{}, {"decimal": ","}])
def test_decimal_commas(options, tmp_path):
    """From 1000.5 to 2550.5 ns, as the cells give it away or as stated."""
    assert imported(tmp_path, COMMAS, **options).steps[0].duration_ns == 1550


def test_groups_and_decimal_commas(tmp_path):
    """1.000,5 is a thousand and a half; stated otherwise it is what it says then."""
    text = COMMAS.replace('"1000,5"', '"1.000,5"')

    assert imported(tmp_path, text).steps[0].duration_ns == 1550
    assert imported(tmp_path, COMMAS, decimal=".").steps[0].duration_ns == 13_250


def test_commas_that_can_be_either(tmp_path):
    """1,500 with nothing beside it: asked, not guessed.  A point is what the tool prints."""
    text = 'Start (ns),Duration (ns),Strm,Name\n"1,500",500,7,a\n'
    with pytest.raises(BadInput, match="--decimal"):
        imported(tmp_path, text)

    assert len(imported(tmp_path, text, decimal=".").rows()) == 1
    assert len(imported(tmp_path, text.replace("1,500", "1.500")).rows()) == 1


OLD = """Start(sec),Duration(nsec),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem,DymSMem,Bytes,Thru(MB/s),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name
0.001000,500,1,,,,,,,,,,4194000,8388.000,Pageable,Device,A100 (0),1,7,[CUDA memcpy Host-to-Device]
0.001002,250,2,64,1,1,256,1,1,32,0,16,,,,,A100 (0),1,7,add
"""
OLD_SUMMARY = """Time(%),Total Time,Instances,Average,Minimum,Maximum,Name
75.0,3000,3,1000.0,900,1100,add
"""


def test_the_trace_of_2021(tmp_path):
    """Seconds since the start, durations in ns, bytes as they are."""
    run = imported(tmp_path, OLD)

    assert [(r["start_ns"], r["duration_ns"]) for r in run.rows()] == [(0, 500), (2000, 250)]
    assert {r.name: n for r, n in run.signatures[0].ledger.demand().items()} == {
        "pcie": 4_194_000, "dram": 4_194_000,
    }  # fmt: skip


def test_the_summary_of_2020(tmp_path):
    """Nanoseconds, without a unit in the column's name."""
    assert [r["duration_ns"] for r in imported(tmp_path, OLD_SUMMARY).rows()] == [1000] * 3


def test_cut_inside_the_last_name(tmp_path):
    """The row is left out and said; no kernel is called "vo"."""
    cut = TRACE[: TRACE.rindex('"void gemm') + 3]
    run = imported(tmp_path, cut)

    assert [run.signatures[r["signature"]].name for r in run.rows()] == ["Memcpy HtoD", "gemm<float, 4>"]  # fmt: skip
    assert "the last line of table has no end, so it may be cut: left out" in run.recorder.warnings


def test_a_quote_that_closes_ends_the_last_row(tmp_path):
    """Without a line end it is whole all the same."""
    run = imported(tmp_path, TRACE.rstrip("\n"))

    assert len(run.rows()) == 3
    assert run.recorder.warnings == ()


def test_times_of_a_trace_that_cannot_be(tmp_path):
    """A duration that later kernels of the stream contradict; a start far from all others."""
    rows = ["200000,500,7,a", "201000,203400000000,7,a", "202000,500,7,a", f"{17 * 10**17},500,7,a"]
    run = imported(tmp_path, "Start (ns),Duration (ns),Strm,Name\n" + "\n".join(rows) + "\n")

    assert [r["duration_ns"] for r in run.rows()] == [500, None, 500]
    assert run.steps[0].duration_ns == 2500
    assert "left out, without a usable start: 1 device activity" in run.recorder.warnings


def test_names_without_paths(tmp_path):
    """Unless they are asked for."""
    text = TRACE.replace("gemm<float, 4>", "[lambda at /home/ann/x.cu:3]")

    assert "x.cu:3" in imported(tmp_path, text).signatures[1].name
    assert "ann" not in imported(tmp_path, text).signatures[1].name
    assert "/home/ann" in imported(tmp_path, text, keep_private=True).signatures[1].name


SECOND = TRACE + "".join(
    f'{start},{us},9,64,1,1,256,1,1,32,0.000,0.016,,,,,{on},1,,7,"add"\n'
    for start, us, on in ((3000, 900, "NVIDIA H200 (1)"), (4000, 200, "NVIDIA H200 (1)"))
)


@pytest.mark.parametrize(
    ("device", "own", "other", "count", "ns"),
    [
        (None, [900, 200], "NVIDIA H200 (0)", 3, 1000),  # 1100 ns are most
        ("cuda:0", [500, 250, 250], "NVIDIA H200 (1)", 2, 1100),
        ("cuda:1", [900, 200], "NVIDIA H200 (0)", 3, 1000),
    ],
)
def test_two_devices(tmp_path, device, own, other, count, ns):
    """Their times overlap: a run is of one."""
    run = imported(tmp_path, SECOND, device=device)
    (gap,) = run.gaps

    assert [row["duration_ns"] for row in run.rows()] == own
    assert run.device.id == "nvidia-h200-sxm-141gb"
    assert (gap.name, gap.count, round(gap.seconds * 1e9)) == (other, count, ns)
    assert gap.what.endswith(f"; --device cuda:{other[-2]} imports it instead")


def test_a_device_that_is_not_in_the_table(tmp_path):
    with pytest.raises(BadInput, match=r"ran on cuda:2, .* there is cuda:0, cuda:1$"):
        imported(tmp_path, SECOND, device="cuda:2")
    with pytest.raises(BadInput, match="recorded on NVIDIA H200, and --device says NVIDIA A100"):
        imported(tmp_path, TRACE, device="a100-sxm4-80gb")
    with pytest.raises(BadInput, match="there is no GPU with a number"):
        imported(tmp_path, SUMMARY, device="cuda:0")


@pytest.mark.parametrize("block", ["0,1,1", "256,0,1", "-4,1,1", "-4,-1,1"])
def test_no_launch_has_such_a_block(tmp_path, block):
    """Damage, as in a database: unknown, and whoever divides by it need not look."""
    run = imported(tmp_path, TRACE.replace("256,1,1", block, 1))
    assert run.rows()[1]["counters"] == {"grid": 64, "registers per thread": 32}
    assert run.rows()[2]["counters"] == {"grid": 64, "block": 256, "registers per thread": 32}


@pytest.mark.parametrize("cell", [f"a{' ' * 100_000}(", f"{' ' * 100_000}(x", "(" * 100_000])
def test_cells_of_any_length_take_no_time(tmp_path, cell):
    """A name of a column, and of a device: patterns that try every split would take days."""
    began = time.process_time()
    with pytest.raises(BadInput):
        imported(tmp_path, f"Name,{cell}\n{TRACE.splitlines()[1]}\n")
    device = TRACE.replace("NVIDIA H200 (0)", cell)
    assert len(imported(tmp_path, device).rows()) == 3
    assert time.process_time() - began < 5


SAME = (
    SUMMARY.splitlines()[0] + '\n100.0,500,2,250,250,250,250,0,"void gemm<float, 4>(T1 *, int)"\n'
)


@pytest.mark.parametrize("files", [[TRACE, SAME], [SAME, TRACE], [TRACE + "\n" + SAME]])
def test_a_summary_beside_a_trace_counts_nothing_twice(tmp_path, files):
    """Of one recording: the trace has every launch of the summary."""
    paths = [tmp_path / f"table{at}" for at in range(len(files))]
    for path, text in zip(paths, files, strict=True):
        path.write_text(text)
    run = load(paths)

    assert [row["duration_ns"] for row in run.rows()] == [500, 250, 250]
    assert [signature.name for signature in run.signatures] == ["Memcpy HtoD", "gemm<float, 4>"]
    assert run.steps[0].duration_ns == 1550
    assert run.recorder.warnings == ()
    assert [gap.what for gap in run.gaps] == [
        "a summary of 1 kernel, left out: launches that a trace lists one by one would count twice"
    ]


def test_rows_that_say_too_little_are_counted(tmp_path):
    """A start that is none; a total or a number of launches that is none."""
    run = imported(tmp_path, TRACE.replace("2000,250", "soon,250"))
    assert [row["duration_ns"] for row in run.rows()] == [500, 250]
    assert run.recorder.warnings == ("left out, without a usable start: 1 device activity",)

    rows = "9,n/a,3,1,1,1,1,1,bad\n9,50,0,1,1,1,1,1,none\n"
    said = imported(tmp_path, SUMMARY + rows).recorder.warnings
    assert said == (
        "left out, without a total time or a number of instances: 2 rows of a summary",
        "launches of 2 kernels stand with their average duration",
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            TRACE.replace("1000,5", ",5").replace("00,250", ",250"),
            "no device activity has a usable",
        ),
        (
            SUMMARY.splitlines()[0] + "\n9,n/a,3,1,1,1,1,1,bad\n",
            "no row of its summary has a total",
        ),
    ],
)
def test_nothing_says_enough(tmp_path, text, words):
    text = text.replace("\n20,", "\n,").replace("\n23,", "\n,")
    with pytest.raises(BadInput, match=words):
        imported(tmp_path, text)


def test_a_device_without_a_start_and_one_without_a_time(tmp_path):
    """The first is there, and no run can be of it; unknown time of the second is not zero."""
    timeless = SECOND.replace("3000,900", "x,900").replace("4000,200", "x,200")
    assert imported(tmp_path, timeless).gaps == ()
    with pytest.raises(BadInput, match="no device activity has a usable start"):
        imported(tmp_path, timeless, device="cuda:1")

    (gap,) = imported(tmp_path, SECOND.replace("3000,900", "3000,").replace("4000,200", "4000,n/a")).gaps  # fmt: skip
    assert (gap.name, gap.count, gap.seconds) == ("NVIDIA H200 (1)", 2, None)
