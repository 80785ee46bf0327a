"""Findings from counters: each has one launch that must fire and a near miss that must not."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from roofline import devices
from roofline.device import DRAM, SHARED, TENSOR_TF32, VECTOR_FP32, Ceiling, Device, Fact
from roofline.diagnosis import diagnose
from roofline.diagnosis.kernels.launch_facts import waves_of
from roofline.program import read
from roofline.report.names import line_names
from roofline.runfile import Event, Run, Signature, Step, table
from tests.roofs import STATED
from tests.runs import RECORDER

CARD = Device(
    id="card", name="Card", kind="gpu",
    ceilings=tuple(
        Ceiling(resource=r, rate=rate, provenance=STATED)
        for r, rate in ((DRAM, 1e12), (SHARED, 10e12), (VECTOR_FP32, 10e12), (TENSOR_TF32, 80e12))
    ),
)  # fmt: skip
# A launch of 1 ms that moves 500 MB over DRAM: half of its roof of 1 TB/s.
PLAIN = {
    "dram__bytes_read.sum": 400e6,
    "dram__bytes_write.sum": 100e6,
    "launch__grid_size": 1320.0,
    "launch__waves_per_multiprocessor": 10.0,
    "launch__sm_count": 132.0,
    "launch__registers_per_thread": 32.0,
    "launch__occupancy_limit_registers": 16.0,
    "launch__occupancy_limit_shared_mem": 16.0,
    "launch__occupancy_limit_warps": 8.0,
    "sm__warps_active.avg.pct_of_peak_sustained_active": 90.0,
    "sm__maximum_warps_per_active_cycle_pct": 100.0,
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": 32.0,
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio": 32.0,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 4000.0,
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 1000.0,
    "derived__local_spilling_requests": 0.0,
}


def found(changes, us=1000.0, names=("kernel<float>",), on=CARD, plain=PLAIN):
    events = [
        Event(signature=at, kind="kernel", step=0, start_ns=at * int(us * 1000),
              duration_ns=int(us * 1000), counters=plain | changes)
        for at, _ in enumerate(names)
    ]  # fmt: skip
    run = Run(
        recorder=RECORDER, device=on, signatures=tuple(Signature(name=name) for name in names),
        steps=(Step(start_ns=0, duration_ns=int(us * 1000) * len(names)),), gaps=(),
        events=table(events),
    )  # fmt: skip
    return {f.code: f for f in diagnose(read(run)) if f.code.startswith("RF4")}


def test_a_plain_launch_has_none_of_them():
    assert found({}) == {}


# 4 sectors of 32 B a request, loads and stores: 4 B a thread
NARROW = {
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 4000.0,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 4000.0,
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 1000.0,
}
FIRES = [
    # code, counters that make it fire, counters that nearly do
    ("RF401",
     {"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": 4.0,
      "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 32000.0},
     {"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": 25.0}),
    ("RF402",
     {"launch__waves_per_multiprocessor": 0.5}, {"launch__waves_per_multiprocessor": 0.97}),
    ("RF403",
     {"launch__waves_per_multiprocessor": 1.04},  # 300 blocks of 288 a wave: 52 %
     {"launch__waves_per_multiprocessor": 1.7}),  # 85 %
    ("RF404",
     {"sm__warps_active.avg.pct_of_peak_sustained_active": 20.0,
      "sm__maximum_warps_per_active_cycle_pct": 25.0, "launch__occupancy_limit_registers": 2.0},
     {"sm__warps_active.avg.pct_of_peak_sustained_active": 55.0}),
    ("RF405",
     {"derived__local_spilling_requests": 1e6},  # 128 MB
     {"derived__local_spilling_requests": 81028.0, "lts__t_bytes.sum": 378e6}),  # 10 of 378 MB
    ("RF407",
     {"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active": 90.0,
      "launch__shared_mem_per_block": 49152.0},
     {"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active": 90.0,
      "launch__shared_mem_per_block": 1024.0}),
    ("RF408",
     {"sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active": 90.0},
     {"sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active": 40.0}),
    ("RF412",
     {"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed": 90.0,
      "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": 2e9,
      "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum": 2e9,
      "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 1e8},  # 0.2 of 4.2 Gflop
     {"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed": 90.0,
      "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": 2e9,
      "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum": 1e9,
      "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 1e9}),  # 2 of 5 Gflop
    ("RF413",
     {"lts__t_sectors.max": 3e6, "lts__t_sectors.avg": 1e6},
     {"lts__t_sectors.max": 1.2e6, "lts__t_sectors.avg": 1e6}),
    ("RF409", NARROW, NARROW | {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 16000.0}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "sick", "near_miss"), FIRES, ids=[row[0] for row in FIRES])
def test_it_fires_and_the_near_miss_does_not(code, sick, near_miss):
    assert list(found(sick)) == [code]
    assert found(near_miss) == {}


def test_a_tail_costs_what_the_empty_slots_cost():
    """1.04 of 2 waves: 52 % of the slots work, so at most 48 % of 1 ms is to win."""
    finding = found({"launch__waves_per_multiprocessor": 1.04})["RF403"]

    assert "52% of the slots work" in finding.claim
    assert finding.saves_s == pytest.approx(0.48e-3)


def test_stride_costs_what_the_unused_bytes_cost():
    """4 of 32 B of the 400 MB read are used, all of the 100 MB written: 150 MB at 1 TB/s."""
    finding = found(FIRES[0][1])["RF401"]

    assert "uses 4 of every 32 B" in finding.claim
    assert finding.then_s == (pytest.approx(0.15e-3), pytest.approx(1e-3))


def test_what_is_not_fused_could_take_half():
    """4.0 G adds and multiplies and 0.1 G fused: 4.1 G instructions, of which 2.1 G would be left."""
    sick = {row[0]: row[1] for row in FIRES}["RF412"]
    finding = found(sick)["RF412"]

    assert "5% of its flop are in one" in finding.claim
    assert finding.saves_s == pytest.approx((1 - 2.1 / 4.1) * 1e-3)


def test_a_pipe_that_multiplies_integers_lacks_no_fused_ones():
    """0.4 G adds take 80 us of the 1 ms in which the pipe is 90 % busy: with something else."""
    few = {row[0]: row[1] for row in FIRES}["RF412"] | {
        "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": 2e8,
        "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum": 2e8,
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 0.0,
    }
    assert "RF412" not in found(few)


def test_a_camped_slice_could_be_as_fast_as_all_of_them_up_to_the_roof():
    """1.6 of 1 ms; at 3.0 times the mean the 500 MB at 1 TB/s are left, 0.5 ms."""
    some, most = (
        found({"lts__t_sectors.max": load * 1e6, "lts__t_sectors.avg": 1e6})["RF413"]
        for load in (1.6, 3.0)
    )

    assert "its fullest l2 slice moves 3.0 times the mean" in most.claim
    assert some.then_s == (pytest.approx(1e-3 / 1.6), pytest.approx(1e-3))
    assert most.then_s == (pytest.approx(0.5e-3), pytest.approx(1e-3))


def test_a_few_bytes_camp_nowhere():
    """9 times the mean of 400 MB at 1 TB/s is more than 0.3 of 1 ms; of 20 MB it is 0.18."""
    camped = {"dram__bytes.max": 9e6, "dram__bytes.avg": 1e6, "dram__bytes_write.sum": 0.0}

    assert "RF413" in found(camped)
    assert "RF413" not in found(camped | {"dram__bytes_read.sum": 20e6})


def test_one_value_for_a_warp_is_no_stride():
    """bf16 beside a value of its row: 2 sectors of 32 B and 1 of 2 B, 22 B of each; 1.5 a request.

    Of two such values and nothing else used, 1.5 sectors a request of 8 B are more than one wasted.
    """

    def loads(used, sectors):
        return found({
            "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": used,
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 1000.0 * sectors,
        } | {name: value for name, value in NARROW.items() if "op_st" in name})  # fmt: skip

    row = loads(22.0, 1.5)
    assert "RF401" not in row
    assert "RF409" in row  # few bytes a request are what is wrong with it
    assert "RF401" in loads(8.0, 1.5)


def test_conversions_are_told_from_special_functions():
    """24 of 32 threads of each instruction of that unit convert."""
    converts = {
        "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active": 90.0,
        "sm__inst_executed_pipe_xu.sum": 1e6,
        "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum": 24e6,
    }
    sick = found(converts)["RF408"]
    assert "is bound by conversions between types" in sick.claim
    assert sick.evidence[0] == "75% of that unit's work at most converts between types"
    other = found(converts | {"smsp__sass_thread_inst_executed_op_conversion_pred_on.sum": 1e6})
    assert "is bound by special functions" in other["RF408"].claim


def test_what_was_not_collected_is_left_out_and_no_zero():
    unknown = ("launch__grid_size", "launch__registers_per_thread")
    gone = {name: value for name, value in PLAIN.items() if name not in unknown}
    tail = found({"launch__waves_per_multiprocessor": 1.04}, plain=gone)["RF403"]
    spilt = found({"derived__local_spilling_requests": 1e6}, plain=gone)["RF405"]
    special = found({"sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active": 90.0})["RF408"]
    full = found({}, us=550.0)["RF414"]

    assert tail.evidence[0] == "2 waves"
    assert spilt.evidence == ()
    assert special.evidence == ("50% of its dram roof",)
    assert "pipe" not in full.claim
    assert full.evidence[-1] == "how busy its pipes were was not collected"


@pytest.mark.parametrize(
    ("shared_kib", "resident"),
    # An SM of an H200 has 228 KiB and keeps 1 KiB of each block: 3 x 76 would fit, 3 x 77 do not.
    [(76, 2), (75, 3), (1, 8)],
)
def test_shared_memory_that_the_system_keeps_counts(shared_kib, resident):
    """Blocks of 256 threads: 8 fit by their warps."""
    facts = {"blocks_per_sm": 6.0, "block_size": 256.0, "shared_per_block": shared_kib * 1024.0}
    h200 = SimpleNamespace(device=devices.find("h200-sxm"))

    assert waves_of(facts.get, h200) == pytest.approx(6 / resident)


@pytest.mark.parametrize(
    ("limits", "said"),
    [  # 1 block on 132 SMs that hold 8 of it: 1 / 1056
        ({"launch__occupancy_limit_blocks": 32.0}, "0.0009 of one wave"),
        ({}, "less than 0.01 of one wave"),  # one of four limits is not told
    ],
)
def test_a_count_of_no_waves_is_one_of_few(limits, said):
    """The profiler prints two digits after the point."""
    few = {"launch__waves_per_multiprocessor": 0.0, "launch__grid_size": 1.0}
    assert f"starts 1 block, {said}" in found(few | limits)["RF402"].claim


def test_a_block_without_threads_has_no_waves():
    """A launch configuration that a damaged file gives."""
    facts = {"grid_size": 6.0, "block_size": 0.0, "registers_per_thread": 32.0}
    h200 = SimpleNamespace(device=devices.find("h200-sxm"))

    assert waves_of(facts.get, h200) is None


def test_the_limiter_is_named():
    finding = found(FIRES[3][1])["RF404"]

    assert "limited by registers" in finding.claim
    assert "registers allow 2 blocks an SM" in finding.evidence


def test_on_its_roof_nothing_else_limits_it():
    """500 MB in 0.55 ms: 91 % of 1 TB/s."""
    assert set(found({"launch__waves_per_multiprocessor": 1.04}, us=550.0)) == {"RF414"}


def test_memory_is_full_and_the_pipes_have_little_to_do():
    """500 MB in 0.55 ms are 909 GB/s; in 0.65 ms 769 GB/s, 77 %; with a busy pipe it is not alone."""
    fma = "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed"
    full = found({fma: 5.0}, us=550.0)["RF414"]

    assert "kernel fills device memory, 91% of its roof, and keeps no pipe busy" in full.claim
    assert full.evidence == (
        "500 MB a launch over dram, 909 GB/s of 1.00 TB/s (stated)",
        "fma pipe at 5 % of its peak",
    )
    assert full.saves_s == 0.0
    assert "RF414" not in found({fma: 5.0}, us=650.0)
    assert "RF414" not in found({fma: 65.0}, us=550.0)


def test_a_request_that_carries_little_is_named_with_what_is_possible():
    """At 50 % of its roof, 4 sectors of 32 B a request; 16 B a thread are 512 B, 16 sectors."""
    finding = found(NARROW)["RF409"]

    assert "reaches 50% of its dram roof: too few bytes in flight" in finding.claim
    assert finding.evidence[0].startswith("4.0 sectors of 32 B a load, 4.0 a store; 16")
    assert finding.saves_s == pytest.approx(0.5e-3)


def test_bytes_in_flight_by_littles_law():
    """57.6 warps on each of 132 SMs, one request of 128 B each: 0.973 MB under way at 500 GB/s.

    That is 1.95 us a request; 1 TB/s need twice as much under way.
    """
    facts = (("warps_per_sm_max", 64), ("sm_count", 132))
    card = replace(
        CARD, facts=tuple(Fact(name=n, value=v, unit="", provenance=STATED) for n, v in facts)
    )
    line = found(NARROW, on=card)["RF409"].evidence[2]

    assert line == (
        "one request of each warp is 973 kB in flight: at 500 GB/s each takes 1.95 us, and "
        "1.00 TB/s need 1.95 MB"
    )


def test_bank_conflicts():
    """2 GB moved by shared memory of which 0.25 GB are useful: 12 %."""
    sick = {
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": 1e7,
        "sm__sass_data_bytes_mem_shared.sum": 0.25e9,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 2e9 / 128,
    }
    assert "uses 12% of what shared memory moves" in found(sick)["RF406"].claim
    assert found(sick | {"sm__sass_data_bytes_mem_shared.sum": 1.9e9}) == {}


def test_one_cause_is_one_finding():
    finding = found({"launch__waves_per_multiprocessor": 0.5}, names=("a<int>", "b<int>", "c<int>"))

    assert finding["RF402"].claim.endswith("2 more kernels likewise")
    assert set(finding["RF402"].items) == {"a<int>", "b<int>", "c<int>"}
    # each could be at its roof of 0.5 ms at best
    assert finding["RF402"].saves_s == pytest.approx(1.5e-3)


def own_view(*seen: dict[str, float]):
    """RF410 of kernels of which only percentages were collected."""
    events = table([
        Event(signature=at, kind="kernel", step=0, start_ns=at * 1_000_000, duration_ns=1_000_000,
              counters=counters)
        for at, counters in enumerate(seen)
    ])  # fmt: skip
    names = ("gemm<half>", "add<half>")[: len(seen)]
    run = Run(
        recorder=RECORDER, device=CARD, signatures=tuple(Signature(name=name) for name in names),
        steps=(Step(start_ns=0, duration_ns=1_000_000 * len(seen)),), gaps=(), events=events,
    )  # fmt: skip
    return [f for f in diagnose(read(run)) if f.code == "RF410"]


def test_the_profilers_own_view_where_nothing_could_be_counted():
    """SMs 47 %, DRAM 12 %, the tensor path 96 %: compute-bound at 96 %."""
    (finding,) = own_view({
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": 47.0,
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 12.0,
        "sm__ops_path_tensor_src_fp16_dst_fp32.avg.pct_of_peak_sustained_elapsed": 96.0,
    })  # fmt: skip

    assert "compute-bound by the profiler's own view" in finding.claim
    assert "at 96 % of its peak" in finding.claim
    assert "sm throughput 47 %" in finding.evidence


def test_memory_and_compute_are_two_findings():
    sm, dram = (f"{name}.avg.pct_of_peak_sustained_elapsed"
                for name in ("sm__throughput", "gpu__dram_throughput"))  # fmt: skip
    found = own_view({sm: 90.0, dram: 12.0}, {sm: 6.0, dram: 87.0})

    claims = {f.claim.split(" by the")[0] for f in found}
    assert claims == {"gemm is compute-bound", "add is memory-bound"}


@pytest.mark.parametrize(("value", "said"), [(90.0, 1), (102.0, 1), (175.0, 0)])
def test_the_profilers_own_view_of_one_part_alone(value, said):
    """102 % may be; 175 % of a peak cannot, and is no ground to conclude anything from."""
    found = own_view({"dram__throughput.avg.pct_of_peak_sustained_elapsed": value})

    assert len(found) == said
    assert all(f.evidence and all(f.evidence) for f in found)
    assert all(("above 100 %" in f.evidence) is (value > 100) for f in found)


def test_instantiations_of_one_template_are_told_apart():
    """Two of one template in the claim and among the likes of it, and two lines of the table."""
    names = (
        "void at::kernel<4, at::Add<float> >(int)", "void at::kernel<4, at::Mul<float> >(int)",
        "void at::kernel<8, at::Mul<float> >(int)",
    )  # fmt: skip
    finding = found({"launch__grid_size": 12.0, "launch__waves_per_multiprocessor": 0.1}, 1000,
                    names)["RF402"]  # fmt: skip

    assert finding.claim.startswith("kernel<4, Add> starts 12 blocks")
    assert finding.evidence[-1] == "likewise: kernel<4, Mul>, kernel<8, Mul>"


@pytest.mark.parametrize("width", [12, 26, 60])
def test_no_two_names_of_a_table_are_alike(width):
    """Different names, cut to the columns of a table; equal ones stay equal."""
    alike = ["nvjet_256x128_64x4_coopA_bias_TNT", "nvjet_256x128_64x4_coopA_NNT", "aten::mul"]
    kernels = [f"void at::vectorized_elementwise_kernel<4, at::F{n}<float> >(int)" for n in "abc"]
    lines = [{"name": name, "kind": "kernel"} for name in (*alike[:2], *kernels)]
    lines += [{"name": "aten::mul", "kind": "op"}] * 2
    shown = line_names(lines, width)

    assert len({*shown}) == 6
    assert shown[-2:] == ["mul", "mul"]
    assert max(map(len, shown)) <= width
