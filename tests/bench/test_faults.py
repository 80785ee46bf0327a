"""The cost of a page fault: a positive time with its spread, or nothing."""

import resource

from roofline.bench.cpu import faults
from roofline.provenance import Basis


def test_it_is_a_fact_with_its_samples():
    fact = faults.page_fault(6, ["here"])

    assert (fact.name, fact.unit) == ("page_fault", "s")
    assert (
        0 < fact.value < 1e-3
    )  # a page is 4 KiB or more; a millisecond each would be a fault of ours
    assert fact.provenance.basis is Basis.MEASURED
    assert 1 <= fact.provenance.spread.n <= 6
    assert fact.provenance.conditions == "here"


def test_a_system_that_counts_no_faults_gives_nothing(monkeypatch):
    class Usage:
        ru_minflt = 0

    monkeypatch.setattr(resource, "getrusage", lambda _: Usage)
    assert faults.page_fault(3, []) is None
