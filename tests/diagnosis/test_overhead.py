"""Overhead of a device: starting kernels, waiting for them, and copies over the link."""

from dataclasses import replace

import pytest

from roofline.device import DRAM, LAUNCH, PCIE, Ceiling, Device, Variant
from roofline.diagnosis import diagnose
from roofline.diagnosis.timeline import timeline
from roofline.program import read
from roofline.runfile import Event, Gap, Run, Signature, Step, table
from roofline.work import Entry, algorithmic
from tests.roofs import STATED
from tests.runs import RECORDER, Script, tensor
from tests.runs import call as operator

BACK_TO_BACK, FROM_GRAPH = 200e3, 2e6  # 5 us and 0.5 us to start a kernel
CARD = Device(
    id="card", name="Card", kind="gpu",
    ceilings=tuple(
        Ceiling(resource=r, rate=rate, provenance=STATED, variant=Variant(way=way))
        for r, rate, way in (
            (DRAM, 1e12, None), (LAUNCH, BACK_TO_BACK, "back to back"),
            (LAUNCH, FROM_GRAPH, "from a graph"), (LAUNCH, 100e3, "launch and wait"),
            (PCIE, 50e9, "h2d, pinned"),
        )
    ),
)  # fmt: skip
RELU = operator("aten::relu", tensor(1000, 1000), out=tensor(1000, 1000))  # 8 MB: 8 us


class Stream:
    """Operators, what they start, and the driver's calls, on one clock [us]."""

    def __init__(self):
        self.signatures, self.events = [], []

    def add(self, name, kind, at, us, parent=None, **made):
        """Returns the row, for what it causes."""
        signature = Signature(name=name, **made)
        if signature not in self.signatures:
            self.signatures.append(signature)
        self.events.append(
            Event(
                signature=self.signatures.index(signature), kind=kind, step=0,
                start_ns=round(at * 1000), duration_ns=round(us * 1000), parent=parent,
            )
        )  # fmt: skip
        return len(self.events) - 1

    def kernels(self, count, us, every, graph=False):
        """`count` operators with one kernel of `us` each, one `every` us."""
        for at in range(count):
            by = self.add("aten::relu", "op", at * every, 1, call=RELU)
            if graph:
                by = self.add("cudaGraphLaunch", "launch", at * every, 1)
            self.add("relu_kernel", "kernel", at * every, us, by)
        return self

    def findings(self, step_us=None, on=CARD, by=RECORDER, gaps=(), waited_us=0):
        """By code."""
        length = round((step_us or 0) * 1000)
        run = Run(
            recorder=by, device=on, signatures=tuple(self.signatures), gaps=gaps,
            steps=(Step(start_ns=0, duration_ns=length, waited_ns=waited_us * 1000),),
            events=table(self.events),
        )  # fmt: skip
        return {f.code: f for f in diagnose(read(run))}


def test_a_device_waits_for_kernels_and_the_gaps_alone_are_overhead():
    """10 kernels of 10 us, one every 30 us: 100 of 300 us busy, 67 % gaps; 10 us > 5 us to start."""
    finding = Stream().kernels(10, 10, 30).findings(300)["RF301"]

    assert "67% of a step goes into 10 starts" in finding.claim
    assert finding.saves_s == pytest.approx(200e-6)
    assert finding.then_s == (pytest.approx(100e-6), pytest.approx(300e-6))
    assert (
        "0 of 10 starts a step are of kernels over before the next can be started"
        in finding.evidence[3]
    )
    # 10 starts at 2 million a second
    assert finding.evidence[4] == "from a captured graph all of them start in 5.00 us"
    # relu after relu without storages: each might read the last one's result
    assert finding.evidence[5] == "in a captured graph: 300 us -> 100 us at best"


def test_kernels_that_follow_each_other_are_not_bound_by_overhead():
    assert "RF301" not in Stream().kernels(10, 29, 30).findings(300)


def test_gaps_of_milliseconds_are_no_starts_even_where_their_cost_is_not_measured():
    """5 operators in 10 ms: 2 ms before each."""
    unmeasured = replace(CARD, ceilings=CARD.ceilings[:1])
    codes = Stream().kernels(5, 10, 2000).findings(10_000, on=unmeasured)

    assert "RF301" not in codes
    assert "starting one takes far less on any machine" in codes["RF302"].evidence[1]


UNMEASURED = replace(CARD, ceilings=CARD.ceilings[:1])


