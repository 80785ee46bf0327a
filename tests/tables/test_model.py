"""The model against numbers worked out by hand; every row shows its arithmetic."""

from dataclasses import replace

import pytest

from roofline.device import (
    DRAM,
    L2,
    SFU,
    TENSOR_BF16,
    TENSOR_FP16,
    VECTOR_FP32,
    Ceiling,
    Mapped,
    Roof,
    Variant,
)
from roofline.errors import BadInput
from roofline.ops.products.matmul import gemm
from roofline.placement import attainable, place, ridge_point
from roofline.work import Count, Entry, Ledger, Work, algorithmic, executed, unknown
from tests.roofs import HYPOTHETICAL, STATED, roof


def ceilings(flop_per_s, bytes_per_s, pipe=VECTOR_FP32, boundary=DRAM):
    return (
        Ceiling(resource=pipe, rate=flop_per_s, provenance=STATED),
        Ceiling(resource=boundary, rate=bytes_per_s, provenance=STATED),
    )


@pytest.mark.parametrize(
    ("flop_per_s", "bytes_per_s", "ridge"),
    [
        (312e12, 2e12, 156),  # A100
        (989e12, 3.35e12, 295.2238805970149),  # H100: 989/3.35
        (120e12, 2e12, 60),
        (30.9e12, 672e9, 45.98214285714286),  # RTX 5070 fp32
        (61.7e12, 672e9, 91.81547619047619),  # RTX 5070 fp16 tensor, fp32 accumulate
        (30.9e12, 590e9, 52.37288135593220),  # with the practical bandwidth; dial F = 4 I = 209.5
        (989e12, 3.35e12, 989 / 3.35),  # H100 dense bf16
        (1979e12, 3.35e12, 590.7462686567164),  # H100 fp8: quantisation moves the ridge
    ],
)
def test_ridge_point(flop_per_s, bytes_per_s, ridge):
    assert ridge_point(*ceilings(flop_per_s, bytes_per_s)) == pytest.approx(ridge, rel=1e-9)


def test_rtx_5070_at_ten_flop_per_byte():
    """10 * 672e9 = 6.72 TFLOP/s, 21.7 % of 30.9; 45.98/10 = 4.6x left of the ridge."""
    compute, memory = ceilings(30.9e12, 672e9)
    top = attainable(10, DRAM, compute, memory)

    assert top == pytest.approx(6.72e12)
    assert top / 30.9e12 == pytest.approx(0.2175, abs=5e-5)
    assert ridge_point(compute, memory) / 10 == pytest.approx(4.598, abs=5e-4)
    assert 6.0e12 / top == pytest.approx(0.893, abs=5e-4)


def test_a_quarter_of_peak_at_ten_flop_per_byte_is_above_the_roof():
    """7.725 TFLOP/s over 6.72 attainable: 1.15, kept, never clipped."""
    ledger = algorithmic(Entry(VECTOR_FP32, 7_725, "work"), Entry(DRAM, 772, "read", "read"))
    placement = place(ledger, roof(vector_fp32=30.9e12, dram=672e9), 7_725 / 7.725e12)

    assert placement.roof_fraction == pytest.approx(7.725 / 6.72, rel=2e-3)


def test_one_flop_per_byte_on_the_hypothetical_device():
    """1 * 2 TB/s = 2 TFLOP/s."""
    assert attainable(1, DRAM, *ceilings(120e12, 2e12)) == 2e12


def test_quantisation_turns_compute_bound_into_memory_bound():
    """I = 400 lies right of 295 (bf16) and left of 591 (fp8)."""
    assert attainable(400, DRAM, *ceilings(989e12, 3.35e12)) == 989e12
    assert attainable(400, DRAM, *ceilings(1979e12, 3.35e12)) == pytest.approx(400 * 3.35e12)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (30.9e12 / 2, 15.45e12),  # no FMA: half of the fp32 peak
        (672e9 * 4 / 32, 84e9),  # 4 useful bytes of each 32 B sector
        (32 * 4 * 48 * 2.5e9, 15.36e12),  # banks x bytes x SMs x clock: shared memory
        (2**30 / 1e-3, 1073.741824e9),  # 1 GiB in 1 ms
    ],
)
def test_derived_ceilings(formula, expected):
    assert formula == pytest.approx(expected, rel=1e-12)
    assert Ceiling(resource=DRAM, rate=formula, provenance=STATED).rate == pytest.approx(expected)


