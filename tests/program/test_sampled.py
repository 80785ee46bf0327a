"""Counters sampled in the run itself: beside the formula of each call and of the step."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from roofline.device import DRAM, L2, VECTOR_FP32, Ceiling, Device, Fact
from roofline.diagnosis import diagnose
from roofline.program import read
from roofline.program.whatif import what_if
from roofline.report.document import document
from roofline.report.text import print_document
from roofline.runfile import Event, Run, Signature, Step, load, save, table
from roofline.work import Exactness
from tests.roofs import STATED
from tests.runs import RECORDER, call, tensor

READ, WRITE = "dram__bytes_read.sum", "dram__bytes_write.sum"
SOURCE = f"CUPTI PM sampling, this run: {READ}"
# 1 TB/s from DRAM, 10 TB/s from an L2 of 50 MB, 10 Tflop/s.
CARD = Device(
    id="card", name="Card", kind="gpu",
    ceilings=(
        Ceiling(resource=DRAM, rate=1e12, provenance=STATED),
        Ceiling(resource=L2, rate=10e12, provenance=STATED, capacity=50_000_000),
        Ceiling(resource=VECTOR_FP32, rate=10e12, provenance=STATED),
    ),
)  # fmt: skip
X = tensor(25_000_000)  # 100 MB
SMALL = tensor(1_000_000)  # 4 MB: the L2 could hold it
MUL = Signature(name="aten::mul", call=call("aten::mul", X, X, out=X))
EXP = Signature(name="aten::exp", call=call("aten::exp", SMALL, out=SMALL))
SIGNATURES = (MUL, EXP, Signature(name="mul_kernel"), Signature(name="by hand"))
HOW = "CUPTI PM sampling every 1 us while the program ran: 2 of 2 kernels counted"


def op(signature=0, step=0):
    return Event(signature=signature, kind="op", step=step, start_ns=0, duration_ns=5_000)


def kernel(parent, *moved, us=300.0, signature=2, kind="kernel", step=0):
    """What ran on the device, with the bytes that it read and wrote, and perhaps their bounds."""
    counters = dict(zip((READ, WRITE), moved[:2], strict=False))
    if len(moved) == 4:
        counters |= {READ + ":low": moved[2], READ + ":high": moved[3]}
    return Event(
        signature=signature, kind=kind, step=step, start_ns=0, duration_ns=int(us * 1000),
        parent=parent, counters=counters,
    )  # fmt: skip


def run(*events, steps=1, step_counters=None, how=HOW):
    return Run(
        recorder=replace(RECORDER, counters=how), device=CARD, signatures=SIGNATURES,
        steps=tuple(
            Step(start_ns=0, duration_ns=1_000_000, counters=step_counters or {})
            for _ in range(steps)
        ),
        gaps=(), events=table(events),
    )  # fmt: skip


def item(program, name="aten::mul"):
    (found,) = (i for i in program.by("call") if i.name == name)
    return found


def test_a_call_moved_what_its_kernels_moved():
    # mul reads two operands of 100 MB, alike here so perhaps one, and writes one.
    program = read(run(op(), kernel(0, 200e6, 0), kernel(0, 0, 100e6)))
    achieved = item(program).placement.work.achieved
    assert achieved.traffic(DRAM, "read") == 200_000_000
    assert achieved.traffic(DRAM, "write") == 100_000_000
    assert achieved.entries[0].why == SOURCE
    plain = document(program)["items"][0]
    assert plain["achieved"]["dram"]["total"] == 300_000_000
    assert plain["achieved"]["dram"]["source"].startswith(SOURCE)


def test_excess_is_achieved_over_algorithmic():
    program = read(run(op(1), kernel(0, 40e6, 8e6)))
    plain = document(program)["items"][0]
    # exp of 4 MB needs 8 MB and moved 48.
    assert plain["demand"]["dram"] == 8_000_000
    assert plain["excess"]["dram"] == 6


def test_a_copy_counts_for_its_call_too():
    program = read(run(op(), kernel(0, 200e6, 0), kernel(0, 0, 100e6, kind="memcpy")))
    assert item(program).placement.work.achieved.demand()[DRAM] == 300_000_000


def test_a_call_of_which_a_part_was_not_counted_is_not_known():
    program = read(run(op(), kernel(0, 200e6, 0), kernel(0)))
    assert item(program).placement.work.achieved is None
    assert document(program)["items"][0]["achieved"]["dram"]["total"] is None


def test_the_mean_of_the_calls_that_are_known_says_so():
    program = read(
        run(op(), op(), op(), kernel(0, 200e6, 90e6), kernel(1, 210e6, 110e6), kernel(2))
    )
    found = item(program)
    # Mean of 290 and 320 MB, for three calls.
    assert found.placement.work.achieved.demand()[DRAM] == 3 * 305_000_000
    (why, _) = (entry.why for entry in found.placement.work.achieved.entries)
    assert why == f"CUPTI PM sampling, this run, mean of 2 of 3 calls: {READ}"


def test_bounds_add_up():
    program = read(run(op(), kernel(0, 100e6, 0, 90e6, 120e6), kernel(0, 100e6, 100e6)))
    entry = item(program).placement.work.achieved.entries[0]
    assert entry.exactness is Exactness.BOUNDED
    assert (entry.amount, entry.low, entry.high) == (200_000_000, 190_000_000, 220_000_000)
    dram = document(program)["items"][0]["achieved"]["dram"]
    assert (dram["low"], dram["high"]) == (290_000_000, 320_000_000)


def test_what_no_call_caused_stands_for_itself():
    program = read(run(kernel(None, 200e6, 100e6, signature=3)))
    achieved = item(program, "by hand").placement.work.achieved
    assert (achieved.demand()[DRAM], achieved.entries[0].why) == (300_000_000, SOURCE)


def test_counters_of_warm_up_are_not_mixed_in():
    warm = Step(start_ns=0, duration_ns=1_000, warmup=True)
    given = run(op(step=0), op(step=1), kernel(0, 9e6, 0, step=0), kernel(1, 200e6, 100e6, step=1))
    given = replace(given, steps=(warm, *given.steps))
    assert item(read(given)).placement.work.achieved.demand()[DRAM] == 300_000_000


def test_data_that_crossed_dram_was_in_no_cache():
    # 8 MB fit the L2 of 50 MB.  Counters saw 1 MB, then 7 MB cross DRAM.
    assert item(read(run(op(1), kernel(0, 1e6, 0))), "aten::exp").placed_at == L2
    assert item(read(run(op(1), kernel(0, 4e6, 3e6))), "aten::exp").placed_at == DRAM
    assert item(read(run(op(1), kernel(0), how="")), "aten::exp").placed_at == L2


def test_a_step_has_all_that_crossed():
    counters = {READ: 450e6, WRITE: 150e6}
    program = read(run(op(), kernel(0, 200e6, 100e6), step_counters=counters))
    whole = document(program)["program"]
    assert whole["achieved"]["dram"]["read"] == 450_000_000
    assert whole["achieved"]["dram"]["total"] == 600_000_000
    # mul by formula: two operands in and one out where they are two, 300 MB.
    needed = item(program).placement.work.algorithmic.demand()[DRAM]
    assert whole["excess"]["dram"] == pytest.approx(600_000_000 / needed)
    assert whole["told"] == 0.5  # the kernel's 300 of 600 MB


def test_a_step_that_nobody_counted_is_null_and_one_with_unknown_calls_has_no_excess():
    assert document(read(run(op(), kernel(0))))["program"]["achieved"] is None
    strange = Signature(name="my::op", call=call("my::op", X, out=X))
    given = run(op(), kernel(0, 1e6, 0), step_counters={READ: 1e6, WRITE: 0.0})
    given = replace(given, signatures=(strange, *SIGNATURES[1:]))
    whole = document(read(given))["program"]
    assert whole["achieved"]["dram"]["read"] == 1_000_000
    assert whole["excess"]["dram"] is None


def test_re_reading_is_found_from_the_same_warm_run():
    codes = [f.code for f in diagnose(read(run(op(), kernel(0, 900e6, 100e6, us=1100))))]
    assert "RF104" in codes
    # As many bytes as the formula says is no finding.
    codes = [f.code for f in diagnose(read(run(op(), kernel(0, 200e6, 100e6, us=1100))))]
    assert "RF104" not in codes


def test_what_caches_served_is_no_finding_and_what_they_cannot_hold_is():
    # mul needs 300 MB.  60 MB too few could have been held by an L2 of 64 MB; 250 MB could not.
    card = replace(
        CARD, facts=(Fact(name="l2_capacity", value=64_000_000, unit="B", provenance=STATED),)
    )
    held = replace(run(op(), kernel(0, 160e6, 80e6)), device=card)
    assert "RF004" not in [f.code for f in diagnose(read(held))]
    lost = replace(run(op(), kernel(0, 30e6, 20e6)), device=card)
    (finding,) = (f for f in diagnose(read(lost)) if f.code == "RF004")
    assert "more is missing than the L2 holds" in finding.claim


def test_re_reading_behind_a_busy_pipe_costs_nothing():
    # A product of 4096: 137 Gflop take 13.7 ms at 10 Tflop/s; 1.6 GB too many take 1.6 ms.
    square = tensor(4096, 4096)
    product = Signature(name="aten::mm", call=call("aten::mm", square, square, out=square))
    given = run(op(), kernel(0, 1.7e9, 67e6, us=15_000))
    given = replace(given, signatures=(product, *SIGNATURES[1:]))
    program = read(given)
    assert document(program)["items"][0]["excess"]["dram"] > 8
    assert "RF104" not in [f.code for f in diagnose(program)]


def test_what_was_sampled_says_nothing_of_other_conditions():
    given = run(op(1), kernel(0, 40e6, 8e6), step_counters={READ: 40e6, WRITE: 8e6})
    changed = what_if(given, dtype="bf16")
    assert item(changed.before, "aten::exp").placement.work.achieved is not None
    assert item(changed.after, "aten::exp").placement.work.achieved is None
    assert changed.after.achieved is None


def test_the_terminal_says_how_and_how_often():
    given = run(op(1), kernel(0, 40e6, 8e6), step_counters={READ: 40e6, WRITE: 8e6})
    console = Console(record=True, width=110, file=StringIO())
    print_document(document(read(given)), console)
    text = " ".join(console.export_text().split())
    assert f"counters: {HOW}" in text
    assert "one step reads 40.0 MB and writes 8.00 MB over dram: 6.00 times the bytes of" in text
    assert "kernels have 100% of them as their own" in text
    assert "6.00x" in text
    console = Console(record=True, width=110, file=StringIO())
    print_document(document(read(run(op(1), kernel(0), how=""))), console)
    assert "over dram" not in console.export_text()


def test_it_is_all_in_the_file(tmp_path):
    given = run(op(), kernel(0, 200e6, 100e6, 190e6, 210e6), step_counters={READ: 1e6, WRITE: 0.0})
    save(given, tmp_path / "run.roof")
    back = load(tmp_path / "run.roof")
    assert back.recorder.counters == HOW
    assert back.steps[0].counters == {READ: 1e6, WRITE: 0.0}
    assert back.rows()[1]["counters"][READ + ":low"] == 190e6
