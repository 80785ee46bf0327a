"""RF002: what was not counted, what would count it, and bytes that are known without their flop."""

from dataclasses import replace

import pytest

from roofline.device import DRAM, Ceiling, Device
from roofline.diagnosis import diagnose
from roofline.diagnosis.answer import answer
from roofline.diagnosis.doubts.ledger import ASK, REASONS, RECORD, TYPES
from roofline.diagnosis.doubts.profilers import AMD, NVIDIA
from roofline.program import read
from roofline.report.document import document
from roofline.report.text import _coverage
from roofline.runfile import Event, Gap, Run, Signature, Step, table
from roofline.work import unknown
from tests.roofs import STATED
from tests.runs import RECORDER

TYPELESS = "the trace does not hold the types of its tensors"
SHAPELESS = "shapes were not recorded (record_shapes=True records them)"
BYTES = {"dram__bytes_read.sum": 2e6, "dram__bytes_write.sum": 1e6}


def card(name):
    ceiling = Ceiling(resource=DRAM, rate=100e9, provenance=STATED)
    return Device(id=name, name=name, kind="gpu", ceilings=(ceiling,))


def program(*events, on=None, gaps=(), tool="hand"):
    """(name, kind, us, why it was not counted, counters), one after the other."""
    signatures, rows, now = [], [], 0
    for name, kind, us, why, counters in events:
        ledger = replace(unknown(name), conventions=(f"not accounted for: {why}",) if why else ())
        signatures.append(Signature(name=name, ledger=None if counters else ledger))
        rows.append(
            Event(
                signature=len(rows), kind=kind, step=0, start_ns=now, duration_ns=us * 1000,
                counters=counters,
            )
        )  # fmt: skip
        now += us * 1000
    return read(
        Run(
            recorder=replace(RECORDER, tool=tool), device=on, signatures=tuple(signatures),
            steps=(Step(start_ns=0, duration_ns=0),), gaps=gaps, events=table(rows),
        )
    )  # fmt: skip


def found(*events, code="RF002", **more):
    return next(f for f in diagnose(program(*events, **more)) if f.code == code)


@pytest.mark.parametrize(
    ("why", "step"),
    [
        (TYPELESS, TYPES),
        (SHAPELESS, RECORD),
        ("aten::repeat_interleave: the length of the result is data, and is not recorded", REASONS),
        ("", ASK),
    ],
)
def test_the_next_step_is_what_the_reason_asks_for(why, step):
    assert found(("aten::nonesuch", "op", 10, why, {})).next_step == step


def test_of_several_reasons_the_one_of_most_time_is_first():
    """100 us of calls without types, 10 us without shapes."""
    finding = found(
        ("aten::mm", "op", 10, SHAPELESS, {}), ("aten::convolution", "op", 100, TYPELESS, {})
    )
    assert finding.next_step == f"{TYPES}; {RECORD}"


@pytest.mark.parametrize(
    ("device", "calls", "said"),
    [
        ("amd-mi300x", (), f"({AMD})"),
        ("nvidia-h200-sxm-141gb", (), f"({NVIDIA})"),
        (None, ("hipLaunchKernel",), f"({AMD})"),
        (None, ("cudaLaunchKernel",), f"({NVIDIA})"),
        (None, (), f"({NVIDIA} on NVIDIA; on AMD {AMD})"),
    ],
)
def test_counters_are_asked_of_the_profiler_that_the_device_has(device, calls, said):
    launches = [(name, "launch", 1, "", {}) for name in calls]
    on = card(device) if device else None
    assert said in found(("a_kernel", "kernel", 10, "", {}), *launches, on=on).next_step
    graph = (Gap(name="graph launches", what="one", seconds=9e-6, count=1),)
    doubt = found(("a_kernel", "kernel", 10, "", {}), *launches, on=on, gaps=graph, code="RF007")
    assert said[1:-1] in doubt.next_step


def test_bytes_without_flop_are_not_nothing():
    """3 MB in 40 us at 100 GB/s: 30 us, 75 % of the roof; flop were not collected."""
    counted = program(("copy", "kernel", 40, "", BYTES), on=card("nvidia-card"))
    finding = next(f for f in diagnose(counted) if f.code == "RF002")

    assert finding.claim == (
        "1 operator is accounted for in part (100.0% of operator time; bytes are known, flop are "
        "not), so the program's roof time is that of what is known: too low where the rest needs "
        "longer"
    )
    assert finding.next_step.startswith("collect what is missing of these kernels (`roofline ncu`)")
    assert (counted.whole.coverage, counted.whole.in_part) == (0.0, 1.0)
    assert "in part" in answer(counted, diagnose(counted))[1]
    assert _coverage(document(counted)).startswith(
        "coverage: 0.0% of operator time accounted for (another 100.0% in part); nvidia-card"
    )


def test_of_some_nothing_and_of_some_a_part_is_known():
    """20 of 60 us are of a kernel without counters."""
    mixed = program(
        ("copy", "kernel", 40, "", BYTES), ("other", "kernel", 20, "", {}), on=card("nvidia-card")
    )
    finding = next(f for f in diagnose(mixed) if f.code == "RF002")

    assert finding.claim.startswith(
        "2 operators have no complete accounting (100.0% of operator time, 1 of them in part), so"
    )
    assert mixed.whole.in_part == pytest.approx(40 / 60)