def launched(us, loading_us=None):
    """10 kernels of 10 us, one every 30 us, each launched by `us` of its host."""
    stream = Stream().kernels(10, 10, 30)
    for at in range(10):
        by = stream.add("aten::relu", "range", at * 30, 1)
        stream.add("cudaLaunchKernel", "launch", at * 30, us, by)
    if loading_us:
        by = stream.add("aten::add", "range", 0, 1)
        stream.add("cudaLaunchKernel", "launch", 0, loading_us, by)
    return stream


def test_starting_is_blamed_where_it_was_measured_or_recorded_and_nowhere_else():
    """20 us before each of 10 starts: 4 us a launch as recorded; without either nobody knows."""
    assert "RF301" not in Stream().kernels(10, 10, 30).findings(300, on=UNMEASURED)
    finding = launched(4).findings(300, on=UNMEASURED)["RF301"]

    assert finding.evidence[1] == (
        "20.0 us before each of 10 starts; cudaLaunchKernel alone keeps the host for "
        "4.00 us or more, as recorded here"
    )


def test_gaps_of_hundreds_of_microseconds_are_no_starts():
    """300 us before each of 10 us, where a launch keeps its host for 4: 75 of them."""
    stream = Stream().kernels(10, 10, 310)
    for at in range(10):
        by = stream.add("aten::relu", "range", at * 310, 1)
        stream.add("hipExtModuleLaunchKernel", "launch", at * 310, 4, by)
    codes = stream.findings(3100, on=UNMEASURED)

    assert "RF301" not in codes
    assert codes["RF302"].evidence[1].startswith("300 us before each of 10 starts; hipExtModule")


def test_launches_that_load_code_are_named_among_what_keeps_the_device_waiting():
    """One launch of 2 ms in 2.9 ms of gaps."""
    finding = launched(4, loading_us=2000).findings(3000, on=UNMEASURED)["RF302"]

    assert (
        finding.evidence[2]
        == "cudaLaunchKernel by aten::add keeps the host for 2.00 ms a step, 1 call"
    )
    assert finding.next_step.startswith("record later steps, since first launches load code, then")


def test_what_a_graph_replays_is_not_started_one_by_one():
    """20 kernels of a graph beside 2 that were launched, 2 ms of gaps: 1 ms before each start."""
    stream = Stream().kernels(2, 10, 1000)
    by = stream.add("cudaGraphLaunch", "launch", 500, 4)
    for at in range(20):
        stream.add("relu_kernel", "kernel", 500 + 5 * at, 4, by)
    replayed = Gap(name="graph launches", what="1 graph launch", seconds=80e-6, count=20)
    codes = stream.findings(2000, gaps=(replayed,))

    assert "RF301" not in codes
    assert "before each of 2 starts" in codes["RF302"].evidence[1]


def test_a_few_calls_that_need_nothing_are_no_overhead():
    """Four calls in 14 us of a trace that names no device: nothing says what a start takes."""
    script = Script()
    for _ in range(4):
        script.add(operator("aten::empty", [4], out=tensor(4)), 1).idle(2.6)
    run = replace(script.end_step().run(), device=None)
    assert not {"RF301", "RF302"} & {f.code for f in diagnose(read(run))}


def test_short_kernels_without_a_step_are_launch_bound():
    """A profiler of kernels has no time around them: 10 x 5 us to start, 10 x 2 us to run."""
    finding = Stream().kernels(10, 2, 2).findings()["RF305"]

    assert "10 starts one by one take 50.0 us, what they start runs 20.0 us" in finding.claim
    assert finding.saves_s == pytest.approx(30e-6)
    assert "in a captured graph: 50.0 us -> 20.0 us at best" in finding.evidence
    assert finding.evidence[-1].startswith("with a bigger batch: up to 2.5 times the work")


def test_longer_kernels_or_a_captured_graph_are_not():
    """10 x 6 us to run; and 2 us each, but started by a graph."""
    assert "RF305" not in Stream().kernels(10, 6, 6).findings()
    assert "RF305" not in Stream().kernels(10, 2, 2, graph=True).findings()


def test_waiting_for_results_within_a_step_is_named_with_what_waits():
    """4 waits of 10 us to start again on an idle device: 40 us of 300."""
    stream = Stream().kernels(10, 10, 30)
    for at in range(4):
        by = stream.add("aten::_local_scalar_dense", "range", at * 30, 5)
        stream.add("cudaStreamSynchronize", "launch", at * 30, 5, by)
    finding = stream.findings(300)["RF303"]

    assert "the host waits for the device 4 times a step" in finding.claim
    assert finding.evidence[0] == (
        "cudaStreamSynchronize by aten::_local_scalar_dense: 4 times, the host waits 20.0 us"
    )
    assert finding.saves_s == pytest.approx(40e-6)


