"""`roofline ncu` with a stand-in for the profiler: a script that writes what ncu would."""

import csv
import gzip
import itertools
import json
import re
import sys

import pytest

from roofline import counters, runfile
from roofline.cli import main
from roofline.importers import load
from roofline.importers.ncu import collect
from tests.importers.ncu.exports import RECORDED, launch, raw

PAGE = raw(
    {"gpu__time_duration.sum": "ns", "dram__bytes_read.sum": "byte", "dram__bytes_write.sum": "byte",
     "device__attribute_display_name": "", "profiler__replayer_passes": "pass"},
    (launch(0, "gemm"), {"profiler__replayer_passes": "24",
                         "gpu__time_duration.sum": "12,500", "dram__bytes_read.sum": "1,048,576",
                         "dram__bytes_write.sum": "2,097,152", "device__attribute_display_name": "NVIDIA H200"}),
)  # fmt: skip

# Keeps its arguments, runs the program as ncu does, writes the page to --log-file.
STAND_IN = """#!{python}
import json, pathlib, subprocess, sys
here, words = pathlib.Path(__file__).parent, sys.argv[1:]
if words == ["--help"]:
    print((here / "help").read_text())
    sys.exit()
log = words[words.index("--log-file") + 1]
program = words[max(i for i, w in enumerate(words[:-1]) if w.startswith("-")) + 2:]
(here / "arguments").write_text(json.dumps(words))
code = subprocess.run(program).returncode
pathlib.Path(log).write_text((here / "page").read_text())
sys.exit(code)
"""


@pytest.fixture
def profiler(tmp_path, monkeypatch):
    """A folder with a stand-in `ncu` that alone is on the PATH, and its page."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ncu").write_text(STAND_IN.format(python=sys.executable))
    (folder / "ncu").chmod(0o755)
    (folder / "page").write_text(PAGE)
    (folder / "help").write_text("  --rename-kernels arg (=1)  Perform a simplification")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import sys; print('hello'); sys.exit(int(sys.argv[1]))\n")
    return folder


def arguments(profiler) -> list[str]:
    """What the stand-in was called with."""
    return json.loads((profiler / "arguments").read_text())


def test_a_program_is_profiled_and_imported(profiler, tmp_path, capfd):
    """3,145,728 B in 12.5 us, flushed caches, free clocks, named after the script."""
    code = main(["ncu", "--", sys.executable, "train.py", "0"])
    out = capfd.readouterr().out
    run = runfile.load(tmp_path / "train.ncu.roof")

    assert code == 0
    assert out.startswith("hello\n")
    assert (run.recorder.program, run.recorder.cache, run.recorder.clock) == (
        "train.py",
        "flushed",
        "free",
    )
    assert run.device.name == "NVIDIA H200 SXM 141GB"
    (row,) = run.rows()
    assert row["duration_ns"] == 12_500
    assert (
        run.recorder.timer == "gpu__time_duration of one pass of each launch; 1 launch in 24 passes"
    )


def test_json_is_alone_on_standard_output(profiler, capfd):
    """The program's own output goes to standard error."""
    main(["ncu", "--json", "-o", "a.roof", sys.executable, "train.py", "0"])
    captured = capfd.readouterr()
    (item,) = json.loads(captured.out)["items"]

    assert "hello" in captured.err
    assert item["achieved"]["dram"]["total"] == 3_145_728


def test_the_exit_code_is_the_programs(profiler):
    """What was profiled before it failed is imported."""
    assert main(["ncu", "--quiet", "-o", "a.roof", sys.executable, "train.py", "3"]) == 3


def test_what_the_profiler_is_asked_for(profiler):
    """Clocks alone, caches flushed, one raw page in base units; the least metrics."""
    main(
        [
            "ncu",
            "--quiet",
            "--kernel",
            "gemm",
            "--skip",
            "2",
            "--count",
            "5",
            sys.executable,
            "train.py",
            "0",
        ]
    )
    words = arguments(profiler)
    options = dict(itertools.pairwise(words))

    assert (options["--clock-control"], options["--cache-control"]) == ("none", "all")
    assert (options["--page"], options["--print-units"]) == ("raw", "base")
    assert (options["--kernel-name"], options["--launch-skip"], options["--launch-count"]) == (
        "regex:gemm",
        "2",
        "5",
    )
    assert "lts__" not in options["--metrics"]
    assert words[-3:] == [sys.executable, "train.py", "0"]


def test_names_are_asked_for_whole_where_the_profiler_can(profiler):
    """An older one would end at an option that it does not know."""
    program = [sys.executable, "train.py", "0"]
    main(["ncu", "--quiet", *program])
    newer = arguments(profiler)
    (profiler / "help").write_text("  --kernel-name arg")
    main(["ncu", "--quiet", *program])

    assert newer[:2] == ["--rename-kernels", "0"]
    assert "--rename-kernels" not in arguments(profiler)


def test_more_levels_and_caches_left_alone(profiler, tmp_path):
    """Asked for; and what replays do to such bytes is said."""
    main(
        [
            "ncu",
            "--quiet",
            "--levels",
            "--cache",
            "none",
            "-o",
            "a.roof",
            sys.executable,
            "train.py",
            "0",
        ]
    )
    words = arguments(profiler)
    run = runfile.load(tmp_path / "a.roof")

    assert words[words.index("--cache-control") + 1] == "none"
    assert "lts__" in words[words.index("--metrics") + 1]
    assert run.recorder.cache == "unknown"
    assert collect.REPLAYED in run.recorder.warnings


