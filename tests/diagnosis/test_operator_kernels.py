"""Rules about kernels, for the operators that caused them: by their launch, and by their replays."""

from dataclasses import replace

import pytest

from roofline.device import DRAM, SHARED, VECTOR_FP32, Ceiling, Device, Fact
from roofline.diagnosis import diagnose
from roofline.importers import load
from roofline.measurement import CacheState, ClockState
from roofline.program import read
from roofline.report.document import of_run
from roofline.runfile import Event, Run, Signature, Step, table
from tests.importers.kineto.traces import Trace
from tests.roofs import STATED
from tests.runs import RECORDER, call, tensor

CARD = Device(
    id="card", name="Card", kind="gpu",
    ceilings=tuple(
        Ceiling(resource=r, rate=rate, provenance=STATED)
        for r, rate in ((DRAM, 1e12), (SHARED, 10e12), (VECTOR_FP32, 10e12))
    ),
    facts=(Fact(name="sm_count", value=132, unit="", provenance=STATED),),
)  # fmt: skip
# A launch that fills the chip, has warps enough and keeps nothing busy.
IDLE = {
    "launch__grid_size": 1320.0,
    "launch__waves_per_multiprocessor": 10.0,
    "sm__warps_active.avg.pct_of_peak_sustained_active": 90.0,
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": 30.0,
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": 38.0,
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio": 6.0,
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": 3.0,
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio": 1.0,
    "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio": 1.0,
    "smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio": 20.0,
}


def joined(changes, kernels=(("sum_kernel<float>", 1000.0),), replayed=0):
    """A sum of 400 MB, 0.4 ms at 1 TB/s, by `kernels` (name, us); one of them replayed as IDLE."""
    x = tensor(100_000_000)
    operator = Signature(name="aten::sum", call=call("aten::sum", x, out=tensor()))
    events = [Event(signature=0, kind="op", step=0, start_ns=0, duration_ns=10_000)]
    now = 0
    for at, (_, us) in enumerate(kernels):
        events.append(
            Event(signature=1 + at, kind="kernel", step=0, start_ns=now, parent=0,
                  duration_ns=int(us * 1000))
        )  # fmt: skip
        now += int(us * 1000)
    events.append(
        Event(signature=1 + replayed, kind="replay", step=-1, start_ns=0, parent=1 + replayed,
              duration_ns=1_100_000, counters={"ID": 3.0} | IDLE | changes)
    )  # fmt: skip
    return Run(
        recorder=RECORDER, device=CARD,
        signatures=(operator, *(Signature(name=name) for name, _ in kernels)),
        steps=(Step(start_ns=0, duration_ns=now),), gaps=(), events=table(events),
        replays=replace(RECORDER, cache=CacheState.FLUSHED, clock=ClockState.FREE),
    )  # fmt: skip


def found(run):
    return {f.code: f for f in diagnose(read(run)) if f.code.startswith("RF4")}


def test_warps_enough_and_nothing_busy_names_the_wait():
    """Barrier 6 of 10 of what is waiting; that warps were ready or issued is none."""
    finding = found(joined({}))["RF411"]

    assert finding.item == "aten::sum"
    assert "they wait for the other warps of the block at a barrier" in finding.claim
    assert finding.evidence[0].startswith(
        "90 % of the warps an SM can hold; the busiest part, dram"
    )
    assert finding.evidence[1].startswith("60% of the waiting is barrier")
    assert "fewer __syncthreads" in finding.next_step
    # the time is the program's own: 1 ms, of which 0.4 ms are needed
    assert finding.now_s == pytest.approx(1e-3)
    assert finding.saves_s == pytest.approx(0.6e-3, rel=1e-3)


NEAR_MISSES = {
    "a part is busy": {"sm__throughput.avg.pct_of_peak_sustained_elapsed": 65.0},
    "too few warps": {"sm__warps_active.avg.pct_of_peak_sustained_active": 45.0},
    "the schedulers issue all the time": {
        "smsp__issue_active.avg.pct_of_peak_sustained_active": 80.0
    },
    "less than a wave": {"launch__waves_per_multiprocessor": 0.5},
    "memory was not looked at": {"dram__throughput.avg.pct_of_peak_sustained_elapsed": -1.0},
}  # fmt: skip


