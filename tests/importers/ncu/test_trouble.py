"""Exports as they come from the field: noise, locales, units, missing and interrupted launches.

All written by hand in the form of Nsight Compute's pages.
"""

import gzip

import pytest

from roofline import counters
from roofline.device import DRAM, VECTOR_FP32
from roofline.errors import BadInput, Missing
from roofline.importers import load
from roofline.importers.ncu.pages import FEW
from roofline.measurement import CacheState, ClockState
from roofline.program import read
from roofline.report.document import of_run
from tests.importers.ncu.exports import LONG, WIDE, details, launch, metrics, quoted, raw, run
from tests.importers.ncu.exports import counters as of

TIME = {"gpu__time_duration.sum": ("292,928", "ns")}
SAXPY = {
    "dram__bytes_op_read.sum": ("134,221,568", "byte"),
    "dram__bytes_op_write.sum": ("43,631,104", "byte"),
    **TIME,
}


def test_saxpy_below_its_roof(tmp_path):
    """(134,221,568 + 43,631,104) B / 292.928 us = 607.2 GB/s = 90.3 % of 672.05 GB/s; not 102 %."""
    page = details(
        *metrics(0, "saxpy_kernel(float, const float *, float *, int)", SAXPY, cc="12.0")
    )
    imported = run(tmp_path, page, device="rtx-5070")
    (item,) = read(imported).by("call")
    (bound,) = item.placement.bounds

    assert (item.name, item.shapes) == ("saxpy_kernel", "grid 100, block 256")
    assert bound.amount / item.measured_s == pytest.approx(607.155e9, rel=1e-6)
    assert bound.amount / item.measured_s / 672.05e9 == pytest.approx(0.9034, abs=5e-5)
    assert item.roof_fraction == pytest.approx(bound.amount / bound.ceiling.rate / 292.928e-6)
    assert "last-level cache" in item.placement.counted[0].conventions[0]
    assert item.placement.flop is None
    assert read(imported).whole.coverage == 0.0  # flop were not counted


def test_a_gpu_that_is_not_named_is_told_by_its_capability(tmp_path):
    page = details(*metrics(0, "saxpy", SAXPY, cc="12.0"))

    assert (
        "the export does not name the GPU, of compute capability 12.0; --device NAME does"
        in run(tmp_path, page).recorder.warnings
    )


NOISE = 'epoch 1, loss 0.25\n==PROF== Profiling "saxpy" - 0: 0%....100% - 3 passes\n'


@pytest.mark.parametrize(
    "wrap",
    [
        lambda page: "\ufeff" + page,
        lambda page: page.replace("\n", "\r\n"),
        lambda page: "\ufeff" + NOISE + page.replace("\n", "\r\n"),
        lambda page: NOISE + page + 'done in 3 s, 4 MB, "ok"\n',
        lambda page: page.replace("\n", "\nstep 5, 6, 7\n"),
        lambda page: "working... " + page,
        lambda page: page.replace('"0","7"', 'half a line"0","7"'),
        lambda page: "\n\n" + page + "\n\n",
        lambda page: "50 %\r100 %\r" + page,
        lambda page: page.rstrip("\n"),
        lambda page: 'he said "hi\n' + page,
    ],
)
def test_noise_around_the_table(wrap, tmp_path):
    """The program's own output, byte order mark and line ends change nothing."""
    page = details(*metrics(0, "saxpy", SAXPY))
    (clean,) = of(run(tmp_path, page))
    (found,) = of(run(tmp_path, wrap(page)))

    assert found == clean
    assert clean["dram__bytes_op_read.sum"] == 134_221_568


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8"])
def test_encodings(encoding, tmp_path):
    """A shell that redirects as UTF-16 writes a byte order mark."""
    page = "\ufeff" * (encoding != "utf-16") + details(*metrics(0, "saxpy", SAXPY))

    assert of(run(tmp_path, page.encode(encoding)))[0]["gpu__time_duration.sum"] == 292_928 / 1e9


def test_gzipped(tmp_path):
    """By content, not by name."""
    page = details(*metrics(0, "saxpy", SAXPY))

    assert of(run(tmp_path, gzip.compress(page.encode()))) == of(run(tmp_path, page))


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_saved_again_by_a_spreadsheet(delimiter, tmp_path):
    """Another delimiter, no quotes."""
    rows = [LONG, *metrics(0, "saxpy", SAXPY)]
    page = "\n".join(delimiter.join(str(cell) for cell in row) for row in rows)

    assert of(run(tmp_path, page))[0]["dram__bytes_op_write.sum"] == 43_631_104


