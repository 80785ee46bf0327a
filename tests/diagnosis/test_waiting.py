"""RF009: a program that waited for a processor, and what its times are still good for."""

from dataclasses import replace

import pytest

from roofline.device import Fact
from roofline.diagnosis import diagnose
from roofline.diagnosis.answer import answer
from roofline.program import read
from tests.diagnosis.test_findings import MM, RELU
from tests.diagnosis.test_overhead import Stream
from tests.runs import MEASURED, Script, device

FAULT = Fact(name="page_fault", value=1e-6, unit="s", provenance=MEASURED)
TOY = replace(device(), facts=(FAULT,))


def program(script, waited):
    """Of one step, `waited` of it spent waiting; None is not known."""
    run = script.end_step().run(on=TOY)
    (step,) = run.steps
    waited_ns = None if waited is None else round(waited * step.duration_ns)
    return read(replace(run, steps=(replace(step, waited_ns=waited_ns),)))


def found(script, waited):
    return {f.code: f for f in diagnose(program(script, waited))}


def test_the_answer_begins_with_the_waiting_and_what_rests_on_lost_time_is_silent():
    """mm: 20 ms of work in 100 ms, 67 % of them waiting; 80 lost would be RF201's."""
    waited = program(Script().add(MM, 100_000), 0.67)
    findings = diagnose(waited)
    where, what = answer(waited, findings)

    assert [f.code for f in findings] == ["RF009"]
    assert where.startswith(
        "toy.py takes 100 ms for the run, but waited for a processor during 67% of that: its times "
        "cannot be trusted; at the roof of Toy CPU"
    )
    assert what.startswith("First, measure again on a quieter machine")


@pytest.mark.parametrize("waited", [None, 0.0, 0.2])
def test_less_than_a_quarter_and_what_nobody_knows_silence_nothing(waited):
    codes = found(Script().add(MM, 100_000), waited)

    assert "RF009" not in codes
    assert "RF201" in codes


def test_waiting_below_a_quarter_is_part_of_what_explains_a_loss():
    """20 of 80 ms lost are waiting; of 21 ms 9.84, and with 0.98 of faults more than half."""
    finding = found(Script().add(MM, 100_000), 0.2)["RF201"]

    assert finding.claim.endswith("what is counted explains 25% of the rest")
    assert finding.evidence[-1] == "of that 20.0 ms waiting for a processor"
    assert "RF201" not in found(Script().add(MM, 41_000, page_faults=977), 0.24)


def test_faults_are_part_of_what_explains_a_loss():
    """relu: 8 MB in 8 ms where 0.8 are its roof, 977 faults of 1 us: 14 % of 7.2 ms."""
    codes = found(Script().add(RELU, 8_000, page_faults=977), 0.0)

    assert codes["RF201"].claim.endswith("what is counted explains 14% of the rest")
    assert codes["RF201"].evidence[-1] == "of that 977 us clearing fresh memory (RF103)"


def test_what_rests_on_counts_stands_and_says_what_its_seconds_hold():
    finding = found(Script().add(RELU, 8_000, page_faults=977), 0.5)["RF103"]
    assert (
        finding.evidence[-1] == "its seconds hold what the program waited for a processor (RF009)"
    )


def test_operators_that_follow_each_other_late_are_not_started_slowly():
    """900 us of work and 10 ms before it, half of all waiting: RF302 without it."""
    script = Script().add(RELU, 900).idle(10_000)
    assert "RF302" in found(script, 0.0)
    assert "RF302" not in found(Script().add(RELU, 900).idle(10_000), 0.5)


def test_a_device_that_is_busy_meanwhile_has_its_own_times():
    """10 kernels of 10 us: one every 30 us leaves gaps of two thirds, one every 11 us of a tenth."""
    waited = Stream().kernels(10, 10, 30).findings(300, waited_us=150)
    busy = Stream().kernels(10, 10, 11).findings(110, waited_us=55)

    assert "RF009" in waited
    assert waited["RF009"].claim.startswith("the program waited for a processor during 50%")
    assert "RF301" not in waited
    assert "RF301" in Stream().kernels(10, 10, 30).findings(300)
    assert "RF009" not in busy
