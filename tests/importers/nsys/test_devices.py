"""Databases of several devices: which one is the run, and what is said of the others."""

import pytest

from roofline.errors import BadInput
from roofline.importers import Options, load
from tests.importers.nsys.databases import kernel, kernels, launch, pushed, run, write

TIMELESS = {"start": None, "end": None}


def again(folder, device):
    """Import what was written, of another device."""
    return load([folder / "export"], Options(device=device))


@pytest.mark.parametrize("device", [None, "cuda:0", "cuda:1", "h100-sxm"])
def test_nothing_on_either_has_a_start(tmp_path, device):
    ran = [kernel(1, 2, 1) | TIMELESS, kernel(3, 4, 2, device=1) | TIMELESS]
    write(tmp_path / "export", kernels=ran)
    with pytest.raises(BadInput, match=r"^export: no device activity has a usable start$"):
        again(tmp_path, device)


def test_nothing_on_one_has_a_start(tmp_path):
    """It is there, though the run cannot be of it."""
    ran = run(tmp_path, kernels=[kernel(1, 2, 1) | TIMELESS, kernel(3, 4, 2, device=1)])
    assert [row["duration_ns"] for row in kernels(ran)] == [1]
    assert ran.gaps == ()
    assert "left out, without a usable start: 1 device activity" in ran.recorder.warnings
    with pytest.raises(BadInput, match=r"^export: nothing that ran on device 0 has a usable start"):
        again(tmp_path, "cuda:0")


def test_time_is_the_sum_over_streams(tmp_path):
    """Two kernels of 60 ns side by side are most kernel time beside one of 100 ns."""
    ran = [kernel(0, 60, 1), kernel(0, 60, 2, stream=8), kernel(0, 100, 3, device=1)]
    assert [row["duration_ns"] for row in kernels(run(tmp_path, kernels=ran))] == [60, 60]


def test_unknown_time_of_another_is_not_zero(tmp_path):
    """Of one without an end, and of one that ended when it began."""
    others = [kernel(5, None, 2, device=1), kernel(6, 6, 3, device=2)]
    gaps = run(tmp_path, kernels=[kernel(1, 3, 1), *others]).gaps
    assert [(gap.name, gap.count, gap.seconds) for gap in gaps] == [
        ("device 1", 1, None), ("device 2", 1, None),
    ]  # fmt: skip


def test_unknown_time_outside_every_step_is_not_zero(tmp_path):
    imported = run(
        tmp_path,
        kernels=[kernel(150, 250, 1), kernel(350, 450, 2), kernel(900, 900, 3)],
        runtime=[launch(110, 120, 1), launch(310, 320, 2), launch(450, 460, 3)],
        nvtx=[pushed(100, 200, "step 0"), pushed(300, 400, "step 1")],
    )
    assert [(gap.name, gap.count, gap.seconds) for gap in imported.gaps] == [
        ("outside every step", 1, None),
    ]  # fmt: skip


def test_a_way_is_offered_where_it_works(tmp_path):
    """Numbers of damage are not; every number that is offered imports that device."""
    numbers = (-1, 10**9 - 1, 10**9, 2**40)
    others = [kernel(5, 6, 2 + at, device=each) for at, each in enumerate(numbers)]
    offered = {gap.name: gap.what for gap in run(tmp_path, kernels=[kernel(1, 9, 1), *others]).gaps}
    ways = {name: what.partition("; --device ")[2] for name, what in offered.items()}

    assert ways == {
        "device -1": "", "device 999999999": "cuda:999999999 imports it instead",
        "device 1000000000": "", "device 1099511627776": "",
    }  # fmt: skip
    assert [row["duration_ns"] for row in kernels(again(tmp_path, "cuda:999999999"))] == [1]
    with pytest.raises(BadInput, match=r"there is cuda:0, cuda:999999999$"):
        again(tmp_path, "cuda:5")


def test_a_step_that_worked_on_another_device_is_no_doubt(tmp_path):
    """Steps 0 and 2 on device 0, step 1 on device 1, step 3 on neither, step 4 on both."""
    imported = run(
        tmp_path,
        kernels=[kernel(100, 200, 1), kernel(300, 1000, 2, device=1), kernel(1100, 1200, 3),
                 kernel(1400, 1500, 4), kernel(1400, 1500, 5, device=1)],
        runtime=[launch(50, 60, 1), launch(250, 260, 2), launch(1050, 1060, 3),
                 launch(1350, 1360, 4), launch(1361, 1365, 5)],
        nvtx=[pushed(40, 70, "step 0"), pushed(240, 270, "step 1"), pushed(1040, 1070, "step 2"),
              pushed(1240, 1270, "step 3"), pushed(1340, 1370, "step 4")],
    )  # fmt: skip

    assert [step.name for step in imported.steps] == ["step 1", "step 4"]
    assert [warning for warning in imported.recorder.warnings if "step" in warning] == [
        "1 marked step in which nothing was started: left out"
    ]
    assert [gap.what for gap in imported.gaps if gap.name == "steps of other devices"] == [
        "2 marked steps started nothing on this device: left out"
    ]
    assert [step.name for step in again(tmp_path, "cuda:0").steps] == ["step 0", "step 2", "step 4"]


def test_activities_of_no_device_are_of_the_only_one(tmp_path):
    """One number is all there is; of two it stays open."""
    ran = [kernel(1, 2, 1, device=1), kernel(3, 9, 2, device=None)]
    alone = run(tmp_path, kernels=ran)
    assert [row["duration_ns"] for row in kernels(alone)] == [1, 6]
    assert alone.gaps == ()
    assert (
        "nothing says on which device ran 1 activity: taken to be device 1, the only one that has "
        "a number"
    ) in alone.recorder.warnings

    (tmp_path / "two").mkdir()
    two = run(tmp_path / "two", kernels=[*ran, kernel(20, 40, 3)])
    assert [(gap.name, gap.count) for gap in two.gaps] == [("no stated device", 1), ("device 1", 1)]


def test_calls_without_a_start_are_counted_in_words(tmp_path):
    calls = [launch(1, 2, 1), *(launch(1, 2, at) | {"start": None} for at in range(2, 6))]
    imported = run(tmp_path, kernels=[kernel(5, 9, 1)], runtime=calls)
    assert "left out, without a usable start: 4 runtime calls" in imported.recorder.warnings
