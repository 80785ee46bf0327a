"""RF009: a program that waited for a processor, and what its times are still good for."""

import re
from dataclasses import replace

import pytest

from roofline.device import Fact
from roofline.diagnosis import diagnose
from roofline.diagnosis.answer import answer
from roofline.diagnosis.doubts.waiting import WITHOUT_TIMES
from roofline.program import read
from tests.diagnosis.test_findings import MM, RELU
from tests.diagnosis.test_overhead import Stream
from tests.runs import MEASURED, Script, call, device, tensor

FAULT = Fact(name="page_fault", value=1e-6, unit="s", provenance=MEASURED)
TOY = replace(device(), facts=(FAULT,))


def program(script, waited):
    """Of one step, `waited` of it spent waiting; None is not known."""
    run = (script if script.steps else script.end_step()).run(on=TOY)
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


SECONDS = re.compile(r"\d (ns|us|ms|s)\b|times as fast|% of (the|its) roof")


def test_what_rests_on_counts_stands_and_says_no_seconds():
    """977 faults; three calls of 1 MB after each other, each read again: neither has a time left."""
    x = tensor(1_000_000)
    relu, neg = call("aten::relu", x, out=x), call("aten::neg", x, out=x)
    script = Script().add(relu, 8_000, [1], [2], page_faults=977)
    script.add(neg, 8_000, [2], [3]).add(neg, 8_000, [3], [4])
    quiet, late = found(script, 0.0), found(script, 0.5)

    assert quiet["RF101"].saves_s
    assert any(map(SECONDS.search, quiet["RF101"].evidence))
    assert any(map(SECONDS.search, quiet["RF103"].evidence))
    for finding in (late["RF101"], late["RF103"]):
        assert not SECONDS.search(" ".join((finding.claim, *finding.evidence)))
        assert finding.evidence[-1] == WITHOUT_TIMES
        assert (finding.saves_s, finding.now_s, finding.then_s) == (None, None, None)
    assert "977 page faults of 4096 B a step" in late["RF103"].evidence


@pytest.mark.parametrize("waited", [0.0, 0.5])
def test_only_trusted_times_are_set_against_the_roof(waited):
    """relu: 800 us of work in 900."""
    where, _ = answer(one := program(Script().add(RELU, 900), waited), diagnose(one))
    assert where.endswith(", 89% of that.") == (waited == 0.0)


def test_nothing_that_claims_a_time_is_said_beside_times_that_cannot_be_trusted():
    """A clone of 8 MB in 10 ms is all that runs: RF105; mm on its roof fills its pipe."""
    x = tensor(1_000_000)
    clone = Script().add(call("aten::clone", x, out=x), 10_000)
    busy = Script().add(MM, 20_000)

    assert "RF105" in found(clone, 0.0)
    assert "RF204" in found(busy, 0.0)
    assert not {"RF105", "RF201"} & found(clone, 0.5).keys()
    assert "RF204" not in found(busy, 0.5)


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
