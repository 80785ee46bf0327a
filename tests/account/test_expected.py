"""The expected time of calls, by hand: starts, mixes of reads and writes, paces."""

from dataclasses import replace
from datetime import date

import pytest

import roofline as rl
from roofline import ops
from roofline.accounting.account import Account, Line
from roofline.accounting.expected import NO_START, expected, of_call, roofs
from roofline.call import Call, Tensor
from roofline.device import (
    DRAM,
    ELEMENTS,
    FOLLOWING,
    LAUNCH,
    SMALL_STREAM,
    VECTOR_FP32,
    Ceiling,
    Fact,
    Reach,
    Roof,
    Variant,
)
from roofline.ops.pace import PLAIN, Pace
from roofline.provenance import Basis, Provenance, Spread
from roofline.report.account import document
from roofline.runfile import Signature

MEASURED = Provenance(basis=Basis.MEASURED, source="hand", as_of=date(2026, 1, 1))


def ceiling(resource, rate, **variant):
    return Ceiling(resource=resource, rate=rate, provenance=MEASURED, variant=Variant(**variant))


def pace_of(way, rate):
    return ceiling(ELEMENTS, rate, reach=Reach.LIBRARY, way=way)


# Reads and writes take 1 ps/B, copies 2 ps/B; a kernel starts for 5 us, one that follows for 2; casts
# go at 100 G/s; softmax takes 1 ns a row of 512 and 2 ns a row of 1536.
CEILINGS = (
    ceiling(DRAM, 1e12, access="read"), ceiling(DRAM, 5e11, access="copy"),
    ceiling(DRAM, 1e12, access="write"), ceiling(VECTOR_FP32, 1e18),
    ceiling(LAUNCH, 2e5, way=SMALL_STREAM), ceiling(LAUNCH, 5e5, way=FOLLOWING),
    pace_of("casts", 1e11),
    pace_of("softmax, 2 B, rows of 512", 512 / 1e-9), pace_of("softmax, 2 B, rows of 1536", 1536 / 2e-9),
    pace_of("layer norm, odd length, 4 B, rows of 1026", 1e11),
)  # fmt: skip
ROOF = Roof(name="toy", kind="gpu", ceilings=CEILINGS)


def of(call, roof=ROOF):
    return of_call(call, ops.account(call), ops.executed(call), roofs(roof))


def call(op, *args, out):
    return Call(op, args, (out,), device="cuda")


def flat(n, dtype="fp32"):
    return Tensor((n,), dtype, (1,))


def test_bytes_cross_at_a_time_between_the_nearest_mixes():
    """8 MB read and 4 MB written: two thirds are reads.  A byte of a copy takes 2 ps, of a read 1;
    a third of the way from 0.5 to 1 it takes 5/3 ps: 12 MB take 20 us, after 5 us of starting."""
    n = 1_000_000
    found = of(call("aten::add", flat(n), flat(n), 1, out=flat(n)))

    assert found.seconds == pytest.approx(25e-6)
    assert (found.start_s, found.by, found.lacking) == (5e-6, "dram", ())
    assert found.least_s == pytest.approx(24e-6)  # 12 MB at the copy's ceiling, the nearest mix


def test_a_way_of_its_own_pace_binds_where_it_is_slower_than_memory():
    """1 M casts at 100 G/s are 10 us.  1 MB read and 2 MB written, a third of them reads, between
    writes and a copy, are 3 MB at 5/3 ps: 5 us."""
    n = 1_000_000
    found = of(call("aten::_to_copy", flat(n, "int8"), "bf16", out=flat(n, "bf16")))

    assert found.by == "casts"
    assert found.seconds == pytest.approx(15e-6)


def test_rows_cost_something_between_the_lengths_that_were_timed():
    """Rows of 1024 lie in the middle of 512 and 1536: 1.5 ns each, 100,000 of them 150 us, in a toy
    whose memory takes no time."""
    fast = replace(ROOF, ceilings=(ceiling(DRAM, 1e20, access="copy"), *CEILINGS[3:]))
    x = Tensor((100_000, 1024), "bf16", (1024, 1))
    found = of(call("aten::_softmax", x, -1, False, out=x), fast)

    assert found.by == "softmax"
    assert found.seconds == pytest.approx(5e-6 + 150e-6)


@pytest.mark.parametrize(("length", "row_s"), [(128, 1e-9), (1920, 2.5e-9)])
def test_shorter_rows_cost_as_much_as_the_shortest_and_longer_ones_go_at_its_pace(length, row_s):
    """1536 elements took 2 ns, so 1920 take 2.5."""
    fast = replace(ROOF, ceilings=(ceiling(DRAM, 1e20, access="copy"), *CEILINGS[3:]))
    x = Tensor((10_000, length), "bf16", (length, 1))
    found = of(call("aten::_softmax", x, -1, False, out=x), fast)

    assert found.seconds == pytest.approx(5e-6 + 10_000 * row_s)


def test_what_passes_twice_starts_twice_and_reads_twice():
    """Layer norm of 1000 rows of 1026: two kernels, x read by both, of which the second starts within
    2 us.  At 100 G/s 1.026 M elements take 10.26 us.  4.1 MB read twice and 4.1 MB written, with the parameters' and the statistics'
    24 kB: 12.3 MB at 5/3 ps are 20.5 us: memory binds."""
    x, row = Tensor((1000, 1026), "fp32", (1026, 1)), flat(1026)
    outs = (x, Tensor((1000, 1)), Tensor((1000, 1)))
    found = of(Call("aten::native_layer_norm", (x, (1026,), row, row, 1e-5), outs, device="cuda"))

    assert found.start_s == pytest.approx(7e-6)
    assert found.by == "dram"
    assert found.seconds == pytest.approx(7e-6 + 20.5e-6, rel=0.01)


