"""A program looked at twice, with stand-ins for the recorder's child and for the profiler."""

import itertools
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from roofline import importers, replaying, runfile
from roofline.cli import main
from roofline.devices import kept
from roofline.importers.ncu.collect import Profiled
from roofline.program import read
from roofline.replaying import child
from roofline.replaying.choice import choose
from tests.importers.ncu.exports import launch, raw

TESTS = Path(__file__).parents[1]
TRACE = TESTS / "importers" / "kineto" / "torch-2.11" / "ln_hand.json.gz"
MEASURED = kept.read_file(TESTS / "data" / "h200-measured.json")
UNITS = {
    "gpu__time_duration.sum": "ns", "dram__bytes_read.sum": "byte", "dram__bytes_write.sum": "byte",
    "profiler__replayer_passes": "pass", "device__attribute_display_name": "",
}  # fmt: skip
SLOW = "at::native::elementwise_kernel<128, 2, f>(int)"
MEAN = "at::native::reduce_kernel<512, 1, f>(f)"
SHAPES = {SLOW: ("(262144, 1, 1)", "(128, 1, 1)"), MEAN: ("(1024, 1, 1)", "(32, 16, 1)")}


def page(names):
    """A page of one launch each, 200 us and 537 MB in 13 passes, after a line of the profiler's."""
    seen = {"gpu__time_duration.sum": "200,000", "dram__bytes_read.sum": "268,435,456",
            "dram__bytes_write.sum": "268,435,456", "profiler__replayer_passes": "13", "device__attribute_display_name": "NVIDIA H200"}  # fmt: skip
    said = "==WARNING== Note: Running with unmodified GPU clocks. If not controlled otherwise\n"
    launches = (
        (launch(at, name, grid=SHAPES[name][0], block=SHAPES[name][1]), seen)
        for at, name in enumerate(names)
    )
    return said + raw(UNITS, *launches)


@pytest.fixture
def timeline():
    """The handwritten layer norm, twice: nine kernels each, four of them slow."""
    return replace(importers.load([TRACE]), device=MEASURED)


def test_the_median_launch_of_the_lines_with_most_to_win(timeline):
    """sub and mul by a column lose most: 202 and 201 us; two launches each, the shorter is taken.

    elementwise_kernel runs in the order sub, mul, mul, add: launches 1 to 4, then 5 to 8.
    """
    choice = choose(timeline, read(timeline), 2)
    rows = timeline.rows()

    assert [one.function for one in choice.chosen] == ["elementwise_kernel"] * 2
    for one in choice.chosen:
        kernel = rows[one.row]
        twins = [
            row["duration_ns"]
            for row in rows
            if row["kind"] == "kernel"
            and rows[row["parent"]]["signature"] == rows[kernel["parent"]]["signature"]
        ]
        assert kernel["duration_ns"] == sorted(twins)[0]
    first, second = (one.number for one in choice.chosen)
    assert first % 4 == 1
    assert second % 4 == 2
    assert choice.kernel_id() == f"::regex:^(elementwise_kernel)$:^({min(first, second)}|{max(first, second)})$"  # fmt: skip


def test_any_chosen_function_at_any_chosen_number_is_replayed(timeline):
    """The filter cannot pair them: reduce_kernel at the numbers of elementwise_kernel comes along."""
    choice = choose(timeline, read(timeline), 5)
    numbers = {one.number for one in choice.chosen}

    assert {one.function for one in choice.chosen} == {"elementwise_kernel", "reduce_kernel"}
    assert [(one.function, one.number) for one in choice.replayed] == [
        (one.function, one.number)
        for one in sorted(choice.replayed, key=lambda one: timeline.rows()[one.row]["start_ns"])
    ]
    assert {one.number for one in choice.replayed} == numbers
    assert set(choice.chosen) <= set(choice.replayed)


def test_what_ran_on_a_cpu_has_no_launch(timeline):
    rows = timeline.events.filter([row["kind"] == "op" for row in timeline.rows()])
    run = replace(timeline, events=rows)
    assert choose(run, read(run), 5) is None


