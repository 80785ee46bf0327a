"""Different calls on one line: bounds that are added part by part, and what they share."""

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from roofline.device import DRAM, L2, VECTOR_FP32, Ceiling, Roof, Variant
from roofline.placement import place
from roofline.program import GROUPINGS, read
from roofline.program.item import Conditions, Part, line
from roofline.report.document import document, of_run
from roofline.report.text import print_document
from roofline.runfile import Event, Run, Signature, Step, table
from roofline.work import Entry, algorithmic
from tests.roofs import STATED
from tests.runs import RECORDER, Script, call, device, tensor

ROOF = Roof(
    name="toy",
    kind="cpu",
    ceilings=(
        Ceiling(resource=VECTOR_FP32, rate=1e9, provenance=STATED),
        Ceiling(resource=DRAM, rate=10e9, provenance=STATED, variant=Variant(access="read")),
        Ceiling(resource=DRAM, rate=6e9, provenance=STATED, variant=Variant(access="copy")),
        Ceiling(resource=DRAM, rate=2e9, provenance=STATED, variant=Variant(access="write")),
    ),
)
CONDITIONS = Conditions(roof=ROOF, steps=1, call_overhead_s=None, shortest_s=None)


def part(number: int, flop: int, reads: int, writes: int, calls: int = 1) -> Part:
    ledger = algorithmic(
        Entry(VECTOR_FP32, flop, "x"), Entry(DRAM, reads, "in", "read"),
        Entry(DRAM, writes, "out", "write"),
    )  # fmt: skip
    return Part(
        signature=number, name="x", shapes="", phase="other", module="", kind="op",
        once=place(ledger, ROOF), calls=calls, starts=calls, times_ns=(), step_ns={}, page_faults=None,
    )  # fmt: skip


def test_the_loose_bound_adds_each_part_at_its_own_ceiling():
    """10 GB read at 10 GB/s, and 10 GB copied (half and half) at 6: 1 + 1.667 s at DRAM.

    The summed ledger, 15 of 20 GB read, would meet the ceiling of reads or that of copies for all.
    """
    group = line("both", [part(0, 0, 10 * 10**9, 0), part(1, 0, 5 * 10**9, 5 * 10**9)], CONDITIONS)

    assert group.placement.roof_s == pytest.approx(1 + 10 / 6)
    assert group.roof_s == pytest.approx(1 + 10 / 6)
    (bound,) = group.placement.bounds
    assert (bound.amount, bound.ceiling.rate) == (20 * 10**9, pytest.approx(20e9 / (1 + 10 / 6)))


amounts = st.integers(0, 10**12)
parts = st.lists(st.tuples(amounts, amounts, amounts, st.integers(1, 50)), min_size=2, max_size=6)


@given(parts)
def test_loose_is_never_above_tight(made):
    """For every mix of reads and writes: max over resources of sums <= sum of maxima."""
    group = line("all", [part(at, *each) for at, each in enumerate(made)], CONDITIONS)

    assert group.placement.roof_s <= group.roof_s * (1 + 1e-12)
    assert group.roof_s <= group.serial_s * (1 + 1e-12)


def test_the_attainable_rate_of_a_group_is_of_its_tight_bound():
    """1e9 flop in 1 s, and 10 GB read in 1 s: 1e9 flop in 2 s, although each alone needs 1."""
    group = line("both", [part(0, 10**9, 0, 0), part(1, 0, 10 * 10**9, 0)], CONDITIONS)

    assert (group.placement.roof_s, group.roof_s) == (pytest.approx(1), pytest.approx(2))
    assert group.attainable_flop_per_s == pytest.approx(0.5e9)


def test_calls_at_two_levels_have_no_intensity_at_either():
    """480 kB of an add come from DRAM where fresh, and from a 1 MB L2 where near."""
    small = tensor(200, 200)  # 160 kB, of which a call touches three
    add = call("aten::add", small, small, 1, out=small)
    script = Script()
    script.add(add, 100, reads=(1, 2), writes=(3,))  # never touched before: DRAM
    script.add(add, 100, reads=(1, 2), writes=(3,))  # all near: L2
    run = script.end_step().run()
    (item,) = read(run).by("call")
    (shown,) = of_run(run)["items"]

    assert {r: n for r, n in item.placement.demand.items() if r.is_boundary} == {
        DRAM: 480_000, L2: 480_000,
    }  # fmt: skip
    assert (item.intensity, item.ridge_point) == ({}, {})
    assert (shown["intensity"], shown["ridge_point"]) == ({}, {})
    # 480 kB at 10 GB/s and at 100 GB/s: 48 + 4.8 us for 80,000 flop
    assert shown["attainable_flop_per_s"] == pytest.approx(80_000 / 52.8e-6)


