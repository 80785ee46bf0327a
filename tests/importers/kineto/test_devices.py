"""Traces of several GPUs: a run is of one, and says what the others did."""

import json
from functools import partial

import pytest

import roofline as rl
from roofline.cli import main
from roofline.errors import BadInput
from roofline.importers import Options, load
from roofline.importers.kineto import trace
from roofline.importers.kineto.stretches.divide import Stretches
from roofline.program import read
from tests.importers.kineto.traces import H200, Trace

A100 = {"id": 1, "name": "NVIDIA A100-SXM4-80GB", "numSms": 108}
X = ((64, 64), "fp16")


def relus(*on: tuple[int, float], listed=(H200, A100)) -> Trace:
    """A relu every 100 us: of each the device, and how long its kernel ran there [us]."""
    trace = Trace(deviceProperties=list(listed))
    for number, (device, us) in enumerate(on):
        trace.op("aten::relu", number * 100, 5, X)
        trace.kernel("relu", number * 100 + 20, us, launch=number * 100 + 1, device=device)
    return trace


@pytest.mark.parametrize(
    ("on", "name", "calls", "other", "count", "us"),
    [
        ([(0, 30), (0, 30), (0, 30), (1, 80)], "NVIDIA H200", 3, "device 1", 1, 80),
        ([(0, 30), (1, 80), (1, 80), (1, 80)], "NVIDIA A100", 3, "device 0", 1, 30),
        ([(0, 30), (0, 30), (1, 80)], "NVIDIA A100", 1, "device 0", 2, 60),  # 80 us are most
    ],
)
def test_the_device_with_most_work_is_the_run(tmp_path, on, name, calls, other, count, us):
    run = load([relus(*on).write(tmp_path / "two.json")])
    (item,) = read(run).by("operator")

    assert run.device.name.startswith(name)
    assert item.calls == calls
    assert [(g.name, g.count, round(g.seconds * 1e6)) for g in run.gaps] == [(other, count, us)]


def test_equal_gpus_that_overlap_are_not_busy_together(tmp_path):
    """0..90 us on device 0 and 10..100 on device 1, twice: 180 us, not 200, and 2 relus, not 4."""
    trace = Trace(deviceProperties=[H200, {**H200, "id": 1}])
    for at in (0, 200):
        for device in (0, 1):
            begun = at + 10 * device
            trace.op("aten::relu", begun, 5, X)
            trace.kernel("relu", begun + 20, 90, launch=begun + 1, device=device)
    program = read(load([trace.write(tmp_path / "same.json")]))

    assert program.whole.busy_s == pytest.approx(180e-6)
    assert [(item.name, item.calls) for item in program.by("operator")] == [("aten::relu", 2)]


def test_an_operator_on_another_device_is_no_work_of_the_host(tmp_path):
    """The gelu ran on device 1 alone, so it is no row; the add, on the host, is one."""
    trace = relus((0, 30), (0, 30))
    trace.op("aten::gelu", 300, 5, X)
    trace.kernel("gelu", 320, 30, launch=301, device=1)
    trace.op("aten::add", 400, 5, X, X)
    run = load([trace.write(tmp_path / "other.json")])
    names = [run.signatures[row["signature"]].name for row in run.rows()]

    assert [name for name in names if name.startswith("aten::")] == [
        "aten::relu", "aten::relu", "aten::add",
    ]  # fmt: skip


def test_a_time_that_cannot_be_does_not_choose_the_device(tmp_path):
    """A kernel of 1000 s in a trace of 400 us is none of device 1's work."""
    run = load([relus((0, 30), (0, 30), (0, 30), (1, 1e9)).write(tmp_path / "odd.json")])
    assert run.device.name.startswith("NVIDIA H200")


def test_a_duration_that_is_refused_does_not_choose_the_device(tmp_path):
    """On device 1 a kernel of 20 ms, within which two of 10 us ended; device 0 worked 90 us."""
    on = [(0, 30), (0, 30), (0, 30), (1, 20_000), (1, 10), (1, 10)]
    run = load([relus(*on).write(tmp_path / "odd.json")])

    assert run.device.name.startswith("NVIDIA H200")
    assert [(g.name, g.count, g.seconds) for g in run.gaps] == [
        ("device 1", 3, pytest.approx(20e-6))
    ]


def test_the_time_of_another_device_may_be_unknown(tmp_path):
    run = load([relus((0, 30), (1, None), (1, 0)).write(tmp_path / "odd.json")])
    assert [(gap.name, gap.count, gap.seconds) for gap in run.gaps] == [("device 1", 2, None)]


