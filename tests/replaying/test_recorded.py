"""A program that was looked at twice on an H200: what was asked for, what came, what is said of it."""

import gzip
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from roofline import importers, replaying, runfile
from roofline.devices import kept
from roofline.diagnosis import diagnose
from roofline.diagnosis.moved import moved
from roofline.importers.ncu.collect import Profiled, Wanted
from roofline.program import read
from roofline.replaying.choice import choose
from roofline.report.document import of_run

HERE = Path(__file__).parent / "h200"
MEASURED = kept.read_file(HERE.parents[1] / "data" / "h200-measured.json")
BIG = 16 * 1024 * 2048 * 2  # B, a tensor of 16 x 1024 x 2048 bf16: 67.1 MB


@cache
def timeline(name):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.roof"
        path.write_bytes(gzip.decompress((HERE / f"{name}.roof.gz").read_bytes()))
        return replace(runfile.load(path), device=MEASURED)


@cache
def both():
    run = timeline("norm_by_hand")
    export = gzip.decompress((HERE / "norm_by_hand.raw.csv.gz").read_bytes())
    profiled = Profiled(export=export, program="norm_by_hand.py", exit_code=0)
    return replaying.with_replays(run, choose(run, read(run), 5), profiled, Wanted(levels=True))


def item(name, shapes=""):
    return next(i for i in of_run(both())["items"] if i["name"] == name and shapes in i["shapes"])


def test_what_was_asked_for_is_asked_for_again():
    """Five lines: attention's three kernels, and one element-wise kernel at four other numbers."""
    choice = choose(timeline("norm_by_hand"), read(timeline("norm_by_hand")), 5)

    assert choice.kernel_id() == (
        "::regex:^(compute_dot_do_o_specialized|"
        "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x128_1x4x1_cga1x1x1_kernel0_0|"
        "convert_dq_to_16bits|elementwise_kernel)$:^(3|8|10|90|126|145|161)$"
    )
    assert (len(choice.chosen), len(choice.replayed)) == (7, 16)


def test_what_came_are_those_launches_in_that_order():
    """23 passes each; nothing had to be matched by name."""
    assert both().replays.timer.endswith("16 launches in 368 passes")
    assert both().replays.warnings == ()
    assert len([gap for gap in both().gaps if "replay" in gap.what]) == 0


def test_the_kernel_of_the_timeline_takes_as_long_as_its_replay():
    """The same launch, running and replayed: within a fifth, though caches were flushed."""
    rows = both().rows()
    pairs = [
        (rows[r["parent"]]["duration_ns"], r["duration_ns"]) for r in rows if r["kind"] == "replay"
    ]

    assert len(pairs) == 16
    assert all(0.8 < replayed / ran < 1.2 for ran, replayed in pairs)


def test_a_product_by_a_row_moves_its_tensor_twice():
    """By formula in and out, 134 MB; by counters 117 MB: the last of the writes were still in the L2."""
    replay = item("aten::mul", "16x1024x2048 bf16, 2048 bf16")["replay"]
    dram = replay["achieved"]["dram"]

    assert replay["executed"] == {"vector-fp32": 16 * 1024 * 2048}
    assert dram["read"] == pytest.approx(BIG, rel=0.01)
    assert 0.7 * BIG < dram["write"] < BIG
    assert replay["roof_fraction"] == pytest.approx(0.34, abs=0.01)
    assert item("aten::mul", "16x1024x2048 bf16, 2048 bf16")["roof_fraction"] == pytest.approx(
        0.36, abs=0.01
    )


def test_attention_backward_has_all_three_of_its_kernels():
    replay = item("aten::_scaled_dot_product_cudnn_attention_backward")["replay"]

    assert [k["name"].partition("<")[0].rsplit("::")[-1][:20] for k in replay["kernels"]] == [
        "compute_dot_do_o_spe", "cudnn_generated_fort", "convert_dq_to_16bits",
    ]  # fmt: skip
    assert replay["missing"] == []
    # causal by formula, whole tiles executed; 5 products of the scores' size where 4 are needed
    assert replay["excess"]["tensor-bf16"] == pytest.approx(1.40, abs=0.01)


def test_all_that_is_asked_for_says_why_the_products_by_a_row_are_slow():
    """2 B a thread: 2 sectors a request of 32 threads, where 16 B a thread would be 16."""
    run = importers.load([HERE / "norm_by_hand.levels.csv.gz"])
    run = replace(
        run, device=MEASURED, recorder=replace(run.recorder, cache="flushed", clock="free")
    )
    (finding,) = (f for f in diagnose(read(run)) if f.code == "RF409")

    assert {row["counters"]["profiler__replayer_passes"] for row in run.rows()} == {24.0}
    assert finding.claim.startswith(
        "elementwise_kernel<gpu_kernel_impl_nocast<BinaryFunctor>> asks memory for little at a time "
        "and reaches 34% of its dram roof"
    )
    assert finding.evidence[0].startswith("1.7 sectors of 32 B a load, 2.0 a store; 16")
    assert finding.evidence[1].startswith("91 % of the warps")


def test_tensor_cores_that_are_fed_are_not_short_of_warps():
    """Attention keeps 16 % of the warps, as such kernels do, and a third of the tensor roof."""
    codes = {f.code for f in diagnose(read(both()))}
    assert "RF404" not in codes
    assert "RF101" in codes


def test_the_library_norm_is_faster_and_the_products_still_bind():
    """20.3 -> 17.6 ms of device time, each within a few percent over 8 steps."""
    found = moved(timeline("norm_by_hand"), timeline("norm_fused"))

    assert found.verdict == "faster"
    assert found.sentence.startswith(
        "faster, and the limiter is the same, tensor-bf16: 20.3 ms (half of 8 steps within 2%) -> 17.6 ms"
    )
    assert any("mul" in line and line.endswith("-> not there") for line in found.evidence)
