"""What the matrix experiment says of rates that are made up: how sure, and which not to trust."""

from dataclasses import replace

from roofline.bench.lab import matmul
from roofline.bench.record import ceiling
from roofline.bench.sample import Sample, Samples
from roofline.device import TENSOR_BF16, VECTOR_FP32, Reach, Variant

PAIR = (VECTOR_FP32, TENSOR_BF16)


def measured(resource, *rates):
    return ceiling(
        resource,
        Variant(threads=1, reach=Reach.LIBRARY),
        Samples(tuple(Sample(rate, 1.0) for rate in rates)),
        method="torch.mm",
        conditions=(),
    )


STEADY = measured(VECTOR_FP32, *[98e9, 100e9, 102e9] * 4)
TORN = measured(TENSOR_BF16, *[350e9, 1000e9] * 6)


def outcome(*found):
    return matmul._outcome("Toy", "cpu", found, PAIR, ("one core",))


def test_each_rate_has_the_interval_of_its_median():
    """12 samples: from the third to the tenth, 98 to 102; the torn one 350 to 1000."""
    names = [c.name for c in matmul.COLUMNS]
    rows = [dict(zip(names, row, strict=True)) for row in outcome(STEADY, TORN).rows]
    assert [(r["95 % of median from"], r["to"]) for r in rows] == [(98e9, 102e9), (350e9, 1000e9)]
    assert [r["in doubt"] for r in rows] == ["", "*"]


def test_the_ratio_says_how_far_it_can_be_off():
    """350/102 = 3.43 to 1000/98 = 10.20; the star is told in words."""
    found = outcome(STEADY, TORN)
    assert found.answer == 6.75  # 675, between both states, over 100
    assert found.notes == (
        "* tensor-bf16 1 thread, library: bimodal: 50 % of samples near 350 Gflop/s, "
        "50 % near 1.00 Tflop/s",
        "by both intervals the ratio (library) is 3.43 to 10.20",
    )


def test_without_intervals_nothing_is_said_of_the_ratio():
    few = measured(TENSOR_BF16, 350e9, 360e9, 355e9)
    assert outcome(STEADY, few).notes == ()
    bare = replace(STEADY, provenance=replace(STEADY.provenance, spread=None))
    assert outcome(bare, TORN).notes[1:] == ()
    assert outcome(bare).rows[0][3:6] == (None, None, "")
