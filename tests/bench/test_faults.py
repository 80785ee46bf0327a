"""The cost of a page fault: a positive time with its spread, or a sentence why there is none."""

import resource

import pytest

from roofline.bench.cpu import faults
from roofline.bench.sample import Sample
from roofline.provenance import Basis


def taken(monkeypatch, *samples):
    """The samples that the next mappings give, one after the other, again and again."""
    order = iter(samples * 100)
    monkeypatch.setattr(faults, "_once", lambda: next(order))


def test_a_fault_takes_some_microseconds_of_this_thread():
    """A page is 4 KiB or more; a millisecond each would be a fault of ours."""
    found = faults._once()

    assert found is None or 1e3 < found.rate < 1e9
    assert found is None or 0 < found.busy < 1.1


def test_it_is_a_fact_with_its_samples(monkeypatch):
    """Three fault costs of 2, 2.5 and 4 us, twice: the median is 2.5 us, all of them lie around."""
    taken(monkeypatch, *(Sample(rate=1 / s, busy=1.0) for s in (2e-6, 2.5e-6, 4e-6)))
    fact = faults.page_fault(6, ["here"])

    assert (fact.name, fact.unit) == ("page_fault", "s")
    assert fact.value == pytest.approx(2.5e-6)
    assert fact.provenance.basis is Basis.MEASURED
    spread = fact.provenance.spread
    assert (spread.n, spread.dropped, spread.best) == (6, 0, pytest.approx(2e-6))
    assert (spread.low, spread.high) == (pytest.approx(2e-6), pytest.approx(4e-6))
    assert fact.provenance.conditions.startswith("here; 6 of 6 samples undisturbed; ")


def test_disturbed_samples_are_left_out(monkeypatch):
    """Every second one waited for its processor, and says 9 us."""
    taken(monkeypatch, Sample(rate=1 / 3e-6, busy=1.0), Sample(rate=1 / 9e-6, busy=0.4))
    fact = faults.page_fault(6, [])

    assert fact.value == pytest.approx(3e-6)
    assert (fact.provenance.spread.n, fact.provenance.spread.dropped) == (6, 5)
    assert "6 of 11 samples undisturbed" in fact.provenance.conditions


def test_without_undisturbed_samples_there_is_no_number(monkeypatch):
    taken(monkeypatch, Sample(rate=1 / 9e-6, busy=0.4))

    assert faults.page_fault(4, []) == (
        "page fault: 0 of 12 samples undisturbed, 10% and at least 3 are needed"
    )


def test_a_system_that_counts_no_faults_gives_nothing(monkeypatch):
    class Usage:
        ru_minflt = 0

    monkeypatch.setattr(resource, "getrusage", lambda _: Usage)
    assert faults.page_fault(3, []) == "page fault: the system counts none"