def test_a_kernel_that_follows_starts_as_the_first_where_nothing_else_was_measured():
    bare = replace(ROOF, ceilings=tuple(c for c in CEILINGS if c.variant.way != FOLLOWING))
    twice = Pace(then=(Pace(read=1_000_000),))

    # 5 us and 1 MB read in 1 us, twice
    found = of_call(None, rl.ledger(read=1_000_000, write=0), None, roofs(bare), twice)
    assert found.seconds == pytest.approx(12e-6)


TEN = Fact(name="sm_count", value=10, unit="", provenance=MEASURED)


@pytest.mark.parametrize(
    ("blocks", "seconds"),
    [
        (10, 10e-6),  # one wave of 10 us
        (40, 40e-6),
        (
            1,
            4.6e-6,
        ),  # by itself a block takes 0.4 of a wave, and 0.06 more for each tenth of others
        (6, 4e-6 + 6e-6 * 0.6),
        (15, 10e-6 + 4e-6 + 6e-6 * 0.5),
    ],
)
def test_the_last_wave_of_blocks_is_not_full(blocks, seconds):
    """10 multiprocessors, a block on each: 100,000 elements a block at 100 G/s."""
    how = Pace("casts", blocks * 100_000, blocks=blocks, together=1)
    roof = replace(ROOF, facts=(TEN,))

    found = of_call(None, rl.ledger(read=1, write=0), None, roofs(roof), how)
    assert found.seconds == pytest.approx(5e-6 + seconds)


@pytest.mark.parametrize(
    ("blocks", "seconds"),
    [
        (40, 10e-6),
        (10, 4e-6),
        (5, 4e-6),  # each by itself, be they ten or five
        (25, 4e-6 + 6e-6 * 0.5),  # half of the way from 10 to 40
        (50, 10e-6 + 4e-6),
    ],
)
def test_blocks_by_themselves_take_what_was_measured_of_few(blocks, seconds):
    """10 multiprocessors, 4 blocks on each.  Sums of rows of 1000, one a block: at 4 G/s 40 of them
    take 10 us, at 2.5 G/s 10 of them 4."""
    paces = (
        pace_of("rows summed, 4 B, rows of 1000", 4e9),
        pace_of("rows summed, few blocks, 4 B, rows of 1000", 2.5e9),
    )
    roof = replace(ROOF, facts=(TEN,), ceilings=(*CEILINGS, *paces))
    how = Pace("rows summed", blocks * 1000, 1000, 4, blocks=blocks, together=4)

    found = of_call(None, rl.ledger(read=1, write=0), None, roofs(roof), how)
    assert found.seconds == pytest.approx(5e-6 + seconds)


def test_what_was_not_measured_is_said():
    bare = replace(ROOF, ceilings=CEILINGS[:4])
    found = of(call("aten::_to_copy", flat(1000, "int8"), "bf16", out=flat(1000, "bf16")), bare)

    assert found.lacking == (
        NO_START,
        "the pace of casts is not measured on this device: taken as bound by memory",
    )
    assert found.start_s == 0.0


def test_a_kernel_of_ones_own_passes_as_its_author_says():
    """1 M elements at 100 G/s are 10 us, its 2 MB 2 us."""
    ledger = rl.ledger(read=1_000_000, write=1_000_000)

    assert of_call(None, ledger, None, roofs(ROOF), Pace("casts", 1_000_000)).by == "casts"
    assert of_call(None, ledger, None, roofs(ROOF), PLAIN).by == "dram"


def test_the_interval_is_that_of_the_rates():
    """12 MB at 1 TB/s within 0.8 and 1.25 TB/s: 9.6 to 15 us, and 5 us of starting."""
    known = replace(
        MEASURED,
        spread=Spread(n=20, median=1e12, q1=9e11, q3=1.1e12, best=1.3e12, low=8e11, high=1.25e12),
    )
    one = Ceiling(resource=DRAM, rate=1e12, provenance=known, variant=Variant(access="copy"))
    roof = replace(ROOF, ceilings=(one, *CEILINGS[3:]))
    found = of(call("aten::add", flat(1_000_000), flat(1_000_000), 1, out=flat(1_000_000)), roof)

    assert found.seconds == pytest.approx(17e-6)
    assert found.interval_s == (pytest.approx(14.6e-6), pytest.approx(20e-6))


def account():
    n = 1_000_000
    made = call("aten::add", flat(n), flat(n), 1, out=flat(n))
    signature = Signature(name=made.op, call=made, ledger=ops.account(made))
    return Account(subject="toy", signatures=(signature,), lines=(Line(signature=0, calls=3),))


def test_calls_follow_each_other():
    """Three times 25 us."""
    found = expected(account(), account().lines, ROOF)

    assert found.seconds == pytest.approx(75e-6)
    assert found.start_s == pytest.approx(15e-6)


def test_an_account_says_it_where_the_start_was_measured():
    device = rl.device("h200-sxm")
    sheet = replace(device, ceilings=CEILINGS)

    told = document(account(), device=sheet)
    assert told["expected_s"] == told["items"][0]["expected_s"] == pytest.approx(75e-6)
    assert told["expected_by"] == "dram"
    assert document(account(), device=replace(sheet, ceilings=CEILINGS[:4]))["expected_s"] is None
