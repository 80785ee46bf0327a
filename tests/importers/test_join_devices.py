"""A timeline and counters of a machine with several GPUs: those of one GPU stand beside each other."""

import pytest

from roofline.errors import BadInput
from roofline.importers import Options, load
from tests.importers.kineto.traces import H200, Trace
from tests.importers.ncu.exports import launch, raw
from tests.importers.nsys import databases

NAME, TIME, BYTES = "device__attribute_display_name", "gpu__time_duration.sum", "dram__bytes.sum"
UNITS = {TIME: "usecond", NAME: "", BYTES: "byte"}
A100 = "NVIDIA A100-SXM4-80GB"


def trace(folder, gpus=(H200["name"], H200["name"])):
    """Kernels of 10 us on device 0, of 15 us on device 1."""
    made = Trace(deviceProperties=[{"id": at, "name": name} for at, name in enumerate(gpus)])
    for at in range(6):
        made.op("aten::mm", 20 * at, 15, ((64, 64), "fp32"), ((64, 64), "fp32"))
        made.kernel(
            "gemm", 20 * at + 5, 10 + 5 * (at % 2), launch=20 * at + 2, device=at % 2,
            grid=[100, 1, 1], block=[256, 1, 1],
        )  # fmt: skip
    return made.write(folder / "trace.json")


def on(device, at: int, us: int, moved: int, name="NVIDIA H200") -> tuple:
    identity = launch(at, "gemm", cc="8.0" if "A100" in name else "9.0")
    identity[9] = device
    return identity, {TIME: str(us), NAME: name, BYTES: str(moved)}


def page(folder, *launches):
    path = folder / "page.csv"
    path.write_text(raw(UNITS, *launches))
    return path


def moved(run) -> list[float]:
    return [row["counters"][BYTES] for row in run.rows() if row["kind"] == "replay"]


# The replays took longest on device 0, the program on device 1.
BOTH = (on(0, 0, 30, 1000), on(1, 1, 10, 77), on(0, 2, 30, 1000), on(1, 3, 10, 77))


@pytest.mark.parametrize(
    ("device", "own", "other"),
    [(None, 77, 0), ("cuda:1", 77, 0), ("cuda:0", 1000, 1), ("h200", 77, 0)],
)
def test_the_counters_are_of_the_timelines_gpu(tmp_path, device, own, other):
    run = load([trace(tmp_path), page(tmp_path, *BOTH)], Options(device=device))

    assert moved(run) == [own, own]
    assert run.replays.warnings == ()
    of_timeline, of_page = run.gaps
    assert of_timeline.name == f"device {other}"
    assert (of_page.name, of_page.count) == (f"NVIDIA H200, device {other}", 2)
    assert of_page.what.startswith("left out: 2 replayed launches; ")


@pytest.mark.parametrize("device", [None, "cuda:1"])
@pytest.mark.parametrize(("number", "said"), [(0, "cuda:0"), ("", "a GPU without a number")])
def test_a_gpu_of_another_number_is_taken_for_the_timelines_and_that_is_said(
    tmp_path, device, number, said
):
    """A number that the user says is one of the timeline's."""
    run = load([trace(tmp_path), page(tmp_path, on(number, 0, 10, 5))], Options(device=device))

    assert moved(run) == [5]
    (doubt,) = run.replays.warnings
    assert f"timeline is of cuda:1 and the counters of page.csv are of {said}: taken for" in doubt
    assert [gap.name for gap in run.gaps] == ["device 0"]
    with pytest.raises(BadInput, match=r"trace\.json ran on cuda:2"):
        load([tmp_path / "trace.json", tmp_path / "page.csv"], Options(device="cuda:2"))


def test_the_kind_of_a_gpu_tells_more_than_its_number(tmp_path):
    """CUDA_VISIBLE_DEVICES=1,0 under the profiler of kernels: the H200 of the timeline is its 0."""
    several = page(tmp_path, on(0, 0, 10, 5), on(1, 1, 30, 6, A100))
    run = load([trace(tmp_path, (A100, "NVIDIA H200")), several])

    assert (run.device.id, moved(run)) == ("nvidia-h200-sxm-141gb", [5])
    assert "cuda:1 and the counters of page.csv are of cuda:0" in run.replays.warnings[0]


def test_a_database_is_a_timeline_too(tmp_path):
    """Its second device works for longest."""
    path = databases.write(
        tmp_path / "profile.sqlite",
        TARGET_INFO_GPU=[{"id": at, "name": "NVIDIA H200"} for at in (0, 1)],
        kernels=[
            databases.kernel(1000 * at, 1000 * at + 100 + 100 * (at % 2), at, device=at % 2)
            for at in range(4)
        ],
        runtime=[databases.launch(1000 * at - 20, 1000 * at - 10, at) for at in range(4)],
    )
    some = [on(at % 2, at, 3 - 2 * (at % 2), 10 + at % 2) for at in range(4)]
    for identity, _ in some:
        identity[7:9] = ["(128, 1, 1)", "(10, 2, 1)"]
    run = load([path, page(tmp_path, *some)])

    assert moved(run) == [11, 11]