def test_quoted_commas_do_not_split(tmp_path):
    """A kernel name and numbers with commas."""
    name = "void gemm<float, 4>(T1 *, T1 *, int)"
    page = details(*metrics(0, name, {"dram__bytes.sum": ("5,318,969,728.00", "byte"),
                                      "smsp__cycles_elapsed.avg": ("402,339.36", "cycle")}))  # fmt: skip
    imported = run(tmp_path, page)

    assert imported.signatures[0].name == "gemm<float, 4>"
    assert of(imported)[0]["dram__bytes.sum"] == 5_318_969_728
    assert of(imported)[0]["smsp__cycles_elapsed.avg"] == 402_339.36


def test_a_quote_in_a_cell(tmp_path):
    """Doubled quotes, as in ranges, and a rule that spans lines."""
    rows = metrics(0, 'k<"a,b">', SAXPY)
    rule = [
        *launch(0, 'k<"a,b">'),
        "SpeedOfLight",
        "",
        "",
        "",
        "Rule",
        "INF",
        'Line one\nsays "two"',
    ]
    header = (*LONG, "Rule Name", "Rule Type", "Rule Description")
    imported = run(tmp_path, details(*rows[:1], rule, *rows[1:], header=header))

    assert len(imported.rows()) == 1
    assert imported.signatures[0].name == 'k<"a,b">'
    assert of(imported)[0]["gpu__time_duration.sum"] == 292_928 / 1e9


def test_interleaved_ids_and_repeated_launches(tmp_path):
    """Rows of launches 0 and 1 in turn; the same kernel twice is two launches of one signature."""
    first = metrics(
        0, "k", {"dram__bytes.sum": ("1,000", "byte"), "lts__t_bytes.sum": ("1,048,576", "byte")}
    )
    second = metrics(
        1, "k", {"dram__bytes.sum": ("3,000", "byte"), "lts__t_bytes.sum": ("2,097,152", "byte")}
    )
    imported = run(tmp_path, details(first[0], second[0], first[1], second[1]))

    assert [c["dram__bytes.sum"] for c in of(imported)] == [1000, 3000]
    assert [c["lts__t_bytes.sum"] for c in of(imported)] == [1_048_576, 2_097_152]
    assert len(imported.signatures) == 1


def test_the_mean_of_launches_and_their_sum(tmp_path):
    """1,000 and 3,000 B: 2,000 B a launch on average, 4,000 B in two calls."""
    rows = [r for at, n in ((0, "1,000"), (1, "3,000"))
            for r in metrics(at, "k", {"dram__bytes.sum": (n, "byte"), "x__y.sum": ("1,0.5", "")})]  # fmt: skip
    imported = run(tmp_path, details(*rows), decimal=".", device="h100-sxm")
    (part,) = read(imported).parts
    (item,) = read(imported).by("call")

    assert part.once.demand[DRAM] == 2000
    assert item.calls == 2
    assert item.placement.demand[DRAM] == 4000


def test_two_sessions_in_one_file(tmp_path):
    """A second header starts a second table; its launch 0 of another process is another launch."""
    page = details(*metrics(0, "a", SAXPY)) + "again\n" + details(*metrics(0, "a", SAXPY, pid=8))

    assert len(run(tmp_path, page).rows()) == 2


def test_launches_without_ids(tmp_path):
    """A cut-down table of name, metric, unit and value: a metric seen again is a new launch."""
    rows = [["k", "gpu__time_duration.sum", "nsecond", "1000"], ["k", "dram__bytes.sum", "byte", "64"],
            ["k", "gpu__time_duration.sum", "nsecond", "3000"]]  # fmt: skip
    page = quoted([("Kernel Name", "Metric Name", "Metric Unit", "Metric Value"), *rows])

    assert [r["duration_ns"] for r in run(tmp_path, page).rows()] == [1000, 3000]


