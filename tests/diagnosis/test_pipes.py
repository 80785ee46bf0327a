"""Products on the roof of a pipe, on the wrong one, in narrow types, in sizes that fit no load."""

from dataclasses import replace

import pytest

from roofline.call import Call
from roofline.device import (
    DRAM,
    TENSOR_BF16,
    TENSOR_FP8,
    TENSOR_FP16,
    TENSOR_FP16_ACC16,
    VECTOR_FP32,
    Ceiling,
    Device,
    Mapped,
)
from roofline.diagnosis import diagnose
from roofline.program import read
from tests.roofs import STATED
from tests.runs import Script, call, tensor


def card(**rates):
    """A GPU with round ceilings; DRAM gives 1 TB/s."""
    named = {"bf16": TENSOR_BF16, "fp8": TENSOR_FP8, "fp16": TENSOR_FP16,
             "acc16": TENSOR_FP16_ACC16, "fp32": VECTOR_FP32, "dram": DRAM}  # fmt: skip
    ceilings = {"dram": 1e12, "fp32": 10e12} | rates
    return Device(
        id="card", name="Card", kind="gpu",
        ceilings=tuple(
            Ceiling(resource=named[name], rate=rate, provenance=STATED)
            for name, rate in ceilings.items()
        ),
    )  # fmt: skip


def product(m, n, k, dtype="bf16", out=None):
    """(m, k) x (k, n) on a CUDA device."""
    return Call(
        "aten::mm",
        (tensor(m, k, dtype=dtype), tensor(k, n, dtype=dtype)),
        (tensor(m, n, dtype=out or dtype),),
        "cuda",
    )


def found(script, on):
    return {f.code: f for f in diagnose(read(script.end_step().run(on=on)))}


BIG = product(4096, 4096, 4096)  # 137.4 Gflop: 1.374 ms at 100 TFLOP/s; 100.7 MB: 0.1 ms


def test_products_that_fill_their_pipe_are_left_alone():
    """1.374 of 1.5 ms: 92 %; at 200 TFLOP/s of fp8 the flop take 0.687 ms."""
    finding = found(Script().add(BIG, 1_500), card(bf16=100e12, fp8=200e12))["RF204"]

    assert finding.claim.startswith("aten::mm fills tensor-bf16: 92% of its roof in 100%")
    assert finding.saves_s == 0.0
    assert finding.evidence[-1] == "on tensor-fp8 they would need 687 us a step"


def test_below_or_above_the_roof_is_not_on_it():
    on = card(bf16=100e12)

    assert "RF204" not in found(Script().add(BIG, 1_800), on)  # 76 %
    assert "RF204" not in found(Script().add(BIG, 1_200), on)  # 115 %
    # on the roof, and 12 % of the time
    waiting = Script().add(BIG, 1_500).add(call("aten::relu", tensor(1000)), 11_000)
    assert "RF204" not in found(waiting, on)


HALF = product(4096, 4096, 4096, "fp16")


def test_fp16_sums_where_the_device_is_faster_with_them():
    """2.75 ms with sums in fp32 at 50 TFLOP/s, 1.374 at 100 with sums in fp16."""
    codes = found(Script().add(HALF, 3_000), card(fp16=50e12, acc16=100e12))
    finding = codes["RF205"]

    assert "RF204" not in codes  # 92 % of its pipe, and another one is twice as fast
    assert "fp16 sums are 2.0 times as fast" in finding.claim
    assert finding.then_s == (pytest.approx(1.374e-3, rel=1e-3), pytest.approx(3e-3))
    assert finding.saves_s == pytest.approx(3e-3 - 1.374e-3, rel=1e-3)


def test_fp16_sums_bring_nothing_where_both_are_as_fast_or_one():
    assert "RF205" not in found(Script().add(HALF, 3_000), card(fp16=50e12, acc16=50e12))
    mapped = (Mapped(lacks=TENSOR_FP16_ACC16, uses=TENSOR_FP16, why="one pipe for both"),)
    assert "RF205" not in found(Script().add(HALF, 3_000), replace(card(fp16=50e12), mapped=mapped))
    assert "RF205" not in found(Script().add(BIG, 3_000), card(bf16=50e12, acc16=100e12))


def fp8(m, n, k, out):
    """(m, k) x (k, n) in fp8."""
    left, right = (tensor(*shape, dtype="fp8_e4m3") for shape in ((m, k), (k, n)))
    one = tensor()
    args = (left, right, one, one, None, None, out, False)
    return Call("aten::_scaled_mm", args, (tensor(m, n, dtype=out),), "cuda")


