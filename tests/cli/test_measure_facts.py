"""What `roofline measure` prints of properties that were timed: how much, and how sure that is."""

from dataclasses import replace

from roofline.cli.ceiling_table import facts
from roofline.device import Fact
from roofline.provenance import spread
from tests.runs import MEASURED, device


def test_a_timed_property_comes_with_its_interval_and_what_was_dropped():
    """Six samples of 2 to 4 us around 2.5, two more were disturbed: 6 of 8 are clean."""
    found = spread([2e-6, 2e-6, 2.5e-6, 2.5e-6, 4e-6, 4e-6], best="min", dropped=2)
    fault = Fact(
        name="page_fault", value=2.5e-6, unit="s", provenance=replace(MEASURED, spread=found)
    )
    size = Fact(name="page", value=4096, unit="B", provenance=MEASURED)

    assert facts(replace(device(), facts=(size, fault))) == [
        "page fault: 2.50 us, 2.00 us to 4.00 us (95 % of median), n 6, clean 75%"
    ]
