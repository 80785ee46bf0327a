"""What NVIDIA's counters mean: every name of the tables, with its arithmetic."""

import pytest

from roofline import counters
from roofline.device import (
    DRAM,
    L1,
    L2,
    RESOURCES,
    SHARED,
    TENSOR_FP16,
    VECTOR_FP16,
    VECTOR_FP32,
    VECTOR_FP64,
)
from roofline.work import Exactness

STEM = "__sass_thread_inst_executed_op_"
TENSOR = "sm__ops_path_tensor_src_"


def instructions(prefix="smsp", roll=".sum", **counts):
    """Every instruction count, zero unless stated: ``instructions(ffma=5)``."""
    names = [f"{t}{op}" for t in "dfh" for op in ("add", "mul", "fma")]
    return {f"{prefix}{STEM}{n}_pred_on{roll}": float(counts.get(n, 0)) for n in names}


def test_weights():
    """1, 1, 2 a thread; halves are packed in pairs: 2, 2, 4."""
    single = instructions(fadd=10, fmul=100, ffma=1000, dadd=1, dmul=2, dfma=3)
    half = instructions(hadd=10, hmul=100, hfma=1000)

    assert counters.executed(single | NO_TENSOR).demand() == {
        VECTOR_FP32: 10 + 100 + 2 * 1000,
        VECTOR_FP64: 1 + 2 + 2 * 3,
    }
    assert counters.executed(half | NO_TENSOR).demand() == {VECTOR_FP16: 20 + 200 + 4000}


@pytest.mark.parametrize("damaged", [1e300, float("inf"), float("nan"), -5.0])
def test_what_no_count_can_be_is_unknown_and_no_error(damaged):
    """A damaged file: 1e300 bytes a second in 1e300 seconds are not even a number."""
    names = ("dram__bytes_read.sum", "dram__bytes_write.sum", "dram__bytes.sum.per_second")
    seen = dict.fromkeys((*names, "gpu__time_duration.sum"), damaged)

    assert counters.seconds(seen).value is None
    assert counters.achieved(seen) is None
    assert counters.executed({name: damaged for name in instructions()}) is None


NO_TENSOR = {f"{TENSOR}fp16.sum": 0.0}


def test_twins_are_never_added():
    """smsp__ and sm__ count the same instructions."""
    both = instructions("smsp", ffma=1000) | instructions("sm", ffma=1000)

    assert counters.executed(both | NO_TENSOR).demand() == {VECTOR_FP32: 2000}


def test_one_twin_fills_what_the_other_lacks():
    """Adds under one prefix and fused multiply-adds under the other."""
    mixed = {f"smsp{STEM}fadd_pred_on.sum": 7.0, f"sm{STEM}ffma_pred_on.sum": 5.0}
    ledger = counters.executed(mixed | NO_TENSOR)

    assert ledger.demand() == {VECTOR_FP32: 7 + 2 * 5}
    assert "vector-fp32: fmul not collected" in ledger.unaccounted


def test_per_cycle_times_cycles():
    """537.807545 a cycle x 132,581.2 cycles = 71,303,168 adds; the clock times the time likewise."""
    rates = {f"smsp{STEM}fadd_pred_on.sum.per_cycle_elapsed": 537.807545} | NO_TENSOR
    direct = counters.executed(rates | {"smsp__cycles_elapsed.avg": 132_581.19697})
    product = counters.executed(
        rates
        | {
            "smsp__cycles_elapsed.avg.per_second": 132_581.19697 / 67.808e-6,
            "gpu__time_duration.sum": 67.808e-6,
        }
    )

    assert direct.demand() == product.demand() == {VECTOR_FP32: 71_303_168}
    assert direct.entries[0].exactness is Exactness.ESTIMATE


def test_a_rate_without_cycles_is_unknown():
    """Nothing to multiply it with: not collected, not zero."""
    rates = {f"smsp{STEM}ffma_pred_on.sum.per_cycle_elapsed": 10.0}

    assert counters.executed(rates) is None