def test_rows_that_leave_the_identity_out(tmp_path):
    """Blank identity cells continue the launch above."""
    header = ("ID", "Kernel Name", "Stream", "Metric Name", "Metric Unit", "Metric Value")
    page = (
        ",".join(f'"{name}"' for name in header)
        + '\n1,"gemm",7,"gpu__time_duration.sum","nsecond",20000'
        + '\n,,,"sm__throughput.avg.pct_of_peak_sustained_elapsed","percent",90'
        + '\n2,"copy",8,"gpu__time_duration.sum","usecond",5'
        + '\n,,,"not_available__metric.sum","",n/a\n'
    )
    imported = run(tmp_path, page)

    assert [(r["duration_ns"], r["stream"]) for r in imported.rows()] == [(20_000, 7), (5_000, 8)]
    assert counters.facts(of(imported)[0])["sm_throughput"].value == 90
    assert "not_available__metric.sum" not in of(imported)[1]


def test_raw_page_by_name_with_its_row_of_units(tmp_path):
    """Text among numbers, a unit a column, columns in any order."""
    page = raw(
        {"launch__func_cache_config": "", "gpu__time_duration.sum": "us", "dram__bytes_read.sum": "Mbyte",
         "dram__bytes_write.sum": "Kbyte", "sm__maximum_warps_per_active_cycle_pct": "%"},
        (launch(0, "a"), {"launch__func_cache_config": "CachePreferNone", "gpu__time_duration.sum": "74.496000",
                          "dram__bytes_read.sum": "33.871360", "dram__bytes_write.sum": "1.024000",
                          "sm__maximum_warps_per_active_cycle_pct": "18.750000"}),
        (launch(1, "b"), {"gpu__time_duration.sum": "1.5", "dram__bytes_read.sum": "n/a"}),
    )  # fmt: skip
    first, second = run(tmp_path, page).rows()

    assert (first["duration_ns"], second["duration_ns"]) == (74_496, 1_500)
    assert first["counters"]["dram__bytes_read.sum"] == 33_871_360
    assert first["counters"]["dram__bytes_write.sum"] == 1024  # Kbyte is 1000: 1.024 Kbyte
    assert "dram__bytes_read.sum" not in second["counters"]
    assert "launch__func_cache_config" not in first["counters"]


def test_raw_page_without_its_row_of_units(tmp_path):
    """Base units: nanoseconds and bytes; or units in the column names."""
    bare = quoted(
        [
            (*WIDE, "gpu__time_duration.sum", "dram__bytes.sum"),
            [*launch(0, "a"), "1,500", "1,048,576"],
        ]
    )
    named = quoted([("Kernel Name", "gpu__time_duration.sum (usecond)", "dram__bytes.sum (Kbyte)"),
                    ("a", "1.5", "1048.576")])  # fmt: skip

    for page in (bare, named):
        (row,) = run(tmp_path, page).rows()
        assert (row["duration_ns"], row["counters"]["dram__bytes.sum"]) == (1500, 1_048_576)


def test_rows_that_were_cut(tmp_path):
    """An interrupted profiler leaves half a row: it is left out and counted."""
    page = raw({"gpu__time_duration.sum": "us", "dram__bytes.sum": "byte"},
               (launch(0, "a"), {"gpu__time_duration.sum": "2.5", "dram__bytes.sum": "1,048,576"}),
               (launch(1, "b"), {"gpu__time_duration.sum": "2.5", "dram__bytes.sum": "1,048,576"}))  # fmt: skip
    imported = run(tmp_path, page[: page.rindex('"2.5"') + 3])

    assert len(imported.rows()) == 1
    assert any("cut short" in text for text in imported.recorder.warnings)


ERRORS = {
    '==ERROR== Failed to profile "gemm_shared_tile" in process 3301344\n': "gemm_shared_tile",
    "==PROF== Connected to process 1 (/home/ann/app)\n": None,
    "==ERROR== The application returned an error code (11).\n": "error code (11)",
}


@pytest.mark.parametrize("error", ERRORS)
def test_nothing_but_messages(error, tmp_path):
    """No rows: no kernel was profiled, with the reason; no path of the user in it."""
    with pytest.raises(BadInput, match="no kernel was profiled") as caught:
        run(tmp_path, error)

    assert ERRORS[error] is None or ERRORS[error] in str(caught.value)
    assert "/home/ann" not in str(caught.value)


def test_no_permission_says_how_to_get_it(tmp_path):
    """The one error nearly everybody meets first."""
    text = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters\n"
    with pytest.raises(BadInput, match="NVreg_RestrictProfilingToAdminUsers=0"):
        run(tmp_path, text)