def test_what_was_asked_for_stands_beside_its_kernel(timeline):
    choice = choose(timeline, read(timeline), 2)
    profiled = Profiled(export=page([SLOW] * 2).encode(), program="ln.py", exit_code=0)
    run = replaying.with_replays(timeline, choice, profiled, replaying.Wanted(levels=True))
    replays = [row for row in run.rows() if row["kind"] == "replay"]

    assert [row["parent"] for row in replays] == [one.row for one in choice.replayed]
    assert run.replays.timer.endswith("2 launches in 26 passes")
    assert run.replays.warnings == ()  # that clocks run free was asked for
    assert (run.replays.cache, run.replays.clock) == ("flushed", "free")
    assert run.recorder == timeline.recorder
    assert len(read(run).replays) == 2


def test_other_kernels_than_were_asked_for_are_matched_and_said(timeline):
    """A mean is a mean wherever it stands; one element-wise launch alone fits four operators."""
    choice = choose(timeline, read(timeline), 2)
    profiled = Profiled(export=page([SLOW, MEAN]).encode(), program="ln.py", exit_code=0)
    run = replaying.with_replays(timeline, choice, profiled, replaying.Wanted())
    (replay,) = (row for row in run.rows() if row["kind"] == "replay")

    assert any("started other kernels than the first" in text for text in run.replays.warnings)
    assert "reduce_kernel" in run.signatures[replay["signature"]].name
    assert "they fit no kernel of the timeline alone" in run.gaps[-1].what


PROFILER = """#!{python}
import json, pathlib, sys
here, words = pathlib.Path(__file__).parent, sys.argv[1:]
(here / "arguments").write_text(json.dumps(words))
pathlib.Path(words[words.index("--log-file") + 1]).write_text((here / "page").read_text())
"""


@pytest.fixture
def machine(tmp_path, monkeypatch, timeline):
    """A folder with a script, a recorder that always sees `timeline`, and a profiler on the PATH."""
    asked = []

    def recorder(command, output=None):
        asked.append(command)
        runfile.save(timeline, Path(command[command.index("-o") + 1]))
        return 3

    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ncu").write_text(PROFILER.format(python=sys.executable))
    (folder / "ncu").chmod(0o755)
    (folder / "page").write_text(page([SLOW] * 2))
    monkeypatch.setattr(replaying.child, "run", recorder)
    monkeypatch.setattr("roofline.cli.run._this_cpu", lambda quiet: None)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ln.py").write_text("")
    return folder, asked


def test_one_command_one_run(machine, tmp_path, capfd):
    """The script's exit code; the counters of the two slowest lines beside the timeline."""
    folder, asked = machine
    code = main(["run", "--deep", "--kernels", "2", "--warmup", "0", "ln.py", "--size", "3"])
    said = capfd.readouterr()
    options = dict(itertools.pairwise(json.loads((folder / "arguments").read_text())))
    run = runfile.load(tmp_path / "ln.roof")

    assert code == 3
    assert asked[0][asked[0].index("--warmup") + 1] == "0"
    assert asked[0][-3:] == ["ln.py", "--size", "3"]
    assert options["--kernel-id"].startswith("::regex:^(elementwise_kernel)$:^(")
    assert "lts__" in options["--metrics"]
    assert options["ln.py"] == "--size"
    assert run.replays.tool == "Nsight Compute"
    assert "counters of one call by Nsight Compute: caches flushed, clocks free" in said.out
    assert "a few slow kernels: 4 of 8 lines hold 90% of what is to win" in said.out
    assert "running it again under ncu, which replays 2 launches of 1 kernel" in said.err


def test_the_second_time_it_says_whether_the_bottleneck_moved(machine, capfd):
    main(["run", "--deep", "--kernels", "2", "ln.py"])
    first = capfd.readouterr().out
    main(["run", "--deep", "--kernels", "2", "ln.py"])
    second = capfd.readouterr().out

    assert "\nagainst 2" not in first
    assert "\nagainst 2" in second
    same = "no difference beyond noise, and the limiter is the same, dram"
    assert same in " ".join(second.split())


def test_json_is_one_document(machine, capfd):
    main(["run", "--deep", "--kernels", "2", "--json", "ln.py"])
    document = json.loads(capfd.readouterr().out)

    assert document["replays"]["cache"] == "flushed"
    assert sum(item["replay"] is not None for item in document["items"]) == 2


