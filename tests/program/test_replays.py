"""Replays beside a timeline: counters in a state of their own, and times that they leave alone."""

from dataclasses import replace

import pytest

from roofline.device import DRAM, VECTOR_FP32, Ceiling, Device
from roofline.measurement import CacheState, ClockState
from roofline.program import read
from roofline.runfile import Event, Run, Signature, Step, table
from tests.roofs import STATED
from tests.runs import RECORDER, call, tensor

# 1 TB/s and 10 Tflop/s, these at 2 GHz
CARD = Device(
    id="card", name="Card", kind="gpu",
    ceilings=(
        Ceiling(resource=DRAM, rate=1e12, provenance=STATED),
        Ceiling(resource=VECTOR_FP32, rate=10e12, provenance=STATED, clock_hz=2e9),
    ),
)  # fmt: skip
X = tensor(1_000_000)
MUL = Signature(name="aten::mul", call=call("aten::mul", X, X, out=X))
SIGNATURES = (MUL, Signature(name="mul_kernel<float>"), Signature(name="split_kernel"))
PROFILER = replace(RECORDER, tool="Nsight Compute", cache=CacheState.FLUSHED, clock=ClockState.FREE)
FLOP = "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"


def launch(kernel, us, read_b=8e6, written_b=4e6, flop=1e6, number=0, clock=2e9, signature=1):
    """A replay of `us` microseconds that stands for the row `kernel`."""
    return Event(
        signature=signature, kind="replay", step=-1, start_ns=0, duration_ns=int(us * 1000),
        parent=kernel,
        counters={
            "ID": float(number), "dram__bytes_read.sum": read_b, "dram__bytes_write.sum": written_b,
            FLOP: flop, "sm__cycles_elapsed.avg.per_second": clock,
        },
    )  # fmt: skip


def timeline(*replays, kernels=((1, 20.0),), device=CARD, recorder=PROFILER, alone=False):
    """Two calls of mul, each with `kernels` (signature, us) behind it; then the replays."""
    events = [] if alone else [
        Event(signature=0, kind="op", step=0, start_ns=at * 100_000, duration_ns=5_000)
        for at in range(2)
    ]  # fmt: skip
    for at in range(2):
        for signature, us in kernels:
            parent = None if alone else at
            events.append(
                Event(signature=signature, kind="kernel", step=0, start_ns=at * 100_000,
                      duration_ns=int(us * 1000), parent=parent)
            )  # fmt: skip
    return Run(
        recorder=RECORDER, device=device, signatures=SIGNATURES,
        steps=(Step(start_ns=0, duration_ns=200_000),), gaps=(), events=table([*events, *replays]),
        replays=recorder if replays else None,
    )  # fmt: skip


def test_replays_change_no_time_no_bound_and_no_coverage():
    """12 MB by formula at 1 TB/s: 12 us of 20; the replay's 24 MB in 90 us are nowhere in it."""
    without = read(timeline())
    beside = read(timeline(launch(2, 90.0, read_b=20e6)))

    assert beside.whole == without.whole
    (item,) = beside.by("call")
    (plain,) = without.by("call")
    assert item == plain
    assert item.roof_fraction == pytest.approx(12 / 20)
    assert item.placement.work.achieved is None


def test_a_replay_is_placed_by_its_own_bytes_and_its_own_time():
    """24 MB in 30 us: 24 us at 1 TB/s, 80 % of the roof in its own state."""
    replay = read(timeline(launch(2, 30.0, read_b=20e6, number=7))).replays[0]

    assert replay.time_s == pytest.approx(30e-6)
    assert replay.roof_fraction == pytest.approx(0.8)
    assert replay.achieved.demand() == {DRAM: 24_000_000}
    assert replay.executed.demand() == {VECTOR_FP32: 1_000_000}
    assert replay.source() == "ncu, caches flushed, clocks free, launch 7"
    assert replay.refused == ""


