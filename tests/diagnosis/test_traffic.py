"""Bytes that need not move, or move in crumbs."""

from dataclasses import replace

import pytest

from roofline.call import Call
from roofline.device import DRAM, PCIE, Ceiling, Device, Fact
from roofline.diagnosis import diagnose
from roofline.measurement import CacheState
from roofline.program import read
from roofline.runfile import Event, Run, Signature, Step, table
from roofline.work import Entry, algorithmic
from tests.roofs import STATED
from tests.runs import RECORDER, Script, call, device, tensor

GPU = Device(
    id="card", name="Card", kind="gpu",
    ceilings=(Ceiling(resource=DRAM, rate=672e9, provenance=STATED),),
)  # fmt: skip
X = tensor(1000, 1000)  # 4 MB
HALF = tensor(1000, 1000, dtype="bf16")
RELU = call("aten::relu", X, out=X)  # 8 MB: 0.8 ms on the toy CPU of 10 GB/s
MM = call("aten::mm", X, X, out=X)  # 20 ms


def found(script, on=None):
    return {f.code: f for f in diagnose(read(script.end_step().run(on=on)))}


def product(read_mb, written_mb, us=400.0, on=GPU, **recorder):
    """A kernel that must move 100 MB in and 50 MB out, with what counters saw, at 672 GB/s."""
    needs = algorithmic(
        Entry(DRAM, 100_000_000, "in", "read"), Entry(DRAM, 50_000_000, "out", "write")
    )
    counters = {"dram__bytes_read.sum": read_mb * 1e6, "dram__bytes_write.sum": written_mb * 1e6}
    event = Event(
        signature=0, kind="region", step=0, start_ns=0, duration_ns=round(us * 1000),
        counters=counters,
    )  # fmt: skip
    run = Run(
        recorder=replace(RECORDER, **recorder), device=on,
        signatures=(Signature(name="product", ledger=needs),),
        steps=(Step(start_ns=0, duration_ns=round(us * 1000)),), gaps=(), events=table([event]),
    )  # fmt: skip
    return {f.code: f for f in diagnose(read(run))}


def test_bytes_that_move_again_are_said_and_priced():
    """200 MB read and 50 written against 150 needed: 1.7 times; 100 MB at 672 GB/s are 149 us.

    In 500 us 150 MB are 45 % of the roof: the re-reading explains 149 of 277 us lost, so that
    RF201 does not call it unexplained.
    """
    codes = product(200, 50, us=500.0)

    assert "product () moves 1.7 times the bytes over dram" in codes["RF104"].claim
    assert codes["RF104"].evidence[0] == "reads 200 MB a call, 100 MB needed"
    assert codes["RF104"].saves_s == pytest.approx(100e6 / 672e9)
    assert "RF201" not in codes


L2_60_MB = Fact(name="l2_capacity", value=60e6, unit="B", provenance=STATED)


def test_what_others_left_in_the_cache_is_no_excess_of_a_call():
    """100 MB read and 110 written: 60 of them may have been left in the L2; emptied, 1.4 times."""
    on = replace(GPU, facts=(L2_60_MB,))

    assert "RF104" not in product(100, 110, us=500.0, on=on)
    codes = product(100, 110, us=500.0, on=on, cache=CacheState.FLUSHED)
    assert codes["RF104"].saves_s == pytest.approx(60e6 / 672e9)
    # 120 MB more than needed, of which 60 may be another's
    more = product(100, 170, us=500.0, on=on)["RF104"]
    assert more.saves_s == pytest.approx(60e6 / 672e9)
    assert "60.0 MB of the writes may be another call's" in more.evidence


def test_a_fifth_more_is_no_excess():
    """180 MB against 150 are 1.2 times."""
    assert "RF104" not in product(130, 50)


def test_copies_are_one_finding_with_casts_apart():
    """A cast (6 MB) and a transposed clone (8 MB), 1 ms each, beside 20.5 ms of product."""
    cast = call("aten::_to_copy", X, "bf16", out=HALF)
    clone = call("aten::clone", tensor(1000, 1000), out=X)
    codes = found(Script().add(MM, 20_500).add(cast, 1_000).add(clone, 1_000))
    finding = codes["RF105"]

    # 2 of 22.5 ms; 14 of 26 MB (mm moves 12)
    assert "9% of the operators' time goes into copies" in finding.claim
    assert "2.00 ms a step, 54% of all bytes" in finding.claim
    assert finding.evidence[:2] == (
        "into another type: 1 call, 1.00 ms a step",
        "into another place or layout: 1 call, 1.00 ms a step",
    )
    assert finding.saves_s == pytest.approx(2e-3)


def test_few_copies_and_copies_from_the_host_are_not_said():
    """1 of 21.5 ms is 4.7 %; a copy over the link moves what has to arrive."""
    clone = call("aten::clone", tensor(1000, 1000), out=X)
    assert "RF105" not in found(Script().add(MM, 20_500).add(clone, 1_000))

    upload = algorithmic(Entry(PCIE, 4_000_000, "from the host", "read"))
    script = Script().add(MM, 20_500).add(clone, 5_000).end_step()
    run = script.run()
    linked = replace(run.signatures[1], call=None, ledger=upload, name="aten::copy_")
    run = replace(run, signatures=(run.signatures[0], linked))
    assert "RF105" not in {f.code for f in diagnose(read(run))}


def gather(rows, width):
    """`rows` random rows of `width` fp32 out of a table of a million rows."""
    table_, index = tensor(1_000_000, width), tensor(rows, dtype="int64")
    return Call("aten::index_select", (table_, 0, index), (tensor(rows, width),), "cuda")


def test_elements_picked_one_by_one_use_4_of_32_bytes():
    """1e6 hits of 4 B: 4 MB picked, 4 MB written, 8 MB of indices: 16 MB in 100 us, 160 GB/s.

    At 672 GB/s that is 24 %; of single elements 672 x 4/32 = 84 GB/s can be of use.
    """
    finding = found(Script().add(gather(1_000_000, 1), 100), on=GPU)["RF106"]

    assert "reaches 160 GB/s of useful bytes, 24% of its dram roof" in finding.claim
    assert finding.evidence[0] == "4 B a hit"
    assert "4 of 32 B are of use, and 84.0 GB/s is the most" in finding.evidence[1]


def test_wide_rows_near_the_roof_are_no_finding_and_unexplained_products_stay_rf201():
    """1e5 rows of 256 B: 25.6 MB picked and written, 0.8 MB of indices: 52 MB; 77 us at 672 GB/s."""
    assert "RF106" not in found(Script().add(gather(100_000, 64), 90), on=GPU)
    codes = found(Script().add(gather(100_000, 64), 300), on=GPU)
    assert "RF106" in codes
    assert "RF201" not in codes
    assert "RF201" in found(Script().add(MM, 100_000), on=device())