def test_a_doubt_is_told_once(profiler, capfd):
    """On top of what is printed; where nothing is, and beside JSON, on standard error."""
    (profiler / "page").write_text("==WARNING== a doubt of the profiler's\n" + PAGE)
    said = {}
    for option in ("--rows", "--quiet", "--json"):
        options = ["import", option, *(["9"] if option == "--rows" else []), "bin/page"]
        assert main(options) == 0
        imported = capfd.readouterr()
        options = [option] if option != "--rows" else []
        assert main(["ncu", *options, "-o", "a.roof", sys.executable, "train.py", "0"]) == 0
        profiled = capfd.readouterr()
        said[option] = [
            (text.out.count("doubt of the profiler"), text.err.count("doubt of the profiler"))
            for text in (imported, profiled)
        ]

    assert said == {"--rows": [(1, 0)] * 2, "--quiet": [(0, 1)] * 2, "--json": [(1, 1)] * 2}


def test_a_run_that_could_not_be_written_is_not_made(profiler, tmp_path, capfd):
    """The default name is looked at before the program runs, as a name that was given is."""
    (tmp_path / "train.ncu.roof").write_text("notes")

    assert main(["ncu", sys.executable, "train.py", "0"]) == 2
    assert "train.ncu.roof" in capfd.readouterr().err
    assert not (profiler / "arguments").exists()
    assert (tmp_path / "train.ncu.roof").read_text() == "notes"


def test_without_permission(profiler, capfd):
    """How to get it, exit 2."""
    (profiler / "page").write_text(
        "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"
    )

    assert main(["ncu", sys.executable, "train.py", "0"]) == 2
    assert "NVreg_RestrictProfilingToAdminUsers=0" in capfd.readouterr().err


def test_without_a_profiler(tmp_path, monkeypatch, capfd):
    """Where to get it, exit 2."""
    monkeypatch.setenv("PATH", str(tmp_path))

    assert main(["ncu", "python", "train.py"]) == 2
    assert "there is no `ncu` on the PATH" in capfd.readouterr().err


WANTED = [
    "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_op_write.sum",
    "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum",
    "sm__ops_path_tensor_src_fp16.sum", "sm__ops_path_tensor_src_fp16_dst_fp32.sum",
    "sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp16.sum", "sm__ops_path_tensor_src_int8.sum",
    "sm__ops_path_tensor_src_fp8_sparsity_on.sum", "sm__inst_executed_pipe_tensor.sum",
]  # fmt: skip
UNWANTED = [
    "gpu__time_duration.avg", "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum",
    "sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_off.sum", "sm__ops_path_tensor_src_fp16.avg",
    "lts__t_sectors.sum", "device__attribute_display_name", "launch__waves_per_multiprocessor",
]  # fmt: skip


def test_the_patterns_ask_for_the_names():
    """Whole names of every architecture, and nothing that only repeats them."""
    patterns = [re.compile(p) for p in collect.LEAST]

    assert all(any(p.fullmatch(name) for p in patterns) for name in WANTED)
    assert not any(p.fullmatch(name) for p in patterns for name in UNWANTED)


def asked():
    """The names of the columns that an H200 gave for everything that is asked for with --levels."""
    text = gzip.decompress((RECORDED / "asked.raw.csv.gz").read_bytes()).decode()
    header = next(line for line in text.splitlines() if line.startswith('"ID"'))
    return [name for (name,) in csv.reader(header.split(","))]


def test_every_pattern_found_its_counters_on_an_h200():
    """A pattern that finds none would end the profile."""
    names = asked()
    for pattern in (*collect.LEAST, *collect.MORE):
        assert any(re.fullmatch(pattern, name) for name in names), pattern


def test_what_every_raw_page_holds_is_not_asked_for():
    """Launch, device and occupancy came by themselves."""
    names = asked()
    for name in (
        "launch__waves_per_multiprocessor", "launch__occupancy_limit_registers",
        "device__attribute_display_name", "profiler__replayer_passes",
        "sm__maximum_warps_per_active_cycle_pct",
    ):  # fmt: skip
        assert name in names


def test_an_export_of_everything_that_is_asked_for():
    """Three launches of 24 passes; flop, bytes at four boundaries, pipes, stalls."""
    imported = load([RECORDED / "asked.raw.csv.gz"])
    rows = imported.rows()
    facts = counters.facts(rows[0]["counters"])

    assert [imported.signatures[row["signature"]].name for row in rows] == [
        "scale<2>", "scale<3>", "other",
    ]  # fmt: skip
    assert [row["counters"]["profiler__replayer_passes"] for row in rows] == [24.0] * 3
    assert {r.name for r in counters.achieved(rows[0]["counters"]).demand()} == {
        "dram", "l2", "l1", "shared",
    }  # fmt: skip
    # x[i] * 2 + 1 of 1001 blocks of 256 threads is one FMA each
    assert counters.executed(rows[0]["counters"]).flop == 2 * 1001 * 256
    assert {"tensor_pipe", "fma_pipe", "xu_pipe", "issue_active", "stall_long_scoreboard",
            "sm_throughput", "dram_throughput", "occupancy_achieved"} <= set(facts)  # fmt: skip