@pytest.mark.parametrize(
    ("m", "intensity", "compute_us", "traffic_us", "binding"),
    [
        # bytes = 2 (M*4096 + 4096^2 + M*4096), flop = 2 M 4096^2, I = 2048 M / (2048 + M)
        (1, 0.9995119571, 0.27962027, 16.785408, DRAM),
        (32, 31.5076923077, 8.94784853, 17.039360, DRAM),
        (128, 120.4705882353, 35.79139413, 17.825792, TENSOR_FP16),
    ],
)
def test_gemm_4096_on_the_hypothetical_device(m, intensity, compute_us, traffic_us, binding):
    placement = place(gemm(m, 4096, 4096, "fp16"), HYPOTHETICAL)
    least = {b.demanded: b.least_s for b in placement.bounds}

    assert placement.intensity == {DRAM: pytest.approx(intensity, rel=1e-9)}
    assert placement.ridge_point == {DRAM: 60}
    assert least[TENSOR_FP16] == pytest.approx(compute_us * 1e-6, rel=1e-8)
    assert least[DRAM] == pytest.approx(traffic_us * 1e-6, rel=1e-9)
    assert placement.binding.demanded == binding
    assert placement.roof_s == pytest.approx(max(compute_us, traffic_us) * 1e-6, rel=1e-8)
    assert placement.serial_s == pytest.approx((compute_us + traffic_us) * 1e-6, rel=1e-8)


def test_hierarchy_takes_the_lowest_of_all_levels():
    """1000 flop, 100 B over DRAM at 10 B/s, 400 B over L2 at 20 B/s, 1000 flop/s: 20 s, l2."""
    ledger = algorithmic(
        Entry(VECTOR_FP32, 1000, "work"), Entry(DRAM, 100, "far", "read"), Entry(L2, 400, "near")
    )
    placement = place(ledger, roof(vector_fp32=1000, dram=10, l2=20))

    assert [(b.demanded.name, b.least_s) for b in placement.bounds] == [
        ("l2", 20.0),
        ("dram", 10.0),
        ("vector-fp32", 1.0),
    ]
    assert placement.attainable_flop_per_s == 1000 / 20 == min(1000, 10 * 10, 20 * 2.5)


def test_an_intensity_does_not_meet_another_levels_bandwidth():
    compute, memory = ceilings(1e12, 1e9)
    with pytest.raises(BadInput, match="an intensity at l2 cannot meet the bandwidth of dram"):
        attainable(10, L2, compute, memory)
    with pytest.raises(BadInput, match="a ridge needs a pipe and a boundary; got dram and vector"):
        ridge_point(memory, compute)


def test_copy_has_a_bound_but_no_attainable_rate():
    """10 GB at 2 TB/s is 5 ms; without flop there is no flop rate to attain."""
    placement = place(algorithmic(Entry(DRAM, 10**10, "copy", "read")), HYPOTHETICAL)

    assert (placement.roof_s, placement.attainable_flop_per_s) == (5e-3, None)
    assert placement.intensity == {DRAM: 0.0}


def test_work_that_needs_nothing_is_zero_and_unknown_work_is_none():
    assert place(algorithmic(), HYPOTHETICAL).roof_s == 0.0
    nothing_known = place(unknown("my::kernel"), HYPOTHETICAL)
    assert (nothing_known.roof_s, nothing_known.serial_s, nothing_known.known) == (
        None,
        None,
        False,
    )


def test_bytes_without_arithmetic_that_is_known_are_not_zero_flop():
    """A kernel whose 1,200 B are known and whose arithmetic is not: flop is None, never 0."""
    known = algorithmic(Entry(DRAM, 1200, "its arguments", "read"))
    placed = place(known + unknown("arithmetic of k"), HYPOTHETICAL)

    assert placed.flop is None
    assert placed.intensity == {}
    assert placed.attainable_flop_per_s is None
    assert placed.roof_s == 1200 / 2e12
    # A copy's arithmetic is known to be none.
    assert place(known, HYPOTHETICAL).flop == 0


def test_a_demand_without_ceiling_is_named_and_not_bounded():
    placement = place(
        algorithmic(Entry(SFU, 5, "exp"), Entry(DRAM, 2 * 10**12, "read", "read")), HYPOTHETICAL
    )

    assert placement.no_ceiling == (SFU,)
    assert (placement.roof_s, placement.known) == (1.0, False)


def test_a_pipe_the_device_lacks_is_served_by_the_one_it_names():
    mapped = {TENSOR_BF16: Mapped(lacks=TENSOR_BF16, uses=VECTOR_FP32, why="no matrix unit")}
    toy = Roof(name="toy", kind="cpu", ceilings=roof(vector_fp32=100).ceilings, mapped=mapped)
    (bound,) = place(algorithmic(Entry(TENSOR_BF16, 200, "work")), toy).bounds

    assert (bound.demanded, bound.ceiling.resource, bound.least_s) == (
        TENSOR_BF16,
        VECTOR_FP32,
        2.0,
    )