def test_a_kernel_the_profiler_failed_on_is_missing(tmp_path):
    """Rows exist for B and C; the error names A."""
    page = '==ERROR== Failed to profile "A" in process 1\n' + details(
        *metrics(0, "B", SAXPY), *metrics(1, "C", SAXPY)
    )
    imported = run(tmp_path, page)

    assert [s.name for s in imported.signatures] == ["B", "C"]
    assert [gap.name for gap in imported.gaps] == ["A"]
    assert 'Failed to profile "A"' in imported.gaps[0].what


def test_paths_stay_in_the_file(tmp_path):
    """Errors and warnings are kept without the user's paths, unless asked."""
    page = "==ERROR== cannot open /home/ann/secret/app.cu (2)\n" + details(*metrics(0, "B", SAXPY))

    assert "/home/ann" not in str(run(tmp_path, page))
    assert "/home/ann/secret/app.cu" in str(run(tmp_path, page, keep_private=True).gaps)


def test_above_a_hundred_percent_is_kept_and_marked(tmp_path):
    """175.45 % stays 175.45 %."""
    name = "l1tex__throughput.avg.pct_of_peak_sustained_active"
    imported = run(tmp_path, details(*metrics(0, "k", {name: ("175.45", "%"), **TIME})))
    reading = counters.facts(of(imported)[0])["l1_throughput"]

    assert (reading.value, reading.mark) == (175.45, "above 100 %")
    assert any("175.45 %" in text for text in imported.recorder.warnings)


def test_a_duration_around_replays_is_refused(tmp_path):
    """1,000,000 cycles at 1 GHz are 1 ms; a duration of 40 ms beside them is forty passes."""
    inflated = {"gpu__time_duration.sum": ("40.00", "ms"), "sm__cycles_elapsed.avg": ("1,000,000", "cycle"),
                "sm__cycles_elapsed.avg.per_second": ("1.00", "Ghz"), "dram__bytes.sum": ("64.00", "Mbyte")}  # fmt: skip
    imported = run(tmp_path, details(*metrics(0, "k", inflated)), device="h100-sxm")
    (row,) = imported.rows()
    (item,) = read(imported).by("call")

    assert row["duration_ns"] is None
    assert item.roof_fraction is None
    assert item.placement.demand[DRAM] == 64_000_000
    assert any("around replays" in text for text in imported.recorder.warnings)


def test_cycles_stand_in_for_a_missing_duration(tmp_path):
    """132,581.2 cycles at 1.9552 GHz: 67.81 us."""
    cycles = {"smsp__cycles_elapsed.avg": ("132,581.2", "cycle"),
              "smsp__cycles_elapsed.avg.per_second": ("1.9552", "cycle/nsecond")}  # fmt: skip
    (row,) = run(tmp_path, details(*metrics(0, "k", cycles))).rows()

    assert row["duration_ns"] == round(132_581.2 / 1.9552e9 * 1e9) == 67_810


