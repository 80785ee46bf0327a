"""The second sentence of the answer where there is no advice: what is not known, and who knows it."""

from dataclasses import replace

import pytest

from roofline.device import DRAM, VECTOR_FP32, Ceiling, Device
from roofline.diagnosis import diagnose
from roofline.diagnosis.answer import answer
from roofline.diagnosis.rule import Finding
from roofline.program import read
from roofline.runfile import Event, Run, Signature, Step, table
from tests.diagnosis.test_findings import MM
from tests.roofs import STATED
from tests.runs import RECORDER, Script

FLOP = {
    f"smsp__sass_thread_inst_executed_op_{letter}{operation}_pred_on.sum": 1e6
    for letter in "dfh"
    for operation in ("add", "mul", "fma")
}
# 4 MB at 100 GB/s: 40 us
COUNTED = {"dram__bytes_read.sum": 3e6, "dram__bytes_write.sum": 1e6, **FLOP}
WARPS = {"sm__warps_active.avg.pct_of_peak_sustained_active": 80.0}
WAITS = {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio": 0.1}
PIPES = {"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active": 10.0}


def card(maker="nvidia"):
    ceilings = (
        Ceiling(resource=DRAM, rate=100e9, provenance=STATED),
        Ceiling(resource=VECTOR_FP32, rate=10e12, provenance=STATED),
    )
    return Device(id=f"{maker}-card", name="Card", kind="gpu", ceilings=ceilings)


def second(us, counters=COUNTED, on=None, tool="Nsight Compute"):
    """Of one kernel that was counted and took `us`."""
    event = Event(
        signature=0, kind="kernel", step=0, start_ns=0, duration_ns=us * 1000, counters=counters
    )
    run = Run(
        recorder=replace(RECORDER, tool=tool), device=on, signatures=(Signature(name="gemm"),),
        steps=(Step(start_ns=0, duration_ns=0),), gaps=(), events=table([event]),
    )  # fmt: skip
    program = read(run)
    assert not [finding.code for finding in diagnose(program) if finding.saves_s]
    return answer(program, ())[1]


def test_a_file_from_elsewhere_needs_the_name_of_its_device_and_a_run_here_its_ceilings():
    assert second(50).startswith("Name the device that it ran on (`--device NAME`;")
    assert second(50, tool="roofline 0.1").startswith("Measure the device (`roofline measure`)")


@pytest.mark.parametrize(
    ("more", "lacking"),
    [
        (
            {},
            "nobody counted how many warps were in flight, what they waited for and how busy its "
            "pipes were (`roofline ncu --levels`).",
        ),
        (WARPS, "nobody counted what they waited for and how busy its pipes were (`roofline ncu"),
        (WARPS | PIPES, "nobody counted what they waited for (`roofline ncu --levels`)."),
        (
            WARPS | PIPES | WAITS,
            "its counters name no reason, so compare it with another kernel for the same work.",
        ),
    ],
)
def test_counters_are_asked_for_what_they_lack_and_not_for_themselves(more, lacking):
    """40 us of work in 74: 54 % of the roof is not nothing worth doing."""
    said = second(74, COUNTED | more, card())
    assert said.startswith("Nothing that was recorded says why it is at 54% of its roof: ")
    assert lacking in said


def test_of_an_amd_device_its_own_profilers_are_asked():
    assert "(rocprofv3 or rocprofiler-compute" in second(74, on=card("amd"))


def test_near_the_roof_nothing_is_worth_doing():
    assert second(45, on=card()) == "Nothing found here is worth doing."


def test_a_doubt_about_clocks_stands_beside_what_nobody_recorded():
    program = read(Script().add(MM, 30_000).end_step().run())
    doubt = Finding(code="RF003", item="", claim="", evidence=(), next_step="", wrong_if="")

    assert answer(program, (doubt,))[1] == (
        "Nothing that was recorded, beside RF003, says why it is at 67% of its roof: take a longer "
        "recording."
    )
