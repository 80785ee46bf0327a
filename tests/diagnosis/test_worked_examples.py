"""Textbook numbers of the roofline, each with the finding that an expert would draw from it."""

from dataclasses import replace

import pytest

from roofline.call import Call
from roofline.device import DRAM, TENSOR_BF16, TENSOR_FP8, TENSOR_FP16, VECTOR_FP32, Ceiling, Device
from roofline.diagnosis import diagnose
from roofline.diagnosis.compute.narrow import ridge_moved
from roofline.program import read, single
from roofline.program.whatif import what_if
from roofline.work import Entry, algorithmic
from tests.diagnosis import test_kernels
from tests.roofs import STATED, roof
from tests.runs import Script, call, tensor


def card(**rates):
    named = {"dram": DRAM, "fp32": VECTOR_FP32, "fp16": TENSOR_FP16, "bf16": TENSOR_BF16,
             "fp8": TENSOR_FP8}  # fmt: skip
    return Device(
        id="card", name="Card", kind="gpu",
        ceilings=tuple(
            Ceiling(resource=named[name], rate=rate, provenance=STATED)
            for name, rate in rates.items()
        ),
    )  # fmt: skip


def found(program):
    return {f.code: f for f in diagnose(program)}


def test_a_quarter_of_peak_at_ten_flop_per_byte_came_from_a_cache():
    """7.725 of 30.9 TFLOP/s at 10 flop/B: 672 GB/s allow 6.72."""
    ledger = algorithmic(
        Entry(VECTOR_FP32, 10_000_000, "work"), Entry(DRAM, 1_000_000, "in", "read")
    )
    program = single("kernel", ledger, roof(vector_fp32=30.9e12, dram=672e9), 1e7 / 7.725e12)
    finding = found(program)["RF001"]

    assert "1.15 times as fast as its dram roof allows" in finding.claim
    assert finding.next_step.startswith("did its data stay in a nearer cache")


def test_without_fma_half_of_the_peak_is_left():
    """5 of 10 TFLOP/s: a pipe full of adds and multiplies could do the same in half."""
    apart = {
        "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed": 100.0,
        "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": 2.5e9,
        "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum": 2.5e9,
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 0.0,
    }
    finding = test_kernels.found(apart)["RF412"]

    assert finding.then_s[0] == pytest.approx(finding.now_s / 2)


def test_quantisation_turns_400_flop_per_byte_into_memory_bound():
    """H100: 989 TFLOP/s of bf16 have their ridge at 295 flop/B, 1979 of fp8 at 591."""
    ledger = algorithmic(
        Entry(TENSOR_FP8, 400_000_000_000, "work"), Entry(DRAM, 1_000_000_000, "in", "read")
    )
    on = roof(dram=3.35e12, tensor_bf16=989e12, tensor_fp8=1979e12)
    busy = single("product", ledger, on, 1e9 / 3.35e12)
    finding = next(iter(_ridge(busy)))

    assert "its 400 flop/B lie between the ridges" in finding.claim
    assert finding.evidence[0] == "ridge of bf16 295 flop/B, of tensor-fp8 591"


def _ridge(program):
    """The rule itself: nobody recorded this call, so that nothing else says how busy it was."""
    (part,) = program.parts
    whole = replace(program.whole, busy_s=part.time_ns / 1e9)
    return ridge_moved(replace(program, whole=whole))


X = tensor(16384, 4096)  # 268.4 MB of fp32
ROW, COLUMN = tensor(4096), tensor(16384, 1)
PASS_US = 16384 * 4096 * 4 / (0.88 * 672e9) * 1e6


def layer_norm():
    """Six kernels, ten passes: mean 1, subtract 2, square 2, mean 1, scale 2, gamma 2."""
    script = Script()
    for op, args, out, passes, reads, writes in (
        ("mean", (X, (1,), True, None), COLUMN, 1, (1,), (2,)),
        ("sub", (X, COLUMN, 1), X, 2, (1, 2), (3,)),
        ("pow", (X, 2), X, 2, (3,), (4,)),
        ("mean", (X, (1,), True, None), COLUMN, 1, (4,), (5,)),
        ("mul", (X, COLUMN), X, 2, (3, 5), (6,)),
        ("mul", (X, ROW), X, 2, (6, 7), (8,)),
    ):
        script.add(
            call(f"aten::{op}", *args, out=out), passes * PASS_US, reads=reads, writes=writes
        )
    return script.end_step().run(on=card(dram=672e9))


def test_a_layer_norm_whose_kernels_are_all_on_their_roof_moves_five_times_the_bytes():
    """2.684 GB in 4.54 ms at 88 %; fused 0.537 GB, 0.80 ms at the ceiling, 0.91 ms at 88 % of it."""
    program = read(layer_norm())
    finding = found(program)["RF101"]

    assert program.whole.busy_s == pytest.approx(4.54e-3, rel=1e-3)
    assert "6 operators pass 10.0 times" in finding.claim
    assert "its inputs and outputs need 2.0" in finding.claim
    assert any("6 of its 6 operators are at 80% of the roof" in line for line in finding.evidence)
    least_s, _ = finding.then_s
    assert least_s == pytest.approx(0.537e9 / 672e9, rel=1e-3)
    assert finding.now_s / (least_s / 0.88) == pytest.approx(5.0, rel=1e-2)


@pytest.mark.parametrize(
    ("operands", "passes", "least"), [(2, 5, 3), (1, 4, 2)], ids=["relu(x + y)", "relu(x + c)"]
)
def test_relu_of_a_sum_is_two_passes_too_many(operands, passes, least):
    """fp16: 10N bytes against 6N, and 8N against 4N."""
    x = tensor(1_000_000, dtype="fp16")
    other = x if operands == 2 else 1
    script = Script()
    script.add(call("aten::add", x, other, 1, out=x), 20, reads=(1, 2)[:operands], writes=(3,))
    script.add(call("aten::relu", x, out=x), 10, reads=(3,), writes=(4,))
    finding = found(read(script.end_step().run(on=card(dram=672e9))))["RF101"]

    assert f"pass {passes}.0 times over the same 2.00 MB" in finding.claim
    assert f"need {least}.0" in finding.claim


def test_300_blocks_cost_two_waves_and_288_one():
    """6 blocks on each of 48 SMs are 288 a wave; 300 blocks: 52.1 % of two waves, 2x the time."""
    tail = test_kernels.found({"launch__waves_per_multiprocessor": 300 / 288})["RF403"]

    assert "52% of the slots work" in tail.claim
    assert tail.then_s[0] == pytest.approx(tail.now_s * 300 / 576)
    assert test_kernels.found({"launch__waves_per_multiprocessor": 288 / 288}) == {}


def test_a_linear_layer_reaches_its_ridge_at_97_samples():
    """K = N = 4096 in fp16: 2048 B / (2048 + B) flop/B pass 91.8 between 96 and 97 samples."""
    two = Call(
        "aten::mm",
        (tensor(2, 4096, dtype="fp16"), tensor(4096, 4096, dtype="fp16")),
        (tensor(2, 4096, dtype="fp16"),),
        "cuda",
    )
    script = Script()
    for step in range(2):
        script.add(two, 100, reads=(1, 2), writes=(10 + step,)).end_step()
    run = script.run(on=card(dram=672e9, fp16=61.7e12))

    for batch, binding in ((96, DRAM), (97, TENSOR_FP16)):
        (change,) = what_if(run, batch=batch).by()
        assert change.after.binding.demanded == binding
