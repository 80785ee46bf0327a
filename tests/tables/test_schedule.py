"""Stages with dependencies, and the composition rows of the worked examples."""

import pytest

from roofline.device import DRAM, TENSOR_FP16, VECTOR_FP32
from roofline.errors import BadInput
from roofline.placement import place
from roofline.schedule import Stage, bound, chain
from roofline.work import Entry, algorithmic
from tests.roofs import HYPOTHETICAL, roof

# On 120 TFLOP/s and 2 TB/s: A needs 1 us of compute and 100 us of memory, B the other way round.
A = algorithmic(Entry(TENSOR_FP16, 120_000_000, "a"), Entry(DRAM, 200_000_000, "a", "read"))
B = algorithmic(Entry(TENSOR_FP16, 12_000_000_000, "b"), Entry(DRAM, 2_000_000, "b", "read"))


def test_serial_stages():
    """100 us + 100 us = 200 us; the summed ledger gives the looser 101 us."""
    graph = bound(chain([("A", A), ("B", B)]), HYPOTHETICAL)

    assert graph.roof_s == pytest.approx(200e-6)
    assert graph.loose_roof_s == pytest.approx(101e-6)
    assert graph.critical_path == ("A", "B")
    assert place(A + B, HYPOTHETICAL).roof_s == pytest.approx(101e-6)


def test_independent_stages():
    """Nothing to wait for: each resource's total, 101 us."""
    graph = bound([Stage("A", A), Stage("B", B)], HYPOTHETICAL)

    assert graph.roof_s == pytest.approx(101e-6)
    assert graph.critical_path_s == pytest.approx(100e-6)


def test_less_work_at_a_slower_rate_is_done_sooner():
    """100 units at 10/s = 10 s; 40 units at 8/s = 5 s: 2.0x faster though the rate fell."""
    before = place(algorithmic(Entry(VECTOR_FP32, 100, "x")), roof(vector_fp32=10), 10.0)
    after = place(algorithmic(Entry(VECTOR_FP32, 40, "x")), roof(vector_fp32=10), 5.0)

    assert before.measured_s / after.measured_s == 2.0
    assert after.ledger.flop / after.measured_s < before.ledger.flop / before.measured_s


def test_layer_norm_out_of_tensor_operations():
    """16384 x 4096 fp32 = 268.435456 MB a pass: ten passes 2.684 GB, fused 0.537 GB.

    Six kernels at 88 % of 672 GB/s: 2.684354560e9 / (0.88 * 672e9) = 4.54 ms; fused 0.908 ms: 5.0x.
    """
    one_pass = 16384 * 4096 * 4
    at_88 = roof(dram=0.88 * 672e9)
    unfused = place(algorithmic(Entry(DRAM, 10 * one_pass, "ten passes", "read")), at_88)
    fused = place(algorithmic(Entry(DRAM, 2 * one_pass, "two passes", "read")), at_88)

    assert one_pass == 268_435_456
    assert unfused.roof_s == pytest.approx(4.54e-3, rel=1e-3)
    assert fused.roof_s == pytest.approx(0.908e-3, rel=1e-3)
    assert unfused.roof_s / fused.roof_s == pytest.approx(5.0)


def test_a_circle_and_an_absent_stage_are_refused():
    with pytest.raises(BadInput, match="stages need each other in a circle"):
        bound([Stage("A", A, ("B",)), Stage("B", B, ("A",))], HYPOTHETICAL)
    with pytest.raises(BadInput, match="A needs C; there is A, B"):
        bound([Stage("A", A, ("C",)), Stage("B", B)], HYPOTHETICAL)
    with pytest.raises(BadInput, match="two stages are named 'A'"):
        bound([Stage("A", A), Stage("A", B)], HYPOTHETICAL)


def test_an_empty_graph_needs_nothing():
    assert bound([], HYPOTHETICAL).roof_s == 0.0