def test_of_several_launches_the_one_of_median_duration_speaks():
    """90, 100 and 140 us, in any order."""
    three = [
        launch(2, 140.0, number=0, flop=3e6),
        launch(3, 90.0, number=1, flop=1e6),
        launch(2, 100.0, number=2, flop=2e6),
    ]
    (kernel,) = read(timeline(*three)).replays[0].kernels

    assert (kernel.launch, kernel.of, kernel.time_s) == (2, 3, pytest.approx(100e-6))
    assert read(timeline(*three)).replays[0].executed.flop == 2_000_000


def test_kernels_of_one_call_add_up_in_their_order():
    """Kernels 2 and 3 belong to the first call: 1 + 2 Mflop, 12 + 6 MB, 30 + 10 us."""
    both = (
        launch(3, 10.0, read_b=5e6, written_b=1e6, flop=2e6, number=1, signature=2),
        launch(2, 30.0, number=0),
    )
    replay = read(timeline(*both, kernels=((1, 20.0), (2, 8.0)))).replays[0]

    assert [kernel.name for kernel in replay.kernels] == ["mul_kernel<float>", "split_kernel"]
    assert (replay.executed.flop, replay.achieved.demand()[DRAM]) == (3_000_000, 18_000_000)
    assert replay.time_s == pytest.approx(40e-6)
    assert replay.roof_s == pytest.approx(18e-6)
    assert replay.main.name == "mul_kernel<float>"


def test_a_kernel_without_counters_is_named_not_zero():
    replay = read(timeline(launch(2, 30.0), kernels=((1, 20.0), (2, 8.0)))).replays[0]

    assert replay.missing == ("split_kernel",)
    assert "split_kernel: not counted" in replay.executed.unaccounted
    assert "split_kernel: not counted" in replay.achieved.unaccounted


def test_ceilings_are_taken_at_the_clock_of_the_replay():
    """1 Gflop in 200 us at 1 GHz: 5 Tflop/s is the ceiling there, so all of it is reached."""
    replay = read(timeline(launch(2, 200.0, flop=1e9, clock=1e9))).replays[0]
    fast = read(timeline(launch(2, 200.0, flop=1e9))).replays[0]

    assert replay.roof_fraction == pytest.approx(1.0)
    assert replay.kernels[0].clock_hz == 1e9
    assert fast.roof_fraction == pytest.approx(0.5)


def test_the_clock_of_memory_is_its_own():
    """20 MB at 1 TB/s take 20 us at any clock of the SMs."""
    replay = read(timeline(launch(2, 40.0, read_b=16e6, clock=1e9))).replays[0]
    assert replay.roof_fraction == pytest.approx(0.5)


def test_base_clocks_under_ceilings_of_an_unknown_clock_are_refused_with_the_way_out():
    sheet = replace(CARD, ceilings=tuple(replace(c, clock_hz=None) for c in CARD.ceilings))
    locked = replace(PROFILER, clock=ClockState.BASE)
    replay = read(timeline(launch(2, 30.0), device=sheet, recorder=locked)).replays[0]
    free = read(timeline(launch(2, 30.0), device=sheet)).replays[0]

    assert (replay.roof_s, replay.roof_fraction) == (None, None)
    assert "--clock-control none" in replay.refused
    assert replay.executed.flop == 1_000_000  # counts do not go with the clock
    assert free.roof_fraction == pytest.approx(12 / 30)


def test_a_kernel_that_no_operator_caused_stands_for_itself():
    """Its replay is its own, and its warm time stays without a ledger."""
    program = read(timeline(launch(0, 30.0), alone=True))

    assert set(program.replays) == {1}
    assert program.whole.coverage == 0.0


def test_the_kernel_that_takes_most_of_a_calls_time_says_how_it_was_launched():
    """20 of 28 us are the first kernel's."""
    run = timeline(kernels=((2, 8.0), (1, 20.0)))
    rows = [Event(**row | {"counters": {"grid": row["duration_ns"] / 1000}}) for row in run.rows()]
    main = read(replace(run, events=table(rows))).main_kernels[0]

    assert main.name == "mul_kernel<float>"
    assert main.share == pytest.approx(20 / 28)
    assert main.facts["grid_size"].value == 20.0


def test_what_started_nothing_has_no_kernel():
    run = timeline(kernels=())
    assert read(run).main_kernels == {}
