"""Proton profiles, written by hand in the form of its hatchet JSON."""

import json

import pytest

from roofline.device import DRAM, TENSOR_FP16, VECTOR_FP32
from roofline.errors import BadInput
from roofline.importers import Options, load
from roofline.program import read


def node(name, children=(), **metrics):
    """One node; ``time=5`` is ``time (ns)``."""
    metrics = {("time (ns)" if k == "time" else k): v for k, v in metrics.items()}
    return {
        "frame": {"name": name, "type": "function"},
        "metrics": metrics,
        "children": list(children),
    }


def imported(folder, *children, **options):
    """A profile of these nodes."""
    (folder / "profile").write_text(
        json.dumps([node("ROOT", children), {"CUDA": {"0": {"arch": "90", "num_sms": 132}}}])
    )
    return load([folder / "profile"], Options(**options))


def test_declared_work(tmp_path):
    """Two launches, 200 us and 2 x 68.7 GFLOP: 100 us each, 687 TFLOP/s of 989 on an H100's tensor pipe."""
    gemm = node(
        "gemm [M=4096]", time=200_000.0, count=2, flops16=2 * 68_719_476_736, bytes=2 * 100_663_296
    )
    run = imported(tmp_path, node("forward", [gemm]), device="h100-sxm")
    (item,) = read(run).by("call")

    assert [r["duration_ns"] for r in run.rows()] == [100_000, 100_000]
    assert item.module == "forward"
    assert run.signatures[0].ledger.demand() == {TENSOR_FP16: 68_719_476_736, DRAM: 100_663_296}
    assert item.roof_fraction == pytest.approx(68_719_476_736 / 989.4e12 / 100e-6)
    assert read(run).whole.coverage == 1.0


def test_work_declared_around_one_kernel(tmp_path):
    """The launch hook's node holds the work, its only child the time."""
    scope = node("matmul", [node("matmul_kernel", time=1000.0, count=1)], flops32=64, bytes=48)
    run = imported(tmp_path, scope)

    assert run.signatures[0].name == "matmul_kernel"
    assert run.signatures[0].ledger.demand() == {VECTOR_FP32: 64, DRAM: 48}
    assert any("tf32" in text for text in run.signatures[0].ledger.conventions)


def test_work_declared_around_several_kernels_is_nobodys(tmp_path):
    """It cannot be divided: unknown, and no kernel gets it."""
    both = [node("a", time=10.0, count=1), node("b", time=10.0, count=1)]
    run = imported(tmp_path, node("scope", both, flops16=64))

    assert [s.ledger.unaccounted for s in run.signatures] == [("a",), ("b",)]


def test_flop_without_a_type_and_without_bytes(tmp_path):
    """Named, not placed."""
    run = imported(tmp_path, node("k", time=10.0, count=1, flops=64))

    assert run.signatures[0].ledger.unaccounted == (
        "64 flop of no stated type",
        "bytes: not declared",
    )


def test_microseconds_and_deep_trees(tmp_path):
    """The unit is in the name; ten thousand scopes deep is no recursion."""
    leaf = {"frame": {"name": "k"}, "metrics": {"time (us)": 1.5}, "children": []}
    for depth in range(300):
        leaf = node(f"f{depth}", [leaf])
    run = imported(tmp_path, leaf)

    assert run.rows()[0]["duration_ns"] == 1500
    assert run.rows()[0]["module"].count(".") == 299


@pytest.mark.parametrize("text", ['[{"frame": {}, "metrics": {}, "children": []}]', '[{"frame": 1, "metrics": 2, "children": 3}',
                                  "[" * 5000 + '"frame" "metrics" "children"'])  # fmt: skip
def test_damage_is_one_sentence(text, tmp_path):
    """No kernels, cut off, nested without end."""
    (tmp_path / "x").write_text(text)
    with pytest.raises(BadInput):
        load([tmp_path / "x"])


def test_a_gpu_without_a_name_is_told_by_its_size(tmp_path):
    """The profile's second part has the device's numbers: 304 multiprocessors, here."""
    path = tmp_path / "profile.hatchet"
    gemm = node("gemm", time=10.0, count=1, bytes=48)
    path.write_text(json.dumps([node("ROOT", [gemm]), {"HIP": {"0": {"num_sms": 304}}}]))

    assert load([path]).recorder.warnings[-1] == (
        "the profile does not name the GPU; --device NAME does; it has 304 multiprocessors, as has "
        "amd-mi300x or amd-mi325x"
    )


def test_two_devices(tmp_path):
    """The busier is the run, the other a gap with its time and launches."""
    run = imported(
        tmp_path,
        node("a", time=1000.0, count=2, device_id="0", device_type="CUDA"),
        node("b", time=3000.0, count=1, device_id="1", device_type="CUDA"),
    )
    (gap,) = run.gaps

    assert [s.name for s in run.signatures] == ["b"]
    assert (gap.name, gap.count, gap.seconds) == ("device CUDA 0", 2, 1e-6)


def test_one_device_that_not_every_node_names(tmp_path):
    """Nothing says of another: one run."""
    run = imported(tmp_path, node("a", time=1000.0, device_id="0"), node("b", time=3000.0))

    assert len(run.rows()) == 2
    assert run.gaps == ()


def test_a_number_that_is_none(tmp_path):
    """NaN flop: unknown, and said; the kernel's time stays."""
    run = imported(tmp_path, node("gemm", time=1000.0, count=1, flops16=float("nan")))

    assert [r["duration_ns"] for r in run.rows()] == [1000]
    assert run.signatures[0].ledger.unaccounted
    assert "unknown, since no number (NaN or infinite): 1 value" in run.recorder.warnings


def test_frames_without_paths(tmp_path):
    """The file's name stays; all of it where it is asked for."""
    scope = node("/home/ann/my runs/train.py:foo@12", [node("k", time=1000.0, count=1)])

    assert imported(tmp_path, scope).rows()[0]["module"] == "train.py:foo@12"
    assert imported(tmp_path, scope, keep_private=True).rows()[0]["module"].startswith("/home/ann")