def test_numbers_of_the_host_and_a_profilers_own_waits_are_no_waits():
    """.item() of a tensor on the CPU starts nothing; a profiler waits at its start and end."""
    stream = Stream().kernels(10, 10, 30)
    for at in range(4):
        stream.add("aten::_local_scalar_dense", "range", at * 30, 5)
    for at in (0, 299):
        stream.add("cudaDeviceSynchronize", "launch", at, 1)
    assert "RF303" not in stream.findings(300)


H2D = algorithmic(
    Entry(PCIE, 1_000_000, "from the host", "read"), Entry(DRAM, 1_000_000, "copy to", "write")
)
NAME = "Memcpy HtoD (Pageable -> Device)"


def test_copies_from_the_host_in_a_step():
    """2 x 1 MB in 50 us each, 20 GB/s: 100 of 300 us; 40 us at 50 GB/s."""
    stream = Stream().kernels(2, 10, 150)
    for at in range(2):
        by = stream.add("aten::_to_copy", "op", at * 150 + 50, 1)
        stream.add(NAME, "memcpy", at * 150 + 50, 50, by, ledger=H2D)
        stream.add("cudaStreamSynchronize", "launch", at * 150 + 50, 50, by)
    codes = stream.findings(300)
    finding = codes["RF304"]

    assert "2.00 MB a step come from the host in 2 copies: 100 us, 33% of it" in finding.claim
    assert finding.evidence == (
        f"{NAME} by aten::_to_copy: 2 of 1.00 MB, 20.0 GB/s",
        "at the link's ceiling, 50.0 GB/s: 40.0 us",
    )
    assert finding.next_step.startswith("from pinned memory")
    assert "RF303" not in codes  # the wait is that of the copy: one cause, one finding


def test_pageable_copies_are_most_of_what_the_device_does_in_a_long_step():
    """50 us of 60 us busy in 100 ms: not felt in the step, and no operator's slow path."""
    stream = Stream().kernels(1, 10, 1)
    stream.add(NAME, "memcpy", 50, 50, ledger=H2D)
    codes = stream.findings(100_000)

    assert codes["RF304"].claim.endswith("in 1 copy: 50.0 us, <1% of it, and 83% of device time")
    assert codes["RF304"].next_step.startswith("from pinned memory")
    assert codes["RF304"].now_s == pytest.approx(60e-6)  # 100 ms -> 100 ms would save nothing
    assert "RF201" not in codes


def test_a_slow_copy_to_the_host_is_told_by_its_name_and_size():
    """1 MB from the device in 100 us, 10 of 50 GB/s."""
    back = algorithmic(
        Entry(DRAM, 1_000_000, "copy from", "read"), Entry(PCIE, 1_000_000, "to host", "write")
    )
    stream = Stream().kernels(2, 10, 150)
    stream.add("Memcpy DtoH (Device -> Pageable)", "memcpy", 50, 100, ledger=back)
    finding = stream.findings(300)["RF201"]

    assert finding.evidence[0].startswith("1.00 MB a call: 10.0 GB/s of 50.0 GB/s")
    assert finding.next_step.startswith("copy into pinned memory")


def test_a_short_copy_is_not_felt():
    """1 of 300 us."""
    stream = Stream().kernels(2, 10, 150)
    stream.add(NAME, "memcpy", 50, 1, ledger=H2D)
    assert "RF304" not in stream.findings(300)


def compiled(*graphs_by_step):
    script = Script()
    for graphs in graphs_by_step:
        for number in graphs:
            script.add(replace(RELU, op=f"compiled f #{number} (forward)"), 1_000)
        script.end_step()
    return {f.code: f for f in diagnose(read(script.run()))}


def test_a_function_compiled_again_runs_graphs_in_steps_of_their_own():
    finding = compiled([1], [1], [2], [3])["RF306"]

    assert finding.claim.startswith("f was compiled again: 3 graphs of it ran")
    assert finding.evidence == ("graph #1: 2 steps", "graph #2: 1 step", "graph #3: 1 step")


def test_graphs_between_breaks_share_their_steps():
    assert "RF306" not in compiled([1, 2], [1, 2])


LIVE = replace(RECORDER, tool="roofline 0.1.0")


