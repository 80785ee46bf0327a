"""Communication: in the way of computation, and over its link."""

from dataclasses import replace

import pytest

from roofline.call import Call
from roofline.device import DRAM, NVLINK, Ceiling, Device, Fact
from roofline.diagnosis import diagnose
from roofline.program import read
from roofline.runfile import Event, Run, Signature, Step, table
from tests.roofs import STATED
from tests.runs import RECORDER, call, tensor

SMS = Fact(name="sm_count", value=100, unit="", provenance=STATED)
CARD = Device(
    id="card", name="Card", kind="gpu", facts=(SMS,),
    ceilings=tuple(
        Ceiling(resource=r, rate=rate, provenance=STATED)
        for r, rate in ((DRAM, 1e12), (NVLINK, 400e9))
    ),
)  # fmt: skip
X = tensor(1000, 1000)
RELU = Signature(name="aten::relu", call=call("aten::relu", X, out=X))
# all_gather of 8 parts of 1 MB: 7 MB are sent by each rank, 17.5 us at 400 GB/s
GATHER = Signature(
    name="c10d::_allgather_base_",
    call=Call("c10d::_allgather_base_", (tensor(2_000_000), tensor(250_000)), (), "cuda"),
)


def step(
    gather_at,
    gather_us,
    cause=GATHER,
    name="ncclDevKernel_AllGather_RING_LL",
    on=CARD,
    counters=None,
):
    """relu from 0 to 80 us on one stream, the gather on another, in a step of 100 us."""
    signatures = (RELU, Signature(name="relu_kernel"), cause, Signature(name=name))
    rows = ((0, "op", 0, 5, None, None), (1, "kernel", 0, 80, 0, 7),
            (2, "op", 5, 5, None, None), (3, "kernel", gather_at, gather_us, 2, 9))  # fmt: skip
    events = [
        Event(signature=at, kind=kind, step=0, start_ns=round(start * 1000),
              duration_ns=round(us * 1000), parent=parent, stream=stream,
              counters=counters if at == 3 and counters else {})
        for at, kind, start, us, parent, stream in rows
    ]  # fmt: skip
    return read(
        Run(recorder=RECORDER, device=on, signatures=signatures,
            steps=(Step(start_ns=0, duration_ns=100_000),), gaps=(), events=table(events))
    )  # fmt: skip


def found(program):
    return {f.code: f for f in diagnose(program)}


def test_communication_after_computation_is_exposed():
    """80 to 100 us: all of its 20 us, a fifth of the step."""
    program = step(80, 20)
    finding = found(program)["RF501"]

    assert program.overlap.streams == 2
    assert "for 20.0 us a step, 20% of it, the device only communicates" in finding.claim
    assert finding.evidence[0].endswith("0% of that beside other kernels")
    assert finding.evidence[1] == "its bytes need 17.5 us a step at the ceiling of the link"
    assert finding.then_s == (pytest.approx(80e-6), pytest.approx(100e-6))


def test_communication_behind_computation_is_hidden():
    """60 to 80 us, while relu runs; and 65 to 83 us, of which 3 stand out."""
    program = step(60, 20)

    assert program.overlap.beside_s == pytest.approx(20e-6)
    assert "RF501" not in found(program)
    assert "RF501" not in found(step(65, 18))


def test_communication_is_known_by_its_operator_or_by_its_library():
    """One trace has the operator and a kernel of any name, another only NCCL's kernel."""
    other = Signature(name="my::send")

    assert step(80, 20, name="copy_kernel").overlap.communication_s == pytest.approx(20e-6)
    assert step(80, 20, cause=other).overlap.communication_s == pytest.approx(20e-6)
    assert step(80, 20, cause=other, name="copy_kernel").overlap.communication_s == 0.0


def test_a_collective_below_its_link():
    """7 MB in 35 us: 200 of 400 GB/s; after relu all of it is to win."""
    finding = found(step(80, 35))["RF502"]

    assert "reaches 50% of the nvlink roof" in finding.claim
    assert finding.evidence[0].startswith("7.00 MB a call in 35.0 us: 200 GB/s of 400 GB/s")
    assert finding.saves_s == pytest.approx(17.5e-6)
    assert finding.then_s == (pytest.approx(17.5e-6), pytest.approx(35e-6))
    assert any("ring algorithm" in line for line in finding.evidence)


def test_a_step_is_shorter_only_by_what_nothing_hides():
    """From 60 to 95 us, relu until 80: 15 of the 17.5 us above the roof are the step's; then none."""
    partly, hidden = found(step(60, 35))["RF502"], found(step(40, 35))["RF502"]

    assert partly.saves_s == pytest.approx(15e-6)
    assert partly.then_s == (pytest.approx(20e-6), pytest.approx(35e-6))
    assert partly.evidence[1] == "57% of all communication runs beside other kernels"
    assert hidden.saves_s == 0.0


def test_a_collective_that_waits_is_not_about_bytes():
    """7 MB need 17.5 us: of 400 us that is 4 %, of 300 us 6 %."""
    waits, slow = found(step(80, 400))["RF502"], found(step(80, 300))["RF502"]

    assert waits.claim.endswith("waits: its bytes need next to nothing of its time")
    assert "let all ranks come at the same time" in waits.next_step
    assert "reaches 6% of the nvlink roof" in slow.claim


def test_a_librarys_kernel_is_told_nothing_of_its_blocks():
    """One block on a chip of many; another kernel of one block is."""

    def codes(name):
        cause = replace(GATHER, name=name, call=None)
        return found(
            step(80, 35, cause=cause, name="one_block", counters={"grid": 1.0, "block": 32.0})
        )

    assert "RF402" not in codes("c10d::_allgather_base_")
    assert "RF402" in codes("my::send")


def test_a_full_link_is_told_to_send_less():
    """7 MB in 18 us: 97 %."""
    codes = found(step(60, 18))

    assert "fills its link: 97% of the nvlink roof" in codes["RF502"].claim
    assert codes["RF502"].saves_s == 0.0
    assert "RF102" not in codes  # one cause, one finding


def all_reduce(us, *group):
    """Of 3.5 MB: among two ranks each sends 3.5 MB, 8.75 us at 400 GB/s; among many 7 MB."""
    cause = Signature(
        name="c10d::allreduce_",
        call=Call("c10d::allreduce_", ((tensor(875_000),), *group), (), "cuda"),
    )
    return found(step(80, us, cause=cause, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL"))["RF502"]


def test_an_all_reduce_among_ranks_that_are_known():
    """3.5 MB in 17.5 us is half of the link, whatever it would be among many."""
    finding = all_reduce(17.5, "group of 2")

    assert "reaches 50% of the nvlink roof" in finding.claim
    assert finding.saves_s == pytest.approx(8.75e-6)


def test_among_how_many_nobody_knows_it_is_the_most_that_is_said():
    """7 MB at most: in 35 us half of the link at most, in 17.5 us perhaps all of it."""
    below, perhaps = all_reduce(35), all_reduce(17.5)

    assert "reaches at most 50% of the nvlink roof" in below.claim
    assert below.saves_s == pytest.approx(17.5e-6)
    assert "reaches at most 100% of the nvlink roof" in perhaps.claim
    assert perhaps.saves_s is None
    assert any("the most that a rank may send" in line for line in perhaps.evidence)


def test_without_a_ceiling_of_the_link_nothing_is_said_of_it():
    bare = replace(CARD, ceilings=CARD.ceilings[:1])

    assert "RF502" not in found(step(60, 35, on=bare))
    assert "RF501" in found(step(80, 20, on=bare))