@pytest.mark.parametrize("changes", NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_near_misses(changes):
    assert "RF411" not in found(joined(changes))


def test_on_its_roof_it_waits_for_that():
    """400 MB in 0.45 ms are 89 % of the roof."""
    assert found(joined({}, kernels=(("sum_kernel<float>", 450.0),))) == {}


def test_without_reasons_the_way_to_them_is_said():
    stalls = {name: -1.0 for name in IDLE if "stalled" in name}
    finding = found(joined(stalls))["RF411"]

    assert "roofline ncu --levels" in finding.next_step
    assert "why its warps wait was not collected" in finding.evidence


def test_counters_of_another_state_are_labelled():
    finding = found(joined({}))["RF411"]

    assert "by its kernel sum_kernel, 100% of its time" in finding.evidence
    assert finding.evidence[-1] == (
        "its counters: ncu, caches flushed, clocks free, launch 3; another state than the time here"
    )


def test_a_kernel_of_little_of_the_time_does_not_speak_for_the_call():
    """Half of the time each to two kernels and the replay is of the smaller: nothing is said of it."""
    kernels = (("sum_kernel<float>", 600.0), ("last_kernel", 400.0))
    assert found(joined({}, kernels, replayed=1)) == {}
    assert "RF411" in found(joined({}, kernels, replayed=0))


def test_bytes_of_shared_memory_are_those_of_the_replay():
    """2 GB moved, 0.25 GB useful: 12 %."""
    sick = {
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": 1e7,
        "sm__sass_data_bytes_mem_shared.sum": 0.25e9,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 2e9 / 128,
    }
    assert "uses 12% of what shared memory moves" in found(joined(sick))["RF406"].claim
    cured = sick | {"sm__sass_data_bytes_mem_shared.sum": 1.9e9}
    assert "RF406" not in found(joined(cured))


SMALL = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn"


def small_product(tmp_path, grid, apart_us=6.0, recorded=None):
    """addmm of 141x512 by 512x512 in fp16 on an H100, as a trace holds it; three calls of it.

    `recorded` is what the trace says of the launch beside grid and block.
    """
    trace = Trace(deviceProperties=[{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}])
    blocks = grid[0] * grid[1]
    if recorded is None:
        recorded = {
            "registers per thread": 122, "shared memory": 81920, "blocks per SM": blocks / 132,
            "warps per SM": blocks * 8 / 132, "est. achieved occupancy %": 2,
        }  # fmt: skip
    for at in (0.0, apart_us, 2 * apart_us):
        trace.op(
            "aten::addmm", at, 5.0,
            ((512,), "fp16"), ((141, 512), "fp16"), ((512, 512), "fp16"), "1", "1",
        )  # fmt: skip
        trace.kernel(
            SMALL, at + 4.0, 5.824, launch=at + 2.0, grid=[*grid, 1], block=[256, 1, 1],
            **recorded,
        )  # fmt: skip
    return load([trace.write(tmp_path / "trace.json")])


def test_eight_tiles_on_132_sms(tmp_path):
    """141 x 512 results are 2 x 4 tiles of 128x128; 2 x 141 x 512 x 512 = 73,924,608 flop.

    Two blocks of 256 threads with 122 registers fit an SM, so that a wave is 264: 8 are 0.03 of it.
    In 5.824 us 12.7 Tflop/s of 989: 1.3 %.  The bias is 141 x 512 = 72,192 more, on its own line.
    """
    program = read(small_product(tmp_path, (4, 2)))
    (item,) = program.by("call")
    (finding,) = (f for f in diagnose(program) if f.code == "RF402")
    lines = [(e.resource.name, e.amount // item.calls) for e in item.ledger.entries]

    assert -(-141 // 128) * -(-512 // 128) == 8
    assert ("tensor-fp16", 73_924_608) in lines
    assert 72_192 in [amount for name, amount in lines if name.startswith("vector")]
    (pipe,) = (b for b in item.placement.bounds if b.demanded.name == "tensor-fp16")
    assert pipe.least_s / item.measured_s == pytest.approx(0.0128, abs=0.0001)
    assert "addmm starts 8 blocks, 0.03 of one wave: part of the chip is idle" in finding.claim
    assert "8 blocks of 128x128 results on 132 SMs" in finding.evidence
    # 8 x 8 warps of 132 x 64
    assert "64 warps, 1% of those that the chip can hold" in finding.evidence
    assert f"by its kernel {SMALL[:57]}" in " ".join(finding.evidence)


@pytest.mark.parametrize(
    ("recorded", "few"),
    [
        ({}, "less than one an SM"),
        # 8 / 132 a SM, of which two fit
        ({"registers per thread": 122, "shared memory": 81920}, "0.03 of one wave"),
    ],
)
def test_few_tiles_where_the_trace_says_less_of_the_launch(tmp_path, recorded, few):
    """Eight blocks on 132 SMs, however many of them one SM could hold."""
    findings = {
        f.code: f for f in diagnose(read(small_product(tmp_path, (4, 2), recorded=recorded)))
    }
    (tmp_path / "more").mkdir()
    many = small_product(tmp_path / "more", (4, 33), recorded={})  # a block an SM: not few for sure

    assert f"addmm starts 8 blocks, {few}: part of the chip is idle" in findings["RF402"].claim
    assert "8 blocks of 128x128 results on 132 SMs" in findings["RF402"].evidence
    assert "RF201" not in findings  # which says that nothing explains it
    assert "RF402" not in {f.code for f in diagnose(read(many))}


def test_the_operator_carries_the_launch(tmp_path):
    (item,) = of_run(small_product(tmp_path, (4, 2)))["items"]
    facts = {name: fact["value"] for name, fact in item["facts"].items()}

    assert item["main_kernel"] == {"name": SMALL, "share": 1.0}
    assert facts == {
        "grid_size": 8.0, "block_size": 256.0, "registers_per_thread": 122.0,
        "shared_per_block": 81920.0, "blocks_per_sm": pytest.approx(8 / 132),
        "occupancy_estimated": 2.0,
    }  # fmt: skip


def test_its_launches_bind_it_as_well(tmp_path):
    """Three of them 20 us apart: 5.8 us of every 20 the device works."""
    findings = {f.code: f for f in diagnose(read(small_product(tmp_path, (4, 2), apart_us=20.0)))}

    assert "goes into 3 starts" in findings["RF301"].claim


def test_as_many_tiles_as_sms_are_not_few(tmp_path):
    """132 blocks are half a wave of two an SM, and every SM feeds its tensor cores."""
    codes = {f.code for f in diagnose(read(small_product(tmp_path, (33, 4))))}
    assert "RF402" not in codes


def test_what_should_not_run_needs_no_better_launch():
    """A copy that is advised away is not advised on as a kernel."""
    x = tensor(1_000_000)
    copy = Signature(name="aten::clone", call=call("aten::clone", x, out=x))
    facts = {"grid": 8.0, "block": 128.0, "blocks per SM": 8 / 132}
    events = [
        Event(signature=0, kind="op", step=0, start_ns=0, duration_ns=1000),
        Event(signature=1, kind="kernel", step=0, start_ns=0, parent=0, duration_ns=100_000,
              counters={"launch__waves_per_multiprocessor": 0.1, **facts}),
    ]  # fmt: skip
    run = Run(
        recorder=RECORDER, device=CARD, signatures=(copy, Signature(name="copy_kernel")),
        steps=(Step(start_ns=0, duration_ns=100_000),), gaps=(), events=table(events),
    )  # fmt: skip
    codes = {f.code for f in diagnose(read(run))}

    assert "RF105" in codes
    assert "RF402" not in codes
