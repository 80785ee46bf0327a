"""Reading a run: what is counted, timed, grouped, and how the whole adds up."""

import pyarrow as pa
import pytest

from roofline import runfile
from roofline.device import DRAM, L2, VECTOR_FP32
from roofline.errors import BadInput, NotFound
from roofline.program import read
from roofline.program.columns import union_ns
from roofline.runfile import Event, Run, Signature, Step, table
from tests.runs import RECORDER, Script, call, device, tensor

# 1000 x 1000 fp32 is 4 MB: a product of two reads 8 MB and writes 4 MB, 1.2 ms at 10 GB/s;
# its 2e9 flop take 20 ms at 100 GFLOP/s.
BIG = tensor(1000, 1000)
MM = call("aten::mm", BIG, BIG, out=BIG)
# 100 x 100 fp32 is 40 kB: 120 kB together fit the 1 MB L2 (100 GB/s: 1.2 us); 2e6 flop are 20 us.
SMALL = tensor(100, 100)
SMALL_MM = call("aten::mm", SMALL, SMALL, out=SMALL)
UNKNOWN = call("my::kernel", BIG, out=BIG)


def test_items_are_totals_over_calls():
    program = read(Script().add(MM, 25_000).add(MM, 27_000).end_step().run())
    (item,) = program.by("call")

    assert (item.name, item.shapes, item.calls) == (
        "aten::mm", "1000x1000 fp32, 1000x1000 fp32", 2,
    )  # fmt: skip
    assert item.measured_s == pytest.approx(52e-3)
    assert item.roof_s == pytest.approx(2 * 20e-3)
    assert item.serial_s == pytest.approx(2 * (20e-3 + 1.2e-3))
    assert item.lost_s == pytest.approx(12e-3)
    assert item.binding.demanded == VECTOR_FP32
    assert item.placement.ledger.demand() == {VECTOR_FP32: 4_000_000_000, DRAM: 24_000_000}
    assert item.overhead_s == pytest.approx(2e-6)
    assert (item.spread.n, item.spread.median) == (2, pytest.approx(26e-3))


def test_warm_bytes_of_a_small_call_stand_at_l2_and_cold_ones_at_dram():
    script = Script().add(SMALL_MM, 30).end_step()
    warm, cold = read(script.run()), read(script.run(cache="flushed"))

    assert warm.by("call")[0].placed_at == L2
    assert warm.by("call")[0].serial_s == pytest.approx(20e-6 + 1.2e-6)
    assert cold.by("call")[0].placed_at == DRAM
    assert cold.by("call")[0].serial_s == pytest.approx(20e-6 + 12e-6)


def test_warm_up_is_left_out_and_steps_are_averaged():
    script = Script().add(MM, 90_000).end_step(warmup=True)
    script.add(MM, 25_000).end_step().add(MM, 35_000).idle(10_000).end_step()
    program = read(script.run())
    (item,) = program.by("operator")

    assert (program.whole.steps, item.calls) == (2, 2)
    assert program.whole.step_s == pytest.approx((25e-3 + 45e-3) / 2)
    assert program.whole.busy_s == pytest.approx(30e-3)
    assert program.whole.gap_s == pytest.approx(5e-3)
    assert program.whole.roof_s == pytest.approx(20e-3)
    assert program.whole.lost_s == pytest.approx(15e-3)
    with pytest.raises(BadInput, match="no measured step: every step was dropped as warm-up"):
        read(Script().add(MM, 1).end_step(warmup=True).run())


def test_a_group_sums_its_parts_and_shows_the_looser_bound_too():
    """mm: 20 ms compute, 1.2 ms memory; add: 1e6 flop 10 us, 12 MB 1.2 ms.  Parts 21.2, sum 20.01."""
    add = call("aten::mm", BIG, tensor(1000, 1), out=tensor(1000, 1))
    script = Script().add(MM, 25_000, module="a").add(add, 2_000, module="b").end_step()
    program = read(script.run())
    (whole,) = program.by("phase")
    (one,) = program.by("operator")

    # second product: 2e6 flop = 20 us, 4.008 MB = 0.4008 ms
    assert whole.roof_s == one.roof_s == pytest.approx(20e-3 + 0.4008e-3)
    assert whole.placement.roof_s == pytest.approx(20.02e-3)
    assert program.whole.loose_roof_s == pytest.approx(20.02e-3)
    assert [item.name for item in program.by("module")] == ["a", "b"]
    assert (one.module, one.shapes) == ("several", "")


def test_unknown_work_is_named_and_lowers_coverage():
    """30 of 40 ms are accounted for."""
    program = read(Script().add(MM, 30_000).add(UNKNOWN, 10_000).end_step().run())
    unknown = next(i for i in program.by("call") if i.name == "my::kernel")

    assert program.whole.coverage == pytest.approx(0.75)
    assert (unknown.roof_s, unknown.lost_s, unknown.roof_fraction) == (None, None, None)
    assert not unknown.complete