# metric -> pipe it belongs to, per architecture that has it
PATHS = [
    ((7, 0), "fp16_dst_fp16", "tensor-fp16-acc16"),
    ((7, 0), "fp16_dst_fp32", "tensor-fp16"),
    ((7, 5), "int8", "tensor-int8"),
    ((7, 5), "int4", "tensor-int4"),
    ((8, 0), "bf16_dst_fp32", "tensor-bf16"),
    ((8, 0), "tf32_dst_fp32", "tensor-tf32"),
    ((8, 0), "fp64", "tensor-fp64"),
    ((8, 9), "fp8", "tensor-fp8"),
    ((9, 0), "fp16", "tensor-fp16"),
    ((10, 0), "fp4_dst_fp32", "tensor-fp4"),
    ((10, 0), "fp4_fp6_fp8_dst_fp16", "tensor-fp8-acc16"),
    ((10, 0), "fp4_fp6_fp8_dst_fp32", "tensor-fp8"),
    ((12, 0), "fp8_dst_fp16", "tensor-fp8-acc16"),
    ((12, 0), "fp8_dst_fp32", "tensor-fp8"),
]


@pytest.mark.parametrize(("arch", "path", "pipe"), PATHS)
def test_tensor_paths(arch, path, pipe):
    """Factor one: adds and multiplies are both in the count."""
    ledger = counters.executed(instructions() | {f"{TENSOR}{path}.sum": 4096.0}, arch)

    assert ledger.demand() == {RESOURCES[pipe]: 4096}
    assert ledger.unaccounted == ()


def test_parts_of_a_path_are_not_added_to_it():
    """The plain name holds its sparsity parts and its per-instruction parts."""
    held = {
        f"{TENSOR}bf16_dst_fp32.sum": 1000.0,
        f"{TENSOR}bf16_dst_fp32_sparsity_off.sum": 900.0,
        f"{TENSOR}bf16_dst_fp32_sparsity_on.sum": 100.0,
        "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum": 1000.0,
    }

    assert counters.executed(instructions() | held).flop == 1000


def test_fp8_of_hopper_is_its_two_parts():
    """CC 9.0 has no plain name: dense and sparse are added, each on its own pipe."""
    parts = {f"{TENSOR}fp8_sparsity_off.sum": 900.0, f"{TENSOR}fp8_sparsity_on.sum": 100.0}
    ledger = counters.executed(instructions() | parts, (9, 0))

    assert {r.name: n for r, n in ledger.demand().items()} == {
        "tensor-fp8": 900,
        "tensor-fp8-sparse": 100,
    }
    assert ledger.flop == 1000


def test_one_bit_operations_are_named():
    """No pipe is known for them: unaccounted where there are any, silent where there are none."""
    none = counters.executed(instructions() | {f"{TENSOR}int1.sum": 0.0})
    some = counters.executed(instructions() | {f"{TENSOR}int1.sum": 8.0})

    assert none.unaccounted == ()
    assert some.unaccounted == ("tensor flop of int1: no pipe is known",)


def test_tensor_instructions_are_flop_on_volta_only():
    """512 flop an instruction on CC 7.0; elsewhere their number says nothing, unless it is zero."""
    held = instructions() | {"sm__inst_executed_pipe_tensor.sum": 100.0}
    volta, ampere = counters.executed(held, (7, 0)), counters.executed(held, (8, 0))
    idle = counters.executed(held | {"sm__inst_executed_pipe_tensor.sum": 0.0}, (8, 0))

    assert volta.demand() == {TENSOR_FP16: 51_200}
    assert ampere.demand() == {}
    assert "does not say how many" in ampere.unaccounted[0]
    assert idle.unaccounted == ()


def test_before_tensor_cores():
    """CC 6.1 has none: vector flop are all there is."""
    assert counters.executed(instructions(ffma=1), (6, 1)).unaccounted == ()


def test_tensor_flop_not_collected_are_named():
    """Vector counters alone do not account for a kernel that may use tensor cores."""
    ledger = counters.executed(instructions(ffma=1), (9, 0))

    assert ledger.unaccounted == ("tensor flop: not collected",)