def test_nearest_read_share_is_taken_and_visible():
    """A copy is half reads, so of read (1) and copy (0.5) it meets copy."""
    both = tuple(
        Ceiling(resource=DRAM, rate=rate, provenance=STATED, variant=Variant(access=access))
        for access, rate in (("read", 10.0), ("copy", 6.0))
    )
    toy = Roof(name="toy", kind="cpu", ceilings=both)
    copy = algorithmic(Entry(DRAM, 30, "in", "read"), Entry(DRAM, 30, "out", "write"))
    read = algorithmic(Entry(DRAM, 60, "in", "read"), Entry(DRAM, 1, "out", "write"))

    assert place(copy, toy).binding.ceiling.variant.access == "copy"
    assert place(copy, toy).roof_s == 10.0
    assert place(read, toy).binding.ceiling.variant.access == "read"


def test_an_update_is_rated_as_one_where_that_was_measured():
    """4 MB in and out: of new memory a copy, of the same memory an update; without it a copy."""
    measured = [
        Ceiling(resource=DRAM, rate=rate, variant=Variant(access=access), provenance=STATED)
        for access, rate in (("read", 5e9), ("triad", 4.5e9), ("copy", 4e9), ("update", 6e9))
    ]
    roof = Roof(name="toy", kind="cpu", ceilings=tuple(measured))

    def rated(reads, writes, footprint, roof=roof):
        entries = [Entry(DRAM, reads, "in", "read"), Entry(DRAM, writes, "out", "write")]
        ledger = replace(algorithmic(*entries), footprint=footprint)
        return place(ledger, roof).bounds[0].ceiling.variant.access

    assert rated(4, 4, footprint=8) == "copy"
    assert rated(4_000, 4_000, footprint=4_100) == "update"  # 2.5 % of what is written is new
    assert rated(4_000, 4_000, footprint=4_400) == "copy"  # 10 % is
    assert rated(4, 4, footprint=None) == "copy"  # unknown is not in place
    # x.add_(y): two thirds are reads, nearer to an update's half than to a read's whole.
    assert rated(8, 4, footprint=8) == "update"
    assert rated(8, 4, footprint=12) == "triad"
    assert rated(8, 0, footprint=8) == "read"
    without = replace(roof, ceilings=tuple(measured[:3]))
    assert rated(4, 4, footprint=4, roof=without) == "copy"


def test_bytes_held_nearer_cross_the_nearer_boundary():
    """1 MB fits the 2 MB L2: 1e6 B at 100 B/s; from DRAM the same bytes come at 10 B/s."""
    levels = (
        Ceiling(resource=L2, rate=100.0, provenance=STATED, capacity=2_000_000),
        Ceiling(resource=DRAM, rate=10.0, provenance=STATED),
    )
    toy = Roof(name="toy", kind="cpu", ceilings=levels)
    ledger = algorithmic(Entry(DRAM, 10**6, "in", "read"))

    assert (toy.innermost(10**6), toy.innermost(2_000_001)) == (L2, DRAM)
    near = place(ledger, toy, at=toy.innermost(10**6))
    assert (near.placed_at, near.roof_s, near.intensity) == (L2, 1e4, {L2: 0.0})
    assert (place(ledger, toy).placed_at, place(ledger, toy).roof_s) == (DRAM, 1e5)


def test_counts_do_not_mix():
    formula = gemm(1, 1, 1)
    with pytest.raises(BadInput, match="cannot add algorithmic and achieved work"):
        formula + Ledger(Count.ACHIEVED)
    with pytest.raises(BadInput, match="counted as executed cannot stand as algorithmic"):
        Work(algorithmic=executed(Entry(DRAM, 1, "x")))


@pytest.mark.parametrize("measured_s", [0.0, -1e-6, float("nan"), float("inf")])
def test_time_must_be_positive_and_finite(measured_s):
    with pytest.raises(BadInput, match="a measured time must be positive and finite"):
        place(gemm(1, 1, 1, "fp16"), HYPOTHETICAL, measured_s)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_ceiling_must_be_positive_and_finite(rate):
    with pytest.raises(BadInput, match="ceiling on 'dram' must be a positive finite number of B/s"):
        Ceiling(resource=DRAM, rate=rate, provenance=STATED)


def test_a_negative_amount_is_refused():
    with pytest.raises(BadInput, match="read A: -1 B is negative"):
        Entry(DRAM, -1, "read A")
