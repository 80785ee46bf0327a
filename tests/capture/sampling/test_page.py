"""The recording of an H200 says what the page says, and holds what was promised of it."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from roofline import runfile

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data" / "counters"


@pytest.fixture(scope="module")
def writer():
    path = ROOT / "benchmarks" / "counters" / "page.py"
    spec = importlib.util.spec_from_file_location("counters_page", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def recording():
    return json.loads((DATA / "h200.json").read_text()), runfile.load(DATA / "h200.roof")


def test_the_page_is_what_the_recording_says(writer, recording):
    assert (ROOT / "docs" / "counters.md").read_text() == writer.page(*recording)


def test_bytes_are_within_one_percent_of_long_kernels_and_five_of_short_ones(writer, recording):
    rows = writer.rows(*recording)
    assert len(rows) == 26
    assert sum(row.formula is not None for row in rows) == 22
    for row in rows:
        assert row.us >= 20, row.name
        assert abs(row.off) <= (0.01 if row.us >= 100 else 0.05), row.name


def test_a_step_is_the_sum_of_its_kernels(recording):
    """Between kernels next to nothing crosses, so each byte of a step is some kernel's."""
    _, run = recording
    rows = run.rows()
    for number, step in enumerate(run.steps):
        for name, total in step.counters.items():
            kernels = sum(row["counters"].get(name, 0.0) for row in rows if row["step"] == number)
            assert kernels == pytest.approx(total, rel=0.002)


def test_bounds_hold_the_amount(recording):
    _, run = recording
    bounded = [row["counters"] for row in run.rows() if any(":low" in n for n in row["counters"])]
    assert len(bounded) > 100
    for counters in bounded:
        for name in [n for n in counters if f"{n}:low" in counters]:
            assert counters[f"{name}:low"] <= counters[name] + 1 <= counters[f"{name}:high"] + 2