def test_half_fma_beside_fp32_may_be_moves():
    """Without the pipe's count nothing tells them apart: between 0 and 4 each."""
    ledger = counters.executed(instructions(ffma=100, hfma=50) | NO_TENSOR)
    (doubtful,) = [e for e in ledger.entries if e.resource == VECTOR_FP16]

    assert (doubtful.amount, doubtful.low, doubtful.high) == (0, 0, 200)
    assert ledger.demand()[VECTOR_FP32] == 200


def test_half_fma_in_a_copy_may_be_moves():
    """A copy computes nothing: the compiler moves its registers so.  0 to 4 each, and taken for 0."""
    ledger = counters.executed(instructions(hfma=50) | NO_TENSOR)
    (doubtful,) = ledger.entries

    assert (doubtful.amount, doubtful.low, doubtful.high) == (0, 0, 200)
    assert ledger.exactness is Exactness.BOUNDED


def test_half_fma_beside_half_adds_are_arithmetic():
    """hadd or hmul show that halves are computed with."""
    ledger = counters.executed(instructions(ffma=100, hfma=50, hmul=1) | NO_TENSOR)

    assert ledger.demand()[VECTOR_FP16] == 4 * 50 + 2


BYTES = [
    (DRAM, {"dram__bytes.sum": 640.0}, 640, "dram__bytes.sum"),
    (DRAM, {"dram__bytes_read.sum": 600.0, "dram__bytes_write.sum": 40.0}, 640, "dram__bytes_read"),
    (
        DRAM,
        {"dram__bytes_op_read.sum": 600.0, "dram__bytes_op_write.sum": 40.0},
        640,
        "dram__bytes_op_read",
    ),
    (DRAM, {"dram__sectors_read.sum": 10.0, "dram__sectors_write.sum": 10.0}, 640, "x 32"),
    (DRAM, {"dram__sectors.sum": 20.0}, 640, "dram__sectors.sum x 32"),
    (
        DRAM,
        {"fbpa__dram_read_bytes.sum": 600.0, "fbpa__dram_write_bytes.sum": 40.0},
        640,
        "fbpa__dram_read_bytes",
    ),
    (
        DRAM,
        {"fbpa__dram_read_sectors.sum": 19.0, "fbpa__dram_write_sectors.sum": 1.0},
        640,
        "fbpa__dram_read_sectors.sum x 32",
    ),
    (
        DRAM,
        {"dram__bytes.sum.per_second": 6.4e9, "gpu__time_duration.sum": 1e-7},
        640,
        "x duration",
    ),
    (
        DRAM,
        {
            "dram__bytes_read.sum.per_second": 6.0e9,
            "dram__bytes_write.sum.per_second": 0.4e9,
            "gpu__time_duration.sum": 1e-7,
        },
        640,
        "dram__bytes_read.sum.per_second x duration",
    ),
    (L2, {"lts__t_bytes.sum": 640.0}, 640, "requested: lts__t_bytes.sum"),
    (L2, {"lts__t_sectors.sum": 20.0}, 640, "requested: lts__t_sectors.sum x 32"),
    (L2, {"lts__lts2xbar_cycles_active.sum": 20.0}, 640, "delivered"),
    (
        L2,
        {
            "lts__t_sectors_srcunit_tex_op_read.sum": 15.0,
            "lts__t_sectors_srcunit_tex_op_write.sum": 4.0,
            "lts__t_sectors_srcunit_tex_op_red.sum": 1.0,
            "lts__t_sectors.sum": 99.0,
        },
        640,
        "requested by SMs",
    ),
    (L1, {"l1tex__t_bytes.sum": 640.0}, 640, "l1tex__t_bytes.sum"),
    (L1, {"l1tex__lsu_writeback_active.sum": 5.0}, 640, "x 128"),
    (L1, {"l1tex__lsu_writeback_active_mem_lg.sum": 5.0}, 640, "mem_lg.sum x 128"),
    (L1, {"l1tex__lsu_writeback_active_mem_lgds.sum": 5.0}, 640, "mem_lgds.sum x 128"),
    (SHARED, {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 5.0}, 640, "transported"),
    (SHARED, {"sm__sass_data_bytes_mem_shared.sum": 640.0}, 640, "useful"),
]


