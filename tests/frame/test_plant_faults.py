"""The faults of tools/plant_faults.py still fit the code they are planted in."""

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "plant_faults.py"))


@pytest.mark.parametrize("fault", TOOL["FAULTS"], ids=lambda fault: fault.name)
def test_a_fault_fits_its_file(fault: Any) -> None:
    healthy = (ROOT / fault.file).read_text()
    assert TOOL["planted"](fault, healthy) != healthy
    assert all((ROOT / tests).exists() for tests in fault.tests)


def test_a_fault_that_no_longer_fits_is_an_error() -> None:
    fault = TOOL["FAULTS"][0]
    with pytest.raises(LookupError, match="stands 0 times"):
        TOOL["planted"](fault, "something else")