def test_without_a_profiler_the_timeline_alone(machine, tmp_path, monkeypatch, capfd):
    """How to get the rest is one sentence, kept in the run; the exit code stays the script's."""
    monkeypatch.setenv("PATH", str(tmp_path))
    code = main(["run", "--deep", "ln.py"])
    said = capfd.readouterr()
    run = runfile.load(tmp_path / "ln.roof")

    assert code == 3
    assert run.replays is None
    assert run.gaps[-1].what.startswith("this is the timeline alone: there is no `ncu` on the PATH")
    assert "this is the timeline alone" in said.out
    assert "a few slow kernels: 4 of 8 lines hold 90% of what is to win" in said.out


@pytest.mark.parametrize(
    ("driver", "profiler", "why"),
    [
        (False, True, "there is no NVIDIA driver here"),
        (True, False, "there is no `ncu` on the PATH"),
        (True, True, None),
    ],
)
def test_that_there_will_be_no_counters_is_said_first(
    machine, monkeypatch, tmp_path, driver, profiler, why
):
    """Before the program runs, however long that takes; the timeline is recorded all the same."""
    said = []
    monkeypatch.setattr(replaying, "driver", lambda: driver)
    if not profiler:
        monkeypatch.setenv("PATH", str(tmp_path))
    recorder = replaying.child.run

    def recorded(command, output=None):
        said.append("it runs")
        return recorder(command, output)

    monkeypatch.setattr(replaying.child, "run", recorded)
    replaying.deep("ln.py", say=said.append)

    before = said[: said.index("it runs")]
    if why is None:
        assert before == []
    else:
        (told,) = before
        assert told.startswith(why)
        assert told.endswith("without hardware counters this will be the timeline alone")


def test_without_permission_the_timeline_alone(machine, tmp_path):
    folder, _ = machine
    (folder / "page").write_text("==ERROR== ERR_NVGPUCTRPERM - no permission\n")

    assert main(["run", "--deep", "--quiet", "ln.py"]) == 3
    gap = runfile.load(tmp_path / "ln.roof").gaps[-1]
    assert "NVreg_RestrictProfilingToAdminUsers=0" in gap.what


def test_against_a_file_that_is_none(machine, tmp_path, capfd):
    """Named, it is the user's mistake, told before anything runs; damaged and in the way, a remark."""
    _, asked = machine
    assert main(["run", "--deep", "--against", "absent.roof", "ln.py"]) == 2
    assert asked == []
    (tmp_path / "ln.roof").write_text("PAR1, and damaged behind that")
    assert main(["run", "--deep", "--kernels", "2", "ln.py"]) == 3
    assert "nothing to hold this run against: ln.roof" in capfd.readouterr().err.replace(
        f"{tmp_path}/", ""
    )


def test_a_program_without_torch(machine, monkeypatch, tmp_path, capfd):
    monkeypatch.setattr(replaying.child, "run", lambda command, output=None: 0)

    assert main(["run", "--deep", "ln.py"]) == 0
    assert "called no PyTorch operator" in capfd.readouterr().err
    assert not (tmp_path / "ln.roof").exists()


def test_in_python(machine):
    import roofline as rl

    run = rl.deep("ln.py", "--size", "3", kernels=2)
    assert run.document()["replays"]["tool"] == "Nsight Compute"


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("raise SystemExit(3)", 3),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137),
        # its parent is told to end, and hands that on
        ("import os, signal, time; os.kill(os.getppid(), signal.SIGTERM); time.sleep(60)", 143),
    ],
)
def test_a_child_ends_as_in_a_shell(script, code):
    assert child.run([sys.executable, "-c", script]) == code


def test_a_program_that_was_stopped_is_not_run_again(machine, monkeypatch, tmp_path, timeline):
    folder, _ = machine

    def stopped(command, output=None):
        runfile.save(timeline, Path(command[command.index("-o") + 1]))
        return 130

    monkeypatch.setattr(replaying.child, "run", stopped)
    assert main(["run", "--deep", "--quiet", "ln.py"]) == 130
    assert not (folder / "arguments").exists()
    assert runfile.load(tmp_path / "ln.roof").replays is None
