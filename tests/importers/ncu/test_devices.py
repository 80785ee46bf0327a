"""Exports of several GPUs: a run is of one, and says what the others did and how to have them."""

import pytest

from roofline.errors import BadInput
from roofline.importers import Options, load
from tests.importers.ncu.exports import details, launch, metrics, quoted, raw, run
from tests.importers.rocprof.test_tables import TRACE as rocprof

NAME, TIME = "device__attribute_display_name", "gpu__time_duration.sum"
UNITS = {TIME: "usecond", NAME: ""}


def on(device: int | str, at: int, us: int | str, name: str = "NVIDIA H200", pid: int = 7) -> tuple:
    """One launch, its number in the profile, its time and the GPU."""
    cc = "8.0" if "A100" in name else "9.0"
    identity = launch(at, f"kernel_{at}", cc=cc, pid=pid)
    identity[9] = device
    return identity, {TIME: str(us), NAME: name}


EQUAL = raw(UNITS, on(0, 0, 10), on(1, 1, 25), on(0, 2, 10), on(2, 3, 1))


def told(imported):
    """Names, counts and times [us] of the gaps, and the times of the launches."""
    gaps = [(gap.name, gap.count, round(gap.seconds * 1e6)) for gap in imported.gaps]
    return gaps, [row["duration_ns"] // 1000 for row in imported.rows()]


@pytest.mark.parametrize(
    ("device", "gaps", "own"),
    [  # 25 us are more than 10 + 10
        (None, [("device 0", 2, 20), ("device 2", 1, 1)], [25]),
        ("cuda:0", [("device 1", 1, 25), ("device 2", 1, 1)], [10, 10]),
        ("cuda:2", [("device 0", 2, 20), ("device 1", 1, 25)], [1]),
        ("h200", [("device 0", 2, 20), ("device 2", 1, 1)], [25]),
    ],
)
def test_equal_gpus_are_told_by_their_numbers(tmp_path, device, gaps, own):
    imported = run(tmp_path, EQUAL, device=device)

    named = [(f"NVIDIA H200, {name}", count, us) for name, count, us in gaps]
    assert told(imported) == (named, own)
    assert imported.device.id == "nvidia-h200-sxm-141gb"
    assert [gap.what.partition("; ")[2] for gap in imported.gaps] == [
        f"--device cuda:{name[-1]} imports it instead" for name, _, _ in gaps
    ]


def test_different_gpus_of_one_number_are_told_by_their_names(tmp_path):
    """Two hosts, or processes that see one GPU each: both call theirs 0."""
    text = raw(UNITS, on(0, 0, 10), on(0, 1, 5, "NVIDIA A100-SXM4-80GB"))
    (gap,) = run(tmp_path, text).gaps
    assert gap.what.endswith('; --device "NVIDIA A100-SXM4-80GB" imports it instead')
    assert run(tmp_path, text, device="NVIDIA A100-SXM4-80GB").device.id.startswith("nvidia-a100")


def test_pages_without_names_too(tmp_path):
    """A details page tells the number and the compute capability."""
    rows = metrics(0, "a", {TIME: ("10", "us")}) + metrics(1, "b", {TIME: ("5", "us")})
    rows[1][9] = 3
    text = details(*rows)
    assert told(run(tmp_path, text)) == (
        [("a GPU of compute capability 9.0, device 3", 1, 5)],
        [10],
    )
    assert told(run(tmp_path, text, device="cuda:3"))[1] == [5]


def test_a_summary_keeps_equal_gpus_apart(tmp_path):
    """One kernel with one grid on both: two rows without the number of a launch."""
    header = ["Process ID", "Kernel Name", "Block Size", "Grid Size", "Device", "CC",
              "Invocations", "Metric Name", "Metric Unit", "Average"]  # fmt: skip
    same = [7, "k", "(32, 1, 1)", "(8, 1, 1)"]
    text = quoted([header, *([*same, at, "9.0", 2, TIME, "us", us] for at, us in ((0, 3), (1, 4)))])
    imported = run(tmp_path, text)

    assert [row["duration_ns"] for row in imported.rows()] == [4000, 4000]
    (gap,) = imported.gaps
    assert (gap.count, round(gap.seconds * 1e9)) == (2, 6000)


def test_processes_that_may_not_see_the_same_gpu(tmp_path):
    """Process 7 and 8 both launched on number 0: the export does not say that it is one GPU."""
    several = run(tmp_path, raw(UNITS, on(0, 0, 10), on(0, 1, 5, pid=8)))
    apart = run(tmp_path, raw(UNITS, on(0, 0, 10), on(1, 1, 5, pid=8)))

    assert len(several.events) == 2
    assert "launches of 2 processes stand together" in " ".join(several.recorder.warnings)
    assert "processes" not in " ".join(apart.recorder.warnings)


def test_a_number_that_is_not_there(tmp_path):
    with pytest.raises(BadInput, match=r"ran on cuda:5, .* there is cuda:0, cuda:1, cuda:2$"):
        run(tmp_path, EQUAL, device="cuda:5")
    with pytest.raises(BadInput, match=r"there is cuda:0$"):
        run(tmp_path, raw(UNITS, on(0, 0, 10)), device="cuda:1")


def test_a_number_says_nothing_where_gpus_are_not_counted(tmp_path):
    path = tmp_path / "profile"
    path.write_text(rocprof)
    assert load([path], Options(device="mi300x")).device.id == "amd-mi300x"
    with pytest.raises(
        BadInput, match="--device cuda:0 chooses a GPU of a PyTorch profiler trace,"
    ):
        load([path], Options(device="cuda:0"))


def test_times_that_nobody_knows_are_no_zero(tmp_path):
    """One of two launches on the other GPU has no time: what they took together is unknown."""
    none = run(tmp_path, raw(UNITS, on(0, 0, "n/a"), on(1, 1, 25)))
    some = run(tmp_path, raw(UNITS, on(0, 0, "n/a"), on(0, 2, 5), on(1, 1, 25)))

    assert [(gap.seconds, gap.count) for gap in none.gaps] == [(None, 1)]
    assert [(gap.seconds, gap.count) for gap in some.gaps] == [(None, 2)]


@pytest.mark.parametrize("cell", ["gpu0", "-1", "1.0"])
def test_what_stands_in_the_place_of_a_number_is_another_gpu(tmp_path, cell):
    imported = run(tmp_path, raw(UNITS, on(cell, 0, 10), on(1, 1, 25)))

    assert told(imported) == ([(f"NVIDIA H200, device '{cell}'", 1, 10)], [25])


def test_a_launch_without_a_number_is_of_the_only_gpu_and_that_is_said(tmp_path):
    only = run(tmp_path, raw(UNITS, on("", 0, 10), on(1, 1, 25)))
    two = run(tmp_path, raw(UNITS, on("", 0, 10), on(1, 1, 25), on(0, 2, 5)))

    assert told(only) == ([], [10, 25])
    assert "1 launch without a device number" in " ".join(only.recorder.warnings)
    assert told(two) == ([("NVIDIA H200", 1, 10), ("NVIDIA H200, device 0", 1, 5)], [25])
    assert "without a device number" not in " ".join(two.recorder.warnings)


def test_the_name_of_one_number_is_not_that_of_another(tmp_path):
    """Many GPUs have one compute capability: neither the run nor the gap takes a name from it."""
    text = raw(UNITS, on(0, 0, 10, name=""), on(1, 1, 25))
    (gap,) = run(tmp_path, text).gaps

    assert gap.name == "a GPU of compute capability 9.0"
    assert run(tmp_path, text, device="cuda:0").device is None


def test_numbers_that_cannot_be_said_are_not_offered(tmp_path):
    imported = run(tmp_path, raw(UNITS, on(10**9, 0, 10), on(1, 1, 25)))

    (gap,) = imported.gaps
    assert gap.name == "NVIDIA H200, device 1000000000"
    assert "cuda:" not in gap.what
    with pytest.raises(BadInput, match=r"there is cuda:1$"):
        run(tmp_path, raw(UNITS, on(10**9, 0, 10), on(1, 1, 25)), device="cuda:0")