@pytest.mark.parametrize(("boundary", "held", "amount", "source"), BYTES)
def test_every_way_to_bytes(boundary, held, amount, source):
    """One value, its source named."""
    ledger = counters.achieved(held)

    assert ledger.demand() == {boundary: amount}
    assert source in ledger.entries[0].why


ONE_WAY = [
    ({"dram__bytes_read.sum": 600.0}, "read", 600, "write"),
    ({"dram__bytes_op_write.sum": 40.0}, "write", 40, "read"),
    ({"dram__sectors_read.sum": 10.0}, "read", 320, "write"),
    ({"FETCH_SIZE": 2.0}, "read", 2048, "write"),  # KiB
    ({"WRITE_SIZE": 1.0}, "write", 1024, "read"),
]


@pytest.mark.parametrize(("held", "way", "amount", "missing"), ONE_WAY)
def test_one_way_alone_is_kept_and_is_no_total(held, way, amount, missing):
    ledger = counters.achieved(held)

    assert ledger.traffic(DRAM, way) == amount
    assert ledger.crossed(DRAM) is None
    assert ledger.read_share(DRAM) is None
    assert f"dram {missing}s: not collected" in ledger.unaccounted


def test_one_way_and_the_sum_give_the_other():
    """640 B in all, 600 B of them read: 40 B were written."""
    ledger = counters.achieved({"dram__bytes.sum": 640.0, "dram__bytes_read.sum": 600.0})

    assert [ledger.traffic(DRAM, way) for way in ("read", "write")] == [600, 40]
    assert ledger.crossed(DRAM) == 640
    assert ledger.unaccounted == ()


def test_all_ways_together_are_one_value():
    """Nothing is added twice where a file holds several."""
    everything = {name: value for _, held, _, _ in BYTES for name, value in held.items()}

    assert counters.achieved(everything).demand() == {DRAM: 640, L2: 640, L1: 640, SHARED: 640}


def test_requested_and_delivered_stay_apart():
    """Both of the L2's numbers are facts, labelled."""
    held = {"lts__t_bytes.sum": 1000.0, "lts__lts2xbar_cycles_active.sum": 20.0}
    facts = counters.facts(held)

    assert (facts["l2_requested"].value, facts["l2_delivered"].value) == (1000, 640)
    assert counters.achieved(held).demand() == {L2: 1000}


def test_negative_counts_are_unknown():
    """A counter that overflowed is not a count."""
    assert counters.achieved({"dram__bytes.sum": -5.0}) is None


TIMES = [
    ({"gpu__time_duration.sum": 2e-6}, 2e-6),
    ({"gpu__time_duration.avg": 2e-6}, 2e-6),
    ({"sm__cycles_elapsed.avg": 2000.0, "sm__cycles_elapsed.avg.per_second": 1e9}, 2e-6),
    ({"gpc__cycles_elapsed.max": 2000.0, "gpc__cycles_elapsed.avg.per_second": 1e9}, 2e-6),
    ({"dram__bytes.sum": 2000.0, "dram__bytes.sum.per_second": 1e9}, 2e-6),
    ({"sm__cycles_elapsed.avg": 2000.0}, None),
    ({}, None),
]


@pytest.mark.parametrize(("held", "seconds"), TIMES)
def test_durations(held, seconds):
    """The recorded one, else cycles over clock, else an amount over its rate."""
    assert counters.seconds(held).value == (None if seconds is None else pytest.approx(seconds))


def test_a_duration_of_many_passes_is_refused():
    """30 us against 2 us of cycles: refused, with both in the reason; 2.2 us is not."""
    cycles = {"sm__cycles_elapsed.avg": 2000.0, "sm__cycles_elapsed.avg.per_second": 1e9}
    clock = counters.seconds(cycles | {"gpu__time_duration.sum": 30e-6})

    assert clock.value is None
    assert "3e-05 s" in clock.doubt
    assert "2e-06 s" in clock.doubt
    assert counters.seconds(cycles | {"gpu__time_duration.sum": 2.2e-6}).value == 2.2e-6