# 17.2 Gflop over 2 x 2.1 MB in fp8 and a result of 33.6 MB: 455 flop/B.
WIDE_RESULT = fp8(4096, 4096, 512, "bf16")


def test_quantising_moves_the_ridge_past_the_product():
    """Ridges at 295 (bf16 of 989) and 591 (fp8 of 1979 TFLOP/s) under 3.35 TB/s.

    In bf16 it moves 4.2 MB more, 410 flop/B: 17.4 us on the pipe.  In fp8 37.7 MB take 11.3 us,
    1.5 times as fast where the pipe doubled.
    """
    on = card(dram=3.35e12, bf16=989e12, fp8=1979e12)
    finding = found(Script().add(WIDE_RESULT, 12), on)["RF206"]

    assert "its 455 flop/B lie between the ridges of bf16 and tensor-fp8" in finding.claim
    assert finding.evidence[0] == "ridge of bf16 295 flop/B, of tensor-fp8 591"
    assert finding.evidence[1] == "in bf16 it has 410 flop/B, and its pipe binds it"
    assert finding.evidence[2].endswith("the product at most 1.5 times with these bytes")


def test_a_product_left_of_both_ridges_or_right_of_them_was_not_moved():
    left, right = (card(dram=rate, bf16=989e12, fp8=1979e12) for rate in (1e12, 9e12))
    assert "RF206" not in found(Script().add(WIDE_RESULT, 40), left)
    assert "RF206" not in found(Script().add(WIDE_RESULT, 9), right)


def test_a_product_narrow_throughout_gained_what_its_pipe_did():
    """800 cubed: 533 flop/B in fp8 are 267 in bf16, left of the ridge of 295: memory bound both."""
    on = card(dram=3.35e12, bf16=989e12, fp8=1979e12)
    assert "RF206" not in found(Script().add(fp8(800, 800, 800, "fp8_e4m3"), 1), on)


NARROW = call(
    "aten::_to_copy", tensor(4096, 4096, dtype="int8"), "bf16",
    out=tensor(4096, 4096, dtype="bf16"),
)  # fmt: skip


def test_unpacking_weights_is_priced_and_is_no_copy():
    """16.8 MB read and 33.6 written in 60 us, of 1.56 ms: 3.8 %; four of them 14 %."""
    script = Script().add(BIG, 1_500)
    for _ in range(4):
        script.add(NARROW, 60)
    codes = found(script, card(bf16=100e12))

    assert "dequantisation costs 14% of the operators' time: 240 us a step" in codes["RF207"].claim
    assert codes["RF207"].then_s == (0.0, pytest.approx(240e-6))
    assert "RF105" not in codes


def test_little_unpacking_and_other_casts_are_not_that():
    assert "RF207" not in found(Script().add(BIG, 1_500).add(NARROW, 60), card(bf16=100e12))
    to_half = call(
        "aten::_to_copy", tensor(4096, 4096), "bf16", out=tensor(4096, 4096, dtype="bf16")
    )
    codes = found(Script().add(BIG, 1_500).add(to_half, 240), card(bf16=100e12))
    assert "RF207" not in codes
    assert "RF105" in codes


def test_an_odd_vocabulary_is_told_the_next_good_size():
    """N = 50257 = 8 x 6282 + 1; 50304 is 0.09 % more. 2 x 1024 x 50257 x 768 flop: 0.79 ms."""
    odd = product(1024, 50257, 768)
    codes = found(Script().add(odd, 1_600), card(bf16=100e12))
    finding = codes["RF208"]

    assert "RF201" not in codes  # 49 % of its roof, for a reason
    assert "reaches 49% of its roof with N = 50257, no multiple of 8" in finding.claim
    assert finding.evidence[0].startswith("N = 50304 is the next multiple of 64: 0.1% more flop")
    least_s = 2 * 1024 * 50304 * 768 / 100e12
    assert finding.then_s == (pytest.approx(least_s), pytest.approx(1.6e-3))


def test_good_sizes_and_products_on_their_roof_are_left_alone():
    assert "RF208" not in found(
        Script().add(product(1024, 50304, 768), 1_600), card(bf16=100e12)
    )  # fmt: skip
    assert "RF208" not in found(Script().add(product(1024, 50257, 768), 800), card(bf16=100e12))


def test_padding_names_the_sizes_that_run():
    """One row of a tile of 8: up to 8 rows take the same time."""
    finding = found(Script().add(product(1, 4096, 4096), 100), card(bf16=100e12))["RF202"]

    assert "1 x 4096 x 4096 runs as 8 x 4096 x 4096" in finding.evidence[0]
