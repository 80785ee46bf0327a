"""What kind of time a step is made of: one case of each kind, and the three recordings."""

from dataclasses import replace
from pathlib import Path

import pytest

from roofline import importers
from roofline.call import Call
from roofline.device import DRAM, LAUNCH, VECTOR_FP32, Ceiling, Device
from roofline.devices import kept
from roofline.diagnosis.answer import answer
from roofline.diagnosis.timeline import timeline
from roofline.program import read
from roofline.runfile import Event, Run, Signature, Step, table
from tests.roofs import STATED
from tests.runs import RECORDER, call, tensor

TESTS = Path(__file__).parents[1]
MEASURED = kept.read_file(TESTS / "data" / "h200-measured.json")
# 1 TB/s, 10 Tflop/s, 5 us to start a kernel
CARD = Device(
    id="card", name="Card", kind="gpu",
    ceilings=tuple(
        Ceiling(resource=r, rate=rate, provenance=STATED)
        for r, rate in ((DRAM, 1e12), (VECTOR_FP32, 10e12), (LAUNCH, 200_000.0))
    ),
)  # fmt: skip


def mul(size: int) -> Call:
    x = tensor(size)
    return call("aten::mul", x, x, out=x)


def kind(kernels, gap_us=0.0, on=None):
    """Of one step: kernels (call, us) one after the other, `gap_us` of nothing before each."""
    return timeline(program(kernels, gap_us, on))


def program(kernels, gap_us=0.0, on=None):
    calls = [*dict.fromkeys(each for each, _ in kernels)]
    events, now = [], 0.0
    for at, (each, us) in enumerate(kernels):
        now += gap_us
        start, length = round(now * 1000), round(us * 1000)
        events.append(
            Event(signature=calls.index(each), kind="op", step=0, start_ns=start, duration_ns=1)
        )
        events.append(Event(signature=len(calls), kind="kernel", step=0, start_ns=start,
                            duration_ns=length, parent=2 * at))  # fmt: skip
        now += us
    run = Run(
        recorder=RECORDER, device=on or CARD,
        signatures=(*(Signature(name=each.op, call=each) for each in calls), Signature(name="k")),
        steps=(Step(start_ns=0, duration_ns=round(now * 1000)),), gaps=(), events=table(events),
    )  # fmt: skip
    return read(run)


BIG = mul(10_000_000)  # 120 MB: 120 us at 1 TB/s


def test_the_device_waits_for_the_host():
    """10 us before each kernel of 15: 40 % of a step."""
    found = kind([(mul(1_000_000), 15.0)] * 10, gap_us=10.0)

    assert found.kind == "host-bound"
    assert "40% of a step the device waits for its next kernel, 10.0 us before each" in found.claim


def test_gaps_far_longer_than_a_start_are_bubbles():
    """150 us before each, 30 times the 5 us of a start; 60 us, 12 times, are still starting."""
    assert kind([(BIG, 200.0)] * 4, gap_us=150.0).kind == "bubbles"
    assert kind([(BIG, 120.0)] * 4, gap_us=60.0).kind == "host-bound"


def test_copies():
    """200 of 900 us go into clones: 22 %; 150 of 850 are 18 %."""
    x = tensor(1_000_000)
    clone = call("aten::clone", x, out=x)
    assert kind([(clone, 100.0)] * 2 + [(BIG, 700.0)]).kind == "stray copies"
    assert kind([(clone, 75.0)] * 2 + [(BIG, 700.0)]).kind == "a few slow kernels"


def test_trains_of_tiny_kernels():
    """100 kernels of 4 us, over before the next can start: 400 of 1100 us; 60 are 240 of 940."""
    assert kind([(mul(1000), 4.0)] * 100 + [(BIG, 700.0)]).kind == "tiny kernels"
    assert kind([(mul(1000), 4.0)] * 60 + [(BIG, 700.0)]).kind == "a few slow kernels"


def test_a_few_slow_kernels_or_many():
    """Lines with equal amounts to win: of 6, five hold 80 %; of 7, six do."""
    few = [(mul(1_000_000 + at), 112.0) for at in range(6)]
    many = [(mul(1_000_000 + at), 112.0) for at in range(7)]

    assert kind(few).kind == "a few slow kernels"
    assert "5 of 6 lines hold 83% of what is to win" in kind(few).claim
    assert kind(many).kind == "many kernels"


def test_without_the_time_of_a_start_no_kernel_is_said_to_be_tiny():
    sheet = replace(CARD, ceilings=tuple(c for c in CARD.ceilings if c.resource != LAUNCH))
    found = kind([(mul(1000), 4.0)] * 100, on=sheet)

    assert found.kind != "tiny kernels"
    assert found.evidence[2] == (
        "tiny kernels: how long a kernel takes to start was not measured on this device"
    )


def test_what_ran_on_a_cpu_has_none():
    run = Run(
        recorder=RECORDER, device=CARD, signatures=(Signature(name="aten::mul", call=BIG),),
        steps=(Step(start_ns=0, duration_ns=1000),), gaps=(),
        events=table([Event(signature=0, kind="op", step=0, start_ns=0, duration_ns=1000)]),
    )  # fmt: skip
    assert timeline(read(run)) is None


def test_a_host_that_waited_for_a_processor_stands_beside_the_gaps():
    """10 kernels of 10 us, 20 us before each; half of the step its host did not run."""
    run = program([(BIG, 10.0)] * 10, gap_us=20.0)
    late = replace(run, whole=replace(run.whole, waited=0.5))

    assert timeline(late).evidence[0].endswith("; its host waited for a processor during 50%")
    assert "waited" not in timeline(run).evidence[0]


def test_what_nothing_explains_is_sent_to_the_counters():
    """120 us of work in 1 ms: on a GPU there are counters to take, and none where they were taken."""
    theirs = replace(program([(BIG, 1000.0)]), recorder=replace(RECORDER, tool="PyTorch profiler"))
    ours = replace(theirs, recorder=replace(RECORDER, tool="roofline 0.1"))
    ways = [answer(each, ())[1] for each in (theirs, ours, replace(ours, replayed=RECORDER))]

    assert all(
        way.startswith("Nothing that was recorded says why it is at 12% of its roof: ")
        for way in ways
    )
    assert "counters of the lines that lose most (`roofline ncu` on NVIDIA" in ways[0]
    assert "counters of the lines that lose most (`roofline run --deep`)" in ways[1]
    assert ways[2].endswith(": take a longer recording.")


@pytest.mark.parametrize(
    ("recording", "named"),
    [
        ("ln_hand", "a few slow kernels"),
        ("decode_1", "host-bound"),
        ("train_eager", "host-bound"),
    ],
)
def test_the_recordings(recording, named):
    trace = TESTS / "importers" / "kineto" / "torch-2.11" / f"{recording}.json.gz"
    found = timeline(read(replace(importers.load([trace]), device=MEASURED)))

    assert found.kind == named
    assert [line.partition(":")[0] for line in found.evidence] == [
        "gaps", "copies", "tiny kernels", "slow kernels",
    ]  # fmt: skip
