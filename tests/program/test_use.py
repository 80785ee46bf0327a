"""MFU and MBU, what binds beside what binds, and what a placement rests on."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from roofline.device import DRAM, VECTOR_FP32, Ceiling, Roof
from roofline.placement import place
from roofline.program import hfu, mbu, mfu, read, single
from roofline.provenance import spread
from roofline.report.document import document
from roofline.report.text import print_document
from roofline.runfile import Event, Run, Signature, Step, table
from roofline.work import Entry, Exactness, algorithmic
from tests.roofs import roof
from tests.runs import MEASURED, RECORDER, Script, call, device, tensor

X = tensor(1000, 1000)
MM = call("aten::mm", X, X, out=X)  # 2 Gflop, 12 MB; 20 ms on the toy CPU
UNKNOWN = call("my::kernel", X, out=X)
KERNEL = {"dram__bytes_read.sum": 8e6, "dram__bytes_write.sum": 4e6}


def counted():
    """One kernel of 2 ms that moved 12 MB by counters."""
    event = Event(
        signature=0, kind="kernel", step=0, start_ns=0, duration_ns=2_000_000, counters=KERNEL
    )
    run = Run(
        recorder=RECORDER, device=device(), signatures=(Signature(name="k"),),
        steps=(Step(start_ns=0, duration_ns=2_000_000),), gaps=(), events=table([event]),
    )  # fmt: skip
    return read(run)


def printed(made):
    console = Console(width=300, file=StringIO())
    print_document(made, console)
    return console.file.getvalue()


def test_of_a_whole_step_with_its_formula():
    """Two products in 100 ms, half of it waiting: 4 Gflop / (100 ms x 100 Gflop/s) = 40 %.

    24 MB / (100 ms x 10 GB/s) = 2.4 %.
    """
    program = read(Script().add(MM, 25_000).add(MM, 25_000).idle(50_000).end_step().run())

    assert mfu(program).share == pytest.approx(0.4)
    assert (
        mfu(program).formula == "4.00 Gflop useful on vector-fp32 / (100 ms x 100 Gflop/s measured)"
    )
    assert mbu(program).share == pytest.approx(0.024)
    assert mbu(program).formula == "24.0 MB useful on dram / (100 ms x 10.0 GB/s measured)"


def test_mean_of_steps_and_at_least_where_something_is_unknown():
    """Steps of 50 and 150 ms with one product each: 2 Gflop a step of 100 ms, 20 %."""
    script = Script().add(MM, 50_000).end_step().add(MM, 50_000).add(UNKNOWN, 100_000).end_step()
    use = mfu(read(script.run()))

    assert use.share == pytest.approx(0.2)
    assert use.formula.startswith("at least 2.00 Gflop useful")


def test_counters_are_said_to_be_counters():
    """12 MB in 2 ms on 10 GB/s: 60 %; nobody counted flop."""
    assert mbu(counted()).formula.startswith("12.0 MB achieved on dram")
    assert mbu(counted()).share == pytest.approx(0.6)
    assert mfu(counted()) is None


def test_flop_that_only_a_counter_knows_ran_and_nobody_says_they_were_useful():
    """2 Gflop by formula in 20 ms and 1 Gflop by a counter in 20 ms, on 100 Gflop/s.

    MFU at least 2 / (40 ms x 100) = 50 %, HFU 3 / 4 = 75 %; of the counter alone HFU 1 / 2.
    """
    fma = {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 5e8}

    def kernel(step_ns, start_ns):
        event = Event(
            signature=0, kind="kernel", step=0, start_ns=start_ns, duration_ns=20_000_000,
            counters=fma,
        )  # fmt: skip
        return event, (Step(start_ns=0, duration_ns=step_ns),)

    event, steps = kernel(20_000_000, 0)
    run = Run(
        recorder=RECORDER, device=device(), signatures=(Signature(name="k"),), steps=steps,
        gaps=(), events=table([event]),
    )  # fmt: skip
    alone = read(run)
    assert mfu(alone) is None
    assert "1.00 Gflop executed on vector-fp32" in hfu(alone).formula
    assert hfu(alone).share == pytest.approx(0.5)
    text = printed(document(alone))
    assert "HFU 50%" in text
    assert "MFU" not in text

    event, steps = kernel(40_000_000, 20_000_000)
    product = Event(signature=1, kind="op", step=0, start_ns=0, duration_ns=20_000_000)
    signatures = (*run.signatures, Signature(name=MM.op, call=MM))
    both = read(replace(run, signatures=signatures, steps=steps, events=table([product, event])))
    assert mfu(both).formula.startswith("at least 2.00 Gflop useful")
    assert mfu(both).share == pytest.approx(0.5)
    assert hfu(both).share == pytest.approx(0.75)


def test_without_a_time_there_is_none():
    assert mfu(single("gemm", algorithmic(Entry(VECTOR_FP32, 10, "x")), roof(dram=1.0))) is None


def test_the_document_and_the_text_hold_both():
    program = read(Script().add(MM, 40_000).end_step().run())
    made = document(program)
    text = printed(made)

    assert made["program"]["mfu"]["share"] == pytest.approx(0.5)
    assert made["program"]["mbu"]["resource"] == "dram"
    assert "MFU 50% = 2.00 Gflop useful on vector-fp32 / (40.0 ms x 100" in text


def test_what_a_placement_rests_on_is_a_label_of_each_line_and_of_the_header():
    timed = document(read(Script().add(MM, 40_000).add(UNKNOWN, 10).end_step().run()))
    alone = document(single("mm", algorithmic(Entry(DRAM, 12, "x", "read")), roof(dram=1.0)))

    assert {i["name"]: i["degree"] for i in timed["items"]} == {
        "aten::mm": "formula", "my::kernel": None,
    }  # fmt: skip
    assert [i["degree"] for i in document(counted())["items"]] == ["counters"]
    assert [i["degree"] for i in alone["items"]] == ["bound"]
    assert "counters and the times of their own launches" in printed(document(counted()))


def near_ridge(low, high):
    """12 flop at 1 a second against 10 B at 1 a second, whose ceiling lies in [low, high]."""
    wide = replace(MEASURED, spread=spread([low, low, low, 1.0, high, high, high]))
    return Roof(
        name="toy", kind="gpu",
        ceilings=(
            Ceiling(resource=VECTOR_FP32, rate=1.0, provenance=MEASURED),
            Ceiling(resource=DRAM, rate=1.0, provenance=wide),
        ),
    )  # fmt: skip


WORK = algorithmic(Entry(VECTOR_FP32, 12, "flop"), Entry(DRAM, 10, "B", "read"))


def test_near_a_ridge_the_next_resource_may_bind_as_well():
    """10 B at 0.8 to 1.2 B/s take 8.3 to 12.5 s, beside 12 s of arithmetic."""
    placement = place(WORK, near_ridge(0.8, 1.2))

    assert placement.binding.demanded == VECTOR_FP32
    assert placement.ambiguous_with == (DRAM,)


def test_outside_the_intervals_it_is_one():
    """At 0.9 B/s 11.1 s: less than 12."""
    assert place(WORK, near_ridge(0.9, 1.1)).ambiguous_with == ()


def test_bounds_of_the_ledger_count_too():
    """10 B that may be 13: 13 s at 1 B/s."""
    doubtful = Entry(DRAM, 10, "B", "read", Exactness.BOUNDED, 5, 13)
    work = algorithmic(Entry(VECTOR_FP32, 12, "flop"), doubtful)

    assert place(work, near_ridge(1.0, 1.0)).ambiguous_with == (DRAM,)
