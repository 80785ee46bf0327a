"""Laws of the model that hold for every input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.device import DRAM, HIERARCHY, VECTOR_FP32, VECTOR_FP64
from roofline.placement import attainable, place
from roofline.provenance import spread
from roofline.schedule import Stage, bound
from roofline.work import Entry, algorithmic
from tests.roofs import roof

amounts = st.integers(min_value=1, max_value=10**15)
rates = st.floats(min_value=1.0, max_value=1e15)
TOY = roof(vector_fp32=1e12, vector_fp64=5e11, dram=1e11, l2=1e12, l1=5e12, l3=4e11)
ledgers = st.dictionaries(
    st.sampled_from([VECTOR_FP32, VECTOR_FP64, *HIERARCHY]), amounts, min_size=1
).map(lambda d: algorithmic(*(Entry(r, n, "x") for r, n in d.items())))


@given(amounts, amounts, rates, rates)
def test_the_time_form_is_the_textbook_form(flop, traffic, flop_per_s, bytes_per_s):
    """flop / roof_s = min(P, I * B)."""
    toy = roof(vector_fp32=flop_per_s, dram=bytes_per_s)
    ledger = algorithmic(Entry(VECTOR_FP32, flop, "x"), Entry(DRAM, traffic, "x", "read"))
    compute, memory = toy.ceilings

    assert flop / place(ledger, toy).roof_s == pytest.approx(
        attainable(flop / traffic, DRAM, compute, memory), rel=1e-12
    )
    assert place(ledger, toy).attainable_flop_per_s == pytest.approx(
        flop / place(ledger, toy).roof_s
    )


@given(ledgers)
def test_overlap_saves_at_most_the_number_of_resources(ledger):
    """roof <= serial <= n * roof."""
    p = place(ledger, TOY)

    assert p.roof_s <= p.serial_s * (1 + 1e-12)
    assert p.serial_s <= len(p.bounds) * p.roof_s * (1 + 1e-12)


@given(ledgers, st.integers(1, 1000))
def test_scaling_work_scales_time(ledger, factor):
    assert place(ledger.times(factor), TOY).roof_s == pytest.approx(
        factor * place(ledger, TOY).roof_s
    )


@given(ledgers, ledgers)
def test_more_work_never_takes_less(a, b):
    both = place(a + b, TOY).roof_s
    assert both >= max(place(a, TOY).roof_s, place(b, TOY).roof_s) * (1 - 1e-12)
    assert both <= (place(a, TOY).roof_s + place(b, TOY).roof_s) * (1 + 1e-12)


@st.composite
def graphs(draw):
    """Stages that need only stages before them."""
    made = draw(st.lists(ledgers, min_size=1, max_size=7))
    return [
        Stage(str(i), ledger, tuple(map(str, draw(st.sets(st.integers(0, i - 1))) if i else ())))
        for i, ledger in enumerate(made)
    ]


@given(graphs())
def test_a_graph_is_never_below_its_path_nor_any_resource(stages):
    graph = bound(stages, TOY)
    total = stages[0].ledger
    for stage in stages[1:]:
        total += stage.ledger

    assert graph.roof_s >= graph.critical_path_s
    assert all(graph.roof_s >= s for s in graph.least_s.values())
    assert graph.loose_roof_s == pytest.approx(place(total, TOY).roof_s)
    serial = sum(place(s.ledger, TOY).roof_s for s in stages)
    assert graph.critical_path_s <= serial * (1 + 1e-12)
    assert graph.roof_s <= serial * (1 + 1e-12)


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=60))
def test_a_spread_is_ordered(samples):
    s = spread(samples)
    assert min(samples) <= s.q1 <= s.median <= s.q3 <= s.best == max(samples)
    if s.low is not None:
        assert s.low <= s.median <= s.high
    assert (s.low is None) == (len(samples) < 6)