def test_blackwell_tensor_pipe():
    """sm__pipe_tc 30.4 % is the tensor pipe, sm__pipe_tensor 2.9 % its older part; no bytes, no flop."""
    pct = ".avg.pct_of_peak_sustained_elapsed"
    held = {f"sm__pipe_tc_cycles_active{pct}": 30.4, f"sm__pipe_tensor_cycles_active{pct}": 2.9}

    assert counters.facts(held)["tensor_pipe"].value == 30.4
    assert counters.achieved(held) is None
    assert counters.executed(held) is None


def test_the_busiest_of_all_views():
    """SM 47 %, DRAM 12 %, fp32-accumulate tensor path 96 %: compute-bound at 96 %.

    The path without sparsity in its name is against the sparse peak, 48 %: not that one.
    """
    pct = ".avg.pct_of_peak_sustained_elapsed"
    held = {
        f"sm__throughput{pct}": 47.0,
        f"gpu__dram_throughput{pct}": 12.0,
        f"{TENSOR}fp16_dst_fp32{pct}": 48.0,
        f"{TENSOR}fp16_dst_fp32_sparsity_off{pct}": 96.0,
    }
    facts = counters.facts(held)

    assert facts["tensor_fp16_dst_fp32"].value == 96.0
    assert counters.busiest(facts) == ("tensor_fp16_dst_fp32", facts["tensor_fp16_dst_fp32"])


@pytest.mark.parametrize(
    ("path", "value", "marked"),
    [
        ("fp16_dst_fp32", 48.0, True),
        ("fp16_dst_fp32", 96.0, False),  # no dense work is so busy against a sparse peak
        ("fp16_dst_fp32_sparsity_off", 48.0, False),
        ("fp64", 48.0, False),  # has no sparse peak
    ],
)
def test_what_may_be_of_a_sparse_peak(path, value, marked):
    facts = counters.facts({f"{TENSOR}{path}.avg.pct_of_peak_sustained_elapsed": value})
    (reading,) = facts.values()

    assert ("sparse peak" in reading.mark) is marked


@pytest.mark.parametrize(
    ("metric", "fact"),
    [
        ("sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active", "tensor_pipe"),
        ("sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", "tensor_pipe"),
        ("sm__pipe_tensor_op_imma_cycles_active.avg.pct_of_peak_sustained_active", "tensor_imma_pipe"),
        ("sm__inst_executed_pipe_tensor_op_dmma.avg.pct_of_peak_sustained_elapsed", "tensor_dmma_pipe"),
        (f"{TENSOR}bf16_dst_fp32.sum.pct_of_peak_sustained_elapsed", "tensor_bf16_dst_fp32"),
    ],
)  # fmt: skip
def test_every_spelling_of_a_busy_tensor_pipe(metric, fact):
    """91 % of it against 47 % of the SM: the SM's own throughput hides it on some cards.

    The slowest and the fastest SM alone are not the chip.
    """
    held = {metric: 91.0, "sm__throughput.avg.pct_of_peak_sustained_elapsed": 47.0}
    one = {f"{TENSOR}bf16_dst_fp32.max.pct_of_peak_sustained_elapsed": 91.0}

    assert counters.busiest(counters.facts(held)) == (fact, counters.facts(held)[fact])
    assert counters.busiest(counters.facts(one)) is None


def test_facts_of_a_launch():
    """Ratios, stalls and limits under short names."""
    held = {
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 4_194_304.0,
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 1_048_576.0,
        "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": 12.5,
        "launch__waves_per_multiprocessor": 1.04,
        "launch__shared_mem_per_block_dynamic": 1000.0,
        "launch__shared_mem_per_block_static": 24.0,
        "launch__shared_mem_per_block_driver": 1024.0,
    }
    facts = counters.facts(held)

    assert facts["sectors_per_request_load"].value == 4
    assert facts["stall_long_scoreboard"].value == 12.5
    assert facts["waves"].value == 1.04
    assert facts["shared_per_block"].value == 2048


@pytest.mark.parametrize("name", sorted({n for _, held, _, _ in BYTES for n in held}))
def test_what_is_read_is_kept(name):
    """An importer keeps every column that a chain reads."""
    assert counters.needed(name)