def test_a_run_without_a_device_has_times_but_no_roof():
    run = Script().add(MM, 25_000).end_step().run()
    program = read(Run(recorder=run.recorder, device=None, signatures=run.signatures,
                       steps=run.steps, gaps=(), events=run.events))  # fmt: skip

    (item,) = program.by("call")
    assert (item.roof_s, item.measured_s) == (None, pytest.approx(25e-3))
    assert set(item.placement.no_ceiling) == {VECTOR_FP32, DRAM}
    assert program.whole.coverage == 1.0


def test_kernels_give_their_operator_its_time():
    """Two kernels of 3 and 4 ms under one operator that took 1 ms to launch; one is on its own."""
    signatures = (
        Signature(name="aten::mm", call=MM),
        Signature(name="gemm"),
        Signature(name="lost"),
    )
    at = {"step": 0, "stream": 7}
    events = table([
        Event(signature=0, kind="op", step=0, start_ns=0, duration_ns=1_000_000),
        Event(signature=1, kind="kernel", start_ns=500_000, duration_ns=3_000_000, parent=0, **at),
        Event(signature=1, kind="kernel", start_ns=3_000_000, duration_ns=4_000_000, parent=0, **at),
        Event(signature=2, kind="kernel", start_ns=9_000_000, duration_ns=1_000_000, **at),
    ])  # fmt: skip
    run = Run(recorder=RECORDER, device=device(), signatures=signatures, gaps=(), events=events,
              steps=(Step(start_ns=0, duration_ns=10_000_000),))  # fmt: skip
    program = read(run)
    times = {item.name: item.measured_s for item in program.by("call")}

    assert times == {"aten::mm": pytest.approx(7e-3), "lost": pytest.approx(1e-3)}
    # kernels cover 0.5..7.0 (overlap counted once) and 9..10 ms
    assert program.whole.busy_s == pytest.approx(7.5e-3)
    assert program.whole.coverage == pytest.approx(7 / 8)


def test_grouping_must_exist():
    with pytest.raises(NotFound, match="no grouping 'colour'; there is call, operator, kernel"):
        read(Script().add(MM, 1).end_step().run()).by("colour")


@pytest.mark.parametrize(
    ("intervals", "length"),
    [
        ([], 0),
        ([(0, 10), (10, 20)], 20),
        ([(5, 12), (0, 10), (20, 21)], 13),
        ([(0, 100), (10, 20), (30, 40)], 100),
        ([(50, 60), (0, 10), (5, 55), (58, 59), (2, 3)], 60),
    ],
)
def test_union(intervals, length):
    for size in (1, 2, 9):  # in parts, of which a later one may begin earlier
        starts, times = (
            pa.chunked_array([part[at : at + size] for at in range(0, len(part), size)], pa.int64())
            for part in ([s for s, _ in intervals], [e - s for s, e in intervals])
        )
        events = pa.table({"start_ns": starts, "duration_ns": times})
        assert union_ns(events, pa.chunked_array([[True] * len(intervals)], pa.bool_())) == length


def test_a_saved_run_reads_back_equal(tmp_path):
    script = Script().add(MM, 25_000, reads=(1, 1), writes=(2,), module="a.b", page_faults=3)
    run = script.add(UNKNOWN, 1).end_step().run(on=device())
    runfile.save(run, tmp_path / "x.roof")
    back = runfile.load(tmp_path / "x.roof")

    assert back.recorder == run.recorder
    assert back.device == run.device
    assert back.signatures == run.signatures
    assert back.rows() == run.rows()
    assert back.rows()[0]["reads"] == [1, 1]
    assert [p.name for p in tmp_path.iterdir()] == ["x.roof"]


def test_what_stands_for_itself_and_what_is_not_known():
    """An operator with a copy of 2 us; one with a kernel of unknown length; a graph's kernel of
    5 us, whose parent is its launch; 9 us of work on the host, which is no line.
    """
    signatures = tuple(Signature(name=n, call=MM if n == "aten::mm" else None)
                       for n in ("aten::mm", "kernel", "Memcpy", "cudaGraphLaunch", "host"))  # fmt: skip
    at = {"step": 0, "start_ns": 0}
    events = table([
        Event(signature=0, kind="op", duration_ns=1, **at),
        Event(signature=0, kind="op", duration_ns=1, module="late", **at),
        Event(signature=4, kind="range", duration_ns=9_000, **at),
        Event(signature=2, kind="memcpy", duration_ns=2_000, parent=0, **at),
        Event(signature=1, kind="kernel", duration_ns=None, parent=1, **at),
        Event(signature=1, kind="kernel", duration_ns=5_000, parent=6, **at),
        Event(signature=3, kind="launch", duration_ns=700, **at),
    ])  # fmt: skip
    run = Run(recorder=RECORDER, device=device(), signatures=signatures, gaps=(), events=events,
              steps=(Step(start_ns=0, duration_ns=10_000),))  # fmt: skip
    program = read(run)

    assert {(part.name, part.module): part.time_ns for part in program.parts} == {
        ("aten::mm", ""): 2_000, ("aten::mm", "late"): None, ("kernel", ""): 5_000,
    }  # fmt: skip
    assert program.whole.busy_s == pytest.approx(5e-6)
    assert program.whole.coverage == pytest.approx(2 / 7)


