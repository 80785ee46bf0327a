"""A device that the user states: for files that leave it open, never against what they say."""

import pytest

from roofline.errors import BadInput
from roofline.importers import Options, load
from tests.importers.kineto.traces import H200, Trace, matmul
from tests.importers.ncu.exports import details, launch, metrics, raw
from tests.importers.rocprof.test_tables import TRACE as rocprof_trace

NAME, TIME = "device__attribute_display_name", "gpu__time_duration.sum"
UNITS = {TIME: "usecond", NAME: ""}


def trace(folder, **about):
    made = Trace(**about)
    matmul(made, 0)
    return made.write(folder / "trace.json")


def page(folder, text: str):
    path = folder / "page.csv"
    path.write_text(text)
    return path


def one(name: str, cc: str = "9.0") -> str:
    return raw(UNITS, (launch(0, "sgemm", cc=cc), {TIME: "100", NAME: name}))


@pytest.mark.parametrize(
    ("about", "stated", "found"),
    [
        ([{"id": 0}], "a100-sxm4-80gb", "nvidia-a100-sxm4-80gb"),  # no name
        ([], "a100-sxm4-80gb", "nvidia-a100-sxm4-80gb"),
        ([{"id": 0, "name": "NVIDIA X9000"}], "t4", "nvidia-t4"),  # nobody knows what that is
        ([{"id": 0, "name": "NVIDIA H100"}], "h100-pcie-80gb", "nvidia-h100-pcie-80gb"),  # or which
        ([H200], "h200", "nvidia-h200-sxm-141gb"),
        ([{"id": 0, "computeMajor": 8, "computeMinor": 0}], "a100-sxm4-80gb", "nvidia-a100-sxm4-80gb"),
    ],
)  # fmt: skip
def test_a_trace_that_leaves_it_open(tmp_path, about, stated, found):
    path = trace(tmp_path, deviceProperties=about)
    assert load([path], Options(device=stated)).device.id == found


@pytest.mark.parametrize(
    ("about", "stated", "other"),
    [
        ({"id": 0, "name": "NVIDIA H200"}, "a100-sxm4-80gb", "NVIDIA H200"),
        ({"id": 0, "name": "NVIDIA H100"}, "h200", "NVIDIA H100"),  # whichever of three, it is none
        ({"id": 0, "computeMajor": 8, "computeMinor": 0}, "h200", "capability 8.0"),
    ],
)
def test_a_trace_that_contradicts(tmp_path, about, stated, other):
    path = trace(tmp_path, deviceProperties=[about])
    with pytest.raises(BadInput, match=f"trace.json was recorded on .*{other}, and --device says"):
        load([path], Options(device=stated))


def test_an_export_that_leaves_it_open_and_one_that_contradicts(tmp_path):
    long = page(tmp_path, details(*metrics(0, "k", {TIME: ("10", "us")}, cc="8.0")))
    assert load([long], Options(device="a100-sxm4-80gb")).device.id == "nvidia-a100-sxm4-80gb"
    with pytest.raises(BadInput, match=r"compute capability 8\.0, and --device says NVIDIA H200"):
        load([long], Options(device="h200"))
    with pytest.raises(BadInput, match="recorded on NVIDIA H200, and --device says NVIDIA A100"):
        load([page(tmp_path, one("NVIDIA H200"))], Options(device="a100-sxm4-80gb"))


def test_a_profiler_or_a_name_of_one_maker_contradicts_the_devices_of_another(tmp_path):
    """rocprof knows AMD's devices alone; nobody knows which this "AMD Radeon Graphics" is."""
    rocprof = page(tmp_path, rocprof_trace)
    assert load([rocprof], Options(device="mi300x")).device.id == "amd-mi300x"
    with pytest.raises(BadInput, match="recorded on AMD, and --device says NVIDIA H200"):
        load([rocprof], Options(device="h200"))
    hip = trace(tmp_path, deviceProperties=[{"id": 0, "name": "AMD Radeon Graphics"}])
    assert load([hip], Options(device="mi210")).device.id == "amd-mi210"
    with pytest.raises(BadInput, match="recorded on AMD Radeon Graphics, and --device says"):
        load([hip], Options(device="h200"))


@pytest.mark.parametrize("text", [one("NVIDIA A100-SXM4-80GB", "8.0"), one("", "8.0")])
def test_pages_of_another_gpu_do_not_join_a_trace(tmp_path, text):
    with pytest.raises(BadInput, match=r"ran on NVIDIA H200.*page.csv on .*not of one run"):
        load([trace(tmp_path), page(tmp_path, text)])


TWO = raw(
    UNITS,
    (launch(0, "a"), {TIME: "10", NAME: "NVIDIA H200"}),
    (launch(1, "b", cc="8.0"), {TIME: "12", NAME: "NVIDIA A100-SXM4-80GB"}),
    (launch(2, "c"), {TIME: "20", NAME: "NVIDIA H200"}),
)


@pytest.mark.parametrize(
    ("stated", "found", "launches", "other", "us"),
    [
        (None, "nvidia-h200-sxm-141gb", 2, "NVIDIA A100-SXM4-80GB", 12),  # 10 + 20 us are most
        ("a100-sxm4-80gb", "nvidia-a100-sxm4-80gb", 1, "NVIDIA H200", 30),
    ],
)
def test_an_export_of_two_gpus_is_of_one(tmp_path, stated, found, launches, other, us):
    run = load([page(tmp_path, TWO)], Options(device=stated))

    assert (run.device.id, len(run.events)) == (found, launches)
    (gap,) = run.gaps
    assert (gap.name, gap.count, gap.seconds) == (other, 3 - launches, pytest.approx(us * 1e-6))


def test_a_page_without_names_is_of_the_gpu_that_another_names(tmp_path):
    """The details page tells the generation alone; the raw page of another launch names the GPU."""
    long = tmp_path / "details.csv"
    long.write_text(details(*metrics(1, "other", {TIME: ("10", "us")})))
    run = load([page(tmp_path, one("NVIDIA H200")), long])

    assert (run.device.id, len(run.events), run.gaps) == ("nvidia-h200-sxm-141gb", 2, ())