def test_shares_of_overlapping_streams_sum_to_one():
    """Two kernels of 100 us overlap for 50: 200 us of work in 150 busy ones, half each."""
    signatures = (Signature(name="a"), Signature(name="b"))
    events = table([
        Event(signature=at, kind="kernel", step=0, stream=at, start_ns=50_000 * at,
              duration_ns=100_000)
        for at in range(2)
    ])  # fmt: skip
    run = Run(recorder=RECORDER, device=device(), signatures=signatures, gaps=(), events=events,
              steps=(Step(start_ns=0, duration_ns=150_000),))  # fmt: skip
    program = read(run)

    assert program.whole.busy_s == pytest.approx(150e-6)
    assert [item["share"] for item in document(program)["items"]] == [0.5, 0.5]
    assert [item["share"] for item in document(program, "phase")["items"]] == [1.0]
    assert program.whole.coverage == 0.0


X = tensor(1000, 1000)
SUMS = ("calls", "measured_s", "roof_s", "lost_s", "without_roof_s", "overhead_s", "share")


def sums(run, by):
    """What all lines come to, column by column and axis by axis."""
    items = of_run(run, by)["items"]
    axes = {axis for item in items for axis in item["axes_s"]}
    columns = {name: sum(item[name] or 0 for item in items) for name in SUMS}
    return columns | {axis: sum(item["axes_s"].get(axis, 0.0) for item in items) for axis in axes}


@pytest.mark.parametrize("by", GROUPINGS)
def test_all_lines_come_to_the_same_however_they_are_grouped(by):
    """A product of 20 ms on vector-fp32, exp of 0.1 ms on sfu: 20.1 ms of compute on any lines.

    An operator without a rule takes 5 ms of 30, in the module of the product.
    """
    mm, exp = call("aten::mm", X, X, out=X), call("aten::exp", X, out=X)
    script = Script().add(mm, 24_000, module="a", phase="forward")
    script.add(call("own::unknown", X, out=X), 5_000, module="a", phase="forward")
    script.add(exp, 1_000, module="", phase="backward").add(mm, 24_000, phase="forward")
    found = sums(script.end_step().run(), by)

    assert found["compute"] == pytest.approx(20e-3 + 0.1e-3 + 20e-3)
    assert found["dram"] == pytest.approx(2 * 1.2e-3 + 0.8e-3)
    assert found["measured_s"] == pytest.approx(54e-3)
    assert found["without_roof_s"] == pytest.approx(5e-3)
    assert found["lost_s"] == pytest.approx(54e-3 - 5e-3 - 2 * 20e-3 - 0.8e-3)
    assert (found["calls"], found["share"]) == (4, pytest.approx(1.0))


def test_a_line_is_set_against_the_roof_of_the_calls_that_have_one():
    """20 of 24 ms: 83 %, whatever else stands on the line; what else it took is said."""
    script = Script().add(call("aten::mm", X, X, out=X), 24_000)
    run = script.add(call("own::unknown", X, out=X), 5_000).end_step().run()
    (item,) = read(run).by("phase")

    assert item.roof_fraction == pytest.approx(20 / 24)
    assert item.to_win_s == pytest.approx(9e-3)  # the unknown is not hidden below
    shown = Console(file=StringIO(), width=110)
    print_document(of_run(run, "phase"), shown)
    assert "5.00 ms in calls whose roof is not known, in nothing lost" in shown.file.getvalue()


def test_what_is_lost_adds_up_where_one_needs_nothing_and_another_is_unknown():
    """A view of 5 us on a CPU, all of them lost; 10 us of a call that no rule knows, in no loss."""
    x = tensor(1000, 1000)
    view, unknown = call("aten::view", x, [1000, 1000], out=x), call("mine::secret", x, out=x)
    program = read(Script().add(view, 5).add(unknown, 10).end_step().run())
    together = {
        by: sum(item.lost_s or 0.0 for item in program.by(by)) for by in ("call", "module", "phase")
    }

    assert together == dict.fromkeys(together, pytest.approx(5e-6))
    (whole,) = program.by("phase")
    assert (whole.roof_s, whole.roof_fraction) == (None, None)
    assert whole.without_roof_s == pytest.approx(10e-6)
    by_call = {item.name: item.lost_s for item in program.by("call")}
    assert by_call == {"aten::view": pytest.approx(5e-6), "mine::secret": None}