def test_bookkeeping_that_hides_behind_a_busy_device_does_not_shorten_the_step():
    """A kernel of 10 ms in a step of 10 ms wall, of which the host kept books for 4 ms."""
    events = table([
        Event(signature=0, kind="op", step=0, start_ns=0, duration_ns=1_000_000),
        Event(signature=1, kind="kernel", step=0, start_ns=0, duration_ns=10_000_000, parent=0),
    ])  # fmt: skip
    run = Run(
        recorder=RECORDER, device=device(), gaps=(), events=events,
        signatures=(Signature(name="aten::mm", call=MM), Signature(name="gemm")),
        steps=(Step(start_ns=0, duration_ns=10_000_000, bookkeeping_ns=4_000_000),),
    )  # fmt: skip
    whole = read(run).whole

    assert (whole.step_s, whole.busy_s, whole.gap_s) == (
        pytest.approx(10e-3),
        pytest.approx(10e-3),
        0.0,
    )


def test_what_is_given_nothing_is_told_by_what_it_makes():
    """Two lines of randn: which is which stands beside them."""
    one, two = (call("aten::randn", (n, n), out=tensor(n, n)) for n in (64, 128))
    items = read(Script().add(one, 10).add(two, 20).end_step().run()).by()
    assert {item.shapes for item in items} == {"64x64 fp32", "128x128 fp32"}


@pytest.mark.parametrize(("own_us", "others_us"), [(30, 60), (70, 60)])
def test_a_step_that_is_busy_throughout_has_no_gap_at_all(own_us, others_us):
    """Its own kernel and one from before fill it: times that no float adds exactly."""
    own_ns, others_ns = own_us * 1000, others_us * 1000
    events = table([
        Event(signature=0, kind="kernel", step=0, start_ns=0, duration_ns=own_ns),
        Event(signature=0, kind="kernel", step=-1, start_ns=own_ns, duration_ns=others_ns),
    ])  # fmt: skip
    run = Run(
        recorder=RECORDER, device=device(), gaps=(), events=events,
        signatures=(Signature(name="gemm"),),
        steps=(Step(start_ns=0, duration_ns=own_ns + others_ns),),
    )  # fmt: skip

    assert read(run).whole.gap_s == 0.0


def test_a_step_whose_books_took_all_of_it_is_as_long_as_what_ran():
    """Books for all of 10 ms: its kernel ran 3 ms of it, one from before another 2 ms, no gap."""
    events = table([
        Event(signature=0, kind="kernel", step=0, start_ns=0, duration_ns=3_000_000),
        Event(signature=0, kind="kernel", step=-1, start_ns=5_000_000, duration_ns=2_000_000),
    ])  # fmt: skip
    run = Run(
        recorder=RECORDER, device=device(), gaps=(), events=events,
        signatures=(Signature(name="gemm"),),
        steps=(Step(start_ns=0, duration_ns=10_000_000, bookkeeping_ns=10_000_001),),
    )  # fmt: skip
    whole = read(run).whole

    assert (whole.step_s, whole.busy_s) == pytest.approx((5e-3, 3e-3))
    assert (whole.others_s, whole.gap_s) == (pytest.approx(2e-3), 0.0)


def test_first_calls_on_a_cpu_are_neither_in_the_step_nor_beside_it():
    """10 ms of wall: 4 ms of first calls, set apart from its length, 5 ms of its own, 1 ms idle."""
    events = table([
        Event(signature=0, kind="op", step=0, start_ns=0, duration_ns=4_000_000),
        Event(signature=0, kind="op", step=1, start_ns=4_000_000, duration_ns=5_000_000),
    ])  # fmt: skip
    run = Run(
        recorder=RECORDER, device=device(), gaps=(), events=events,
        signatures=(Signature(name="aten::mm", call=MM),),
        steps=(Step(start_ns=0, duration_ns=4_000_000, warmup=True, name="first calls"),
               Step(start_ns=0, duration_ns=6_000_000)),
    )  # fmt: skip
    whole = read(run).whole

    assert (whole.step_s, whole.busy_s) == pytest.approx((6e-3, 5e-3))
    assert (whole.others_s, whole.gap_s) == (0.0, pytest.approx(1e-3))
