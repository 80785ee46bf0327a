"""RF003: kernels and ceilings at different clocks."""

from dataclasses import replace

from roofline.device import DRAM, VECTOR_FP32, Ceiling, Device, Reach, Variant
from roofline.diagnosis import diagnose
from roofline.program import read
from roofline.provenance import Basis
from roofline.runfile import Event, Run, Signature, Step, table
from tests.roofs import STATED
from tests.runs import RECORDER

# 4 G fused multiply-adds are 8 Gflop: 0.8 ms at 10 Tflop/s, in 1 ms.
ARITHMETIC = {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 4e9}
# 800 MB: 0.8 ms at 1 TB/s.
MEMORY = {"dram__bytes_read.sum": 400e6, "dram__bytes_write.sum": 400e6}


def findings(counters, kernel_hz, ceiling_hz=1762e6, provenance=STATED, reach=None):
    card = Device(
        id="card", name="Card", kind="gpu",
        ceilings=tuple(
            Ceiling(
                resource=r, rate=rate, provenance=provenance, clock_hz=ceiling_hz,
                variant=Variant(reach=reach),
            )
            for r, rate in ((DRAM, 1e12), (VECTOR_FP32, 10e12))
        ),
    )  # fmt: skip
    counters = counters | {"gpc__cycles_elapsed.avg.per_second": kernel_hz}
    event = Event(
        signature=0, kind="kernel", step=0, start_ns=0, duration_ns=1_000_000, counters=counters
    )
    run = Run(
        recorder=RECORDER, device=card, signatures=(Signature(name="kernel"),),
        steps=(Step(start_ns=0, duration_ns=1_000_000),), gaps=(), events=table([event]),
    )  # fmt: skip
    return [f for f in diagnose(read(run)) if f.code == "RF003"]


def test_a_kernel_at_another_clock_is_said_with_its_fraction_at_equal_clocks():
    """8 Gflop in 1 ms is 80 % of 10 Tflop/s; at equal clocks 80 % x 1762/1395 = 101 %."""
    (finding,) = findings(ARITHMETIC, 1395e6)
    assert finding.claim == (
        "kernel ran at 1395 MHz and the ceiling above it was measured at 1762 MHz: "
        "21% apart by the clock alone"  # 1 - 1395/1762 = 0.208
    )
    assert finding.evidence == (
        "kernel: 1395 MHz against 1762 MHz: 80% of the roof, 101% at equal clocks",
    )
    assert (finding.item, finding.items, finding.doubt_s) == ("", (), None)  # silences no advice


def test_a_library_s_clock_was_read_beside_its_work():
    (finding,) = findings(ARITHMETIC, 1395e6, reach=Reach.LIBRARY)
    assert "101% at equal clocks" in finding.evidence[0]
    assert finding.evidence[1].endswith("its fractions at equal clocks are at most these")


def test_a_printed_peak_is_shown_at_the_clock_of_the_kernel():
    """10 Tflop/s printed for 2 GHz are 7 at 1.4 GHz; 8 Gflop in 1 ms are 80 % of 10."""
    sheet = replace(STATED, basis=Basis.DATASHEET, conditions="FMA, 2 GHz boost clock")
    (finding,) = findings(ARITHMETIC, 1400e6, ceiling_hz=None, provenance=sheet)
    assert "ran at 1400 MHz and the ceiling above it is printed for 2000 MHz: 30%" in finding.claim
    assert finding.evidence == (
        "kernel: 1400 MHz against 2000 MHz: 80% of the roof, 114% at equal clocks; "
        "10.0 Tflop/s printed are 7.00 Tflop/s at its clock",
    )
    assert findings(ARITHMETIC, 1960e6, ceiling_hz=None, provenance=sheet) == []  # 2 % apart
    assert findings(MEMORY, 1400e6, ceiling_hz=None, provenance=sheet) == []
    silent = replace(sheet, conditions="dense")  # a sheet that tells no clock
    assert findings(ARITHMETIC, 1400e6, ceiling_hz=None, provenance=silent) == []


def test_three_percent_is_the_limit():
    assert findings(ARITHMETIC, 1762e6 * 0.975) == []
    assert findings(ARITHMETIC, 1762e6 * 0.965) != []
    assert findings(ARITHMETIC, 1762e6 * 1.04) != []


def test_memory_has_a_clock_of_its_own_and_an_unknown_clock_says_nothing():
    assert findings(MEMORY, 1395e6) == []
    assert findings(ARITHMETIC, 1395e6, ceiling_hz=None) == []


def test_the_document_carries_the_ceilings_clock():
    from roofline.report.document import document

    card = Ceiling(resource=VECTOR_FP32, rate=10e12, provenance=STATED, clock_hz=1.98e9)
    device = Device(
        id="card", name="Card", kind="gpu", ceilings=(card, replace(card, resource=DRAM))
    )
    event = Event(
        signature=0, kind="kernel", step=0, start_ns=0, duration_ns=1_000_000, counters=ARITHMETIC
    )
    run = Run(
        recorder=RECORDER, device=device, signatures=(Signature(name="kernel"),),
        steps=(Step(start_ns=0, duration_ns=1_000_000),), gaps=(), events=table([event]),
    )  # fmt: skip
    shown = document(read(run))
    assert [c["clock_hz"] for c in shown["roof"]] == [1.98e9, 1.98e9]
    assert shown["items"][0]["bounds"][0]["clock_hz"] == 1.98e9


def test_a_clock_of_zero_is_one_that_was_not_read():
    assert findings(ARITHMETIC, 0.0) == []