def test_print_summary(tmp_path):
    """Averages over 3 invocations stand as three launches, and it is said."""
    header = ("Process ID", "Process Name", "Host Name", "Kernel Name", "Block Size", "Grid Size", "Device",
              "CC", "Invocations", "Section Name", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average")  # fmt: skip
    first = [
        "1",
        "app",
        "host",
        "add_vector(float *)",
        "(256, 1, 1)",
        "(4096, 1, 1)",
        "0",
        "8.0",
        "3",
        "s",
    ]
    page = quoted([header, [*first, "gpu__time_duration.sum", "nsecond", "1,000", "3,000", "2,000.00"],
                   [*first, "DRAM Throughput", "%", "5", "15", "10"]])  # fmt: skip
    imported = run(tmp_path, page)

    assert [r["duration_ns"] for r in imported.rows()] == [2000] * 3
    assert counters.facts(of(imported)[0])["dram_throughput"].value == 10
    assert any("averages over 3 launches" in text for text in imported.recorder.warnings)


def test_an_absurd_number_of_invocations(tmp_path):
    """A hundred billion launches stand as one, and it is said."""
    header = ("Kernel Name", "Invocations", "Metric Name", "Metric Unit", "Average")
    page = quoted([header, ["k", "99999999999", "gpu__time_duration.sum", "nsecond", "5"]])
    imported = run(tmp_path, page)

    assert len(imported.rows()) == 1
    assert any("stands as one launch" in text for text in imported.recorder.warnings)


def test_ranges_become_modules(tmp_path):
    """Push/pop ranges, outermost first, whatever the domain."""
    column = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
    cell = '7  "<default domain>:forward:none:none:none:none:none:none"  "mine:layer 3:none:none:none:none:none:none" '
    header = (*LONG[:4], column, *LONG[4:])
    rows = [[*row[:4], cell, *row[4:]] for row in metrics(0, "k", SAXPY)]
    (row,) = run(tmp_path, details(*rows, header=header)).rows()

    assert row["module"] == "forward.layer 3"


@pytest.mark.parametrize("empty", ["", "n/a", "N/A", "no data", "nan", "inf", "-", "PolicySpread"])
def test_what_is_not_a_number_is_unknown(empty, tmp_path):
    """Never 0: the metric is absent."""
    (found,) = of(
        run(tmp_path, details(*metrics(0, "k", {**SAXPY, "dram__bytes.sum": (empty, "byte")})))
    )

    assert "dram__bytes.sum" not in found


def test_a_unit_nobody_knows_is_said(tmp_path):
    """The metric is unknown, not taken as if it had no unit."""
    imported = run(
        tmp_path, details(*metrics(0, "k", {**SAXPY, "dram__bytes.sum": ("5", "furlong")}))
    )

    assert "dram__bytes.sum" not in of(imported)[0]
    assert any("'furlong'" in text for text in imported.recorder.warnings)


def test_the_user_says_what_caches_and_clocks_did(tmp_path):
    """Not in the export: unknown unless stated."""
    page = details(*metrics(0, "k", SAXPY))
    plain, stated = (
        run(tmp_path, page),
        run(tmp_path, page, ncu_cache=CacheState.FLUSHED, ncu_clock=ClockState.BASE),
    )

    assert (plain.recorder.cache, plain.recorder.clock) == ("unknown", "unknown")
    assert (stated.recorder.cache, stated.recorder.clock) == ("flushed", "base")


def test_a_report_needs_ncu(tmp_path, monkeypatch):
    """Without ncu on the PATH: how to export it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "x.ncu-rep").write_bytes(b"NVR\0" + b"\1" * 64)
    with pytest.raises(Missing, match=r"ncu --import x\.ncu-rep --csv --page raw"):
        load([tmp_path / "x.ncu-rep"])


def test_a_report_through_ncu(tmp_path, monkeypatch):
    """The user's own ncu prints the raw page in base units."""
    page = raw(
        {"gpu__time_duration.sum": "ns"}, (launch(0, "k"), {"gpu__time_duration.sum": "1,500"})
    )
    (tmp_path / "page").write_text(page)
    fake = tmp_path / "ncu"
    fake.write_text(f'#!/bin/sh\n[ "$1" = --import ] && exec /bin/cat "{tmp_path}/page"\nexit 1\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "x.ncu-rep").write_bytes(b"NVR\0" + b"\1" * 64)

    assert load([tmp_path / "x.ncu-rep"]).rows()[0]["duration_ns"] == 1500


def test_simt_gemm_whose_moves_are_half_instructions(tmp_path):
    """M = N = K = 256: 2 x 256^3 = 33,554,432 flop from FFMA alone.

    hfma = 32 x pipe_tensor: every tensor-pipe instruction is a move, so tensor flop are zero.
    """
    stem = "smsp__sass_thread_inst_executed_op_"
    values = {
        f"{stem}{t}{op}_pred_on.sum": ("0.00", "inst")
        for t in "dfh"
        for op in ("add", "mul", "fma")
    }
    values[f"{stem}ffma_pred_on.sum"] = ("16,777,216.00", "inst")
    values[f"{stem}hfma_pred_on.sum"] = ("335,544,320.00", "inst")
    values["smsp__inst_executed_pipe_tensor.sum"] = ("10,485,760.00", "inst")
    ledger = counters.executed(of(run(tmp_path, details(*metrics(0, "k", values, cc="8.0"))))[0])

    assert ledger.demand() == {VECTOR_FP32: 2 * 256**3}
    assert ledger.unaccounted == ()
    assert "moves" in ledger.conventions[0]


def test_the_page_for_people(tmp_path):
    """Without --csv the profiler prints aligned text: which option to give."""
    page = '==PROF== Profiling "k"\n  k (1, 1, 1)x(256, 1, 1), Context 1\n    Section: Launch Statistics\n    Grid Size 1\n'
    with pytest.raises(BadInput, match="print it with `--csv`"):
        run(tmp_path, page)


def test_compute_bound_by_the_path_that_is_busy(tmp_path):
    """SM 47 %, DRAM 12 %, fp32-accumulate tensor path 96 %: the document names the path, 96 %."""
    pct = ".avg.pct_of_peak_sustained_elapsed"
    page = details(*metrics(0, "k", {
        f"sm__throughput{pct}": ("47.0", "%"), f"gpu__dram_throughput{pct}": ("12.0", "%"),
        f"sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_off{pct}": ("96.0", "%"), **TIME,
    }))  # fmt: skip
    (item,) = of_run(run(tmp_path, page))["items"]

    assert item["busiest"] == {"fact": "tensor_fp16_dst_fp32", "value": 96.0, "unit": "%"}


def test_a_device_nobody_knows_keeps_what_is_recorded(tmp_path):
    """Its name, its SMs and its L2 in bytes; no ceilings, which is said."""
    attributes = {"device__attribute_display_name": "", "device__attribute_multiprocessor_count": "",
                  "device__attribute_l2_cache_size": "", "gpu__time_duration.sum": "us"}  # fmt: skip
    values = {"device__attribute_display_name": "NVIDIA Unheard Of 1", "device__attribute_multiprocessor_count": "7",
              "device__attribute_l2_cache_size": "1,048,576", "gpu__time_duration.sum": "1.50"}  # fmt: skip
    device = run(tmp_path, raw(attributes, (launch(0, "k"), values))).device

    assert (device.name, device.ceilings) == ("NVIDIA Unheard Of 1", ())
    assert (device.fact("sm_count").value, device.fact("l2_capacity").value) == (7, 1_048_576)


def test_an_export_that_names_no_gpu_says_so(tmp_path):
    """--device names it."""
    imported = run(tmp_path, details(*metrics(0, "k", SAXPY)))

    assert imported.device is None
    assert any("--device NAME does" in text for text in imported.recorder.warnings)


def test_two_files_both_name_the_run_and_what_both_leave_out_is_counted_once(tmp_path):
    """Of many metrics in each file one is read; the others are the same in both."""
    units = {"gpu__time_duration.sum": "ns"} | {f"none__asks_{n}.sum": "" for n in range(FEW)}
    paths = []
    for at, name in enumerate(("a.csv", "b.csv", "c.csv")):
        page = raw(units, (launch(at, f"kernel_{at}"), {"gpu__time_duration.sum": "1,000"}))
        (tmp_path / name).write_text(page)
        paths.append(tmp_path / name)
    two, three = load(paths[:2]), load(paths)

    assert (two.recorder.program, three.recorder.program) == (
        "a.csv, b.csv",
        "a.csv, b.csv and 1 more",
    )
    (gap,) = [gap for gap in two.gaps if gap.name == "metrics"]
    assert gap.what == f"{FEW} columns that nothing here uses"


def test_two_values_of_a_metric_for_one_launch_are_none(tmp_path):
    """10.5 us and 99.5 us under one id: nobody knows which; what is printed twice alike is known."""
    name, other = "gpu__time_duration.sum", "dram__bytes.sum"
    page = details(
        *metrics(0, "A", {name: ("10.5", "us"), other: ("3", "Mbyte")}),
        *metrics(0, "A", {name: ("99.5", "us"), other: ("3", "Mbyte")}),
    )
    imported = run(tmp_path, page)
    (seen,) = of(imported)

    assert name not in seen
    assert seen[other] == 3e6
    assert (
        f"two values of 1 metric for one launch, so unknown: {name}" in imported.recorder.warnings
    )


def test_a_duration_that_no_launch_can_have_is_said(tmp_path):
    """Thirty years of a kernel."""
    page = raw(
        {"gpu__time_duration.sum": "second"},
        (launch(0, "A"), {"gpu__time_duration.sum": "999999999.5"}),
        (launch(1, "B"), {"gpu__time_duration.sum": "0.00001"}),
    )
    imported = run(tmp_path, page)

    assert [row["duration_ns"] for row in imported.rows()] == [None, 10_000]
    assert "a duration that no launch can have (1 launch); refused" in imported.recorder.warnings