def start_up(first_us, again=False):
    """randn keeps its host for `first_us`, then 10 us of kernels come from relu within 100 us."""
    stream = Stream()
    if again:
        stream.add("aten::randn", "op", 0, 20)
    by = stream.add("aten::randn", "op", 100, first_us)
    stream.add("randn_kernel", "kernel", 100 + first_us - 10, 10, by)
    by = stream.add("aten::relu", "op", 100 + first_us, 1, call=RELU)
    stream.add("relu_kernel", "kernel", 100 + first_us, 10, by)
    return stream


def test_first_calls_that_load_what_they_need_are_no_time_between_operators():
    """100 ms, 99.99 of it before the first kernel: 0.1 ms before the call and 20 us of kernels are left."""
    found = start_up(100_000).findings(100_110, by=LIVE)

    assert "RF302" not in found
    assert "100% of the run is start-up" in found["RF308"].claim
    assert found["RF308"].evidence[0].startswith("100 ms of 100 ms, in calls")
    assert found["RF308"].evidence[0].endswith("randn 100 ms")
    assert found["RF308"].saves_s is None


def test_a_call_that_came_before_or_is_short_loads_nothing():
    """The second of two; one of 0.9 ms; one that began before the recording may have."""
    again = start_up(100_000, again=True).findings(100_110, by=LIVE)

    assert "RF308" not in again
    assert "RF302" in again
    assert "RF308" not in start_up(900).findings(1_010, by=LIVE)
    assert "RF308" not in start_up(100_000).findings(100_110)  # a trace


def test_what_passes_beside_a_start_is_still_told():
    """Of 200 ms 100 are start-up, and another 100 pass after the last kernel."""
    found = start_up(100_000).findings(200_000, by=LIVE)

    assert "50% of the run is start-up" in found["RF308"].claim
    assert "50% of a step no operator runs" in found["RF302"].claim


def test_a_device_busy_with_kernels_of_no_step_is_not_idle():
    """100 of 300 us are its own, 10 us every 30; kernels of no step fill 140 of the other 200.

    They begin 40 us before the step and end 40 us after it.
    """
    stream = Stream().kernels(10, 10, 30)
    before = stream.findings(300)["RF301"]
    first = stream.add("theirs", "kernel", -40, 210)
    last = stream.add("theirs", "kernel", 260, 80)
    for row in (first, last):
        stream.events[row] = replace(stream.events[row], step=-1)
    run = Run(
        recorder=RECORDER, device=CARD, signatures=tuple(stream.signatures), gaps=(),
        steps=(Step(start_ns=0, duration_ns=300_000),), events=table(stream.events),
    )  # fmt: skip
    whole, path = read(run).whole, read(run).path

    # own kernels in -40..170: at 0, 30, ... 150, six of 10 us; in 260..300: at 270, one
    assert whole.others_s == pytest.approx((170 - 60 + 40 - 10) * 1e-6)
    assert whole.gap_s == pytest.approx((300 - 100 - 140) * 1e-6)
    assert (path.others_s, path.waiting_s) == pytest.approx((140e-6, 60e-6))
    assert before.saves_s == pytest.approx(200e-6)
    assert "RF301" not in {f.code for f in diagnose(read(run))}  # 60 us, 20 % of the step


def test_starts_are_counted_once_and_by_one_word():
    """5 relu of one kernel, a view of none and a copy to the device: 6 starts in every place."""
    stream = Stream().kernels(5, 2, 30)
    stream.add("aten::view", "op", 150, 1)
    by = stream.add("aten::_to_copy", "op", 160, 1)
    stream.add(NAME, "memcpy", 160, 2, by, ledger=H2D)
    run = Run(
        recorder=RECORDER, device=CARD, signatures=tuple(stream.signatures), gaps=(),
        steps=(Step(start_ns=0, duration_ns=300_000),), events=table(stream.events),
    )  # fmt: skip
    program = read(run)
    finding = next(f for f in diagnose(program) if f.code == "RF301")

    assert "goes into 6 starts" in finding.claim
    assert "before each of 6 starts" in finding.evidence[1]
    assert "5 of 6 starts a step are of kernels over before the next" in finding.evidence[3]
    assert "5 of 6 starts are of kernels over before the next" in timeline(program).evidence[2]
    assert {i.name: i.starts for i in program.by("operator")} == {
        "aten::relu": 5, "aten::view": 0, "aten::_to_copy": 1,
    }  # fmt: skip
    assert program.whole.overhead_s == pytest.approx(6 * program.conditions.call_overhead_s)


def test_one_start_has_no_other_before_it():
    """One kernel of 10 us in 40: 30 us of nothing around it, no "each"."""
    finding = Stream().kernels(1, 10, 1).findings(40)["RF301"]
    assert finding.evidence[1].startswith("all of it around the one start of a step: 30.0 us; ")