@pytest.mark.parametrize("number", [2**31, 2**40, 2**62])
@pytest.mark.parametrize("by_process", [False, True])
def test_a_device_of_a_large_number_is_one_as_well(tmp_path, number, by_process):
    """Where nothing names the device its process does."""
    trace = relus((0, 30), (0, 30), (1, 10))
    if by_process:
        del trace.events[-1]["args"]["device"]
        trace.events[-1]["pid"] = number
    else:
        trace.events[-1]["args"]["device"] = number
    run = load([trace.write(tmp_path / "large.json")])

    assert [(gap.name, gap.count) for gap in run.gaps] == [(f"device {number}", 1)]


def test_a_device_without_a_number_is_named_so(tmp_path):
    trace = relus((0, 30), (0, 30), (1, 10))
    trace.events[-1]["args"]["device"] = "none"
    run = load([trace.write(tmp_path / "none.json")])

    assert [(gap.name, gap.count) for gap in run.gaps] == [("device of no number", 1)]


@pytest.mark.parametrize(("device", "word"), [(1, "cuda:1"), (1.5, "cuda:0"), (["h200"], "cuda:0")])
def test_a_device_is_said_in_words(tmp_path, device, word):
    path = relus(*ON).write(tmp_path / "two.json")
    with pytest.raises(BadInput, match=f'device is text, the name of one or "{word}", not '):
        rl.load(path, device=device)


ON = [(0, 30), (0, 30), (0, 30), (1, 80)]  # device 0 is at work for longest


@pytest.mark.parametrize("rows", [None, 4])
@pytest.mark.parametrize(
    ("device", "name", "calls", "other"),
    [
        ("cuda:0", "NVIDIA H200", 3, "device 1"),
        ("cuda:1", "NVIDIA A100", 1, "device 0"),
        ("CUDA:1", "NVIDIA A100", 1, "device 0"),
        ("a100-sxm4-80gb", "NVIDIA A100", 1, "device 0"),  # what it is tells which it is
        ("h200", "NVIDIA H200", 3, "device 1"),
    ],
)
def test_the_user_says_which(tmp_path, monkeypatch, rows, device, name, calls, other):
    """In one stretch and in several."""
    if rows is not None:
        monkeypatch.setattr(trace, "Stretches", partial(Stretches, rows=rows))
    run = load([relus(*ON).write(tmp_path / "two.json")], Options(device=device))
    (item,) = read(run).by("operator")

    assert run.device.name.startswith(name)
    assert item.calls == calls
    assert [gap.name for gap in run.gaps] == [other]


def test_equal_gpus_are_told_by_their_numbers(tmp_path):
    """Two kernels of 30 us on device 0, one of 40 us on device 2: 40 us are what device 2 did."""
    made = relus((0, 30), (0, 30), (2, 40), listed=(H200, {**H200, "id": 2}))
    run = load([made.write(tmp_path / "same.json")], Options(device="cuda:2"))

    assert read(run).whole.busy_s == pytest.approx(40e-6)
    assert run.device.name.startswith("NVIDIA H200")


def test_what_is_left_out_says_how_to_have_it(tmp_path):
    (gap,) = load([relus(*ON).write(tmp_path / "two.json")]).gaps
    assert gap.what.endswith("; --device cuda:1 imports it instead")


def on_the_host() -> Trace:
    made = Trace()
    made.op("aten::relu", 0, 5, X)
    return made


@pytest.mark.parametrize(
    ("made", "device", "said"),
    [
        (relus(*ON), "cuda:2", r"nothing in t\.json ran on cuda:2, .* there is cuda:0, cuda:1$"),
        (relus((0, 30)), "cuda:1", "ran on cuda:1, which --device says; there is cuda:0$"),
        (relus(*ON), "t4", "recorded on NVIDIA H200, and --device says NVIDIA Tesla T4"),
        (on_the_host(), "cuda:0", "there is no GPU with a number$"),
    ],
)
def test_a_device_that_is_not_there(tmp_path, made, device, said):
    with pytest.raises(BadInput, match=said):
        load([made.write(tmp_path / "t.json")], Options(device=device))


def test_on_the_command_line(tmp_path, capsys):
    path = str(relus(*ON).write(tmp_path / "two.json"))

    assert main(["import", path, "--device", "cuda:1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["device"]["name"].startswith("NVIDIA A100")
    assert main(["import", path, "--device", "cuda:7"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
