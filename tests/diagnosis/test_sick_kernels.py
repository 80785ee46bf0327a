"""Ten planted sicknesses recorded on an H200: the tool names each, and predicts its cure.

Recorded by benchmarks/sick_kernels/sick.py (times by device events; Nsight Compute 2025.3.1 with
`--set full --clock-control none`, caches flushed; columns that nothing reads were cut away).
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from roofline import importers
from roofline.device import L2
from roofline.devices import kept
from roofline.diagnosis import diagnose
from roofline.program import read
from roofline.runfile import Event, Step, table

SICK = Path(__file__).parent / "sick"
TIMES = json.loads((SICK / "h200.times.json").read_text())["times"]
MEASURED = kept.read_file(Path(__file__).parents[1] / "data" / "h200-measured.json")
COUNTED = importers.load([SICK / "h200.ncu_raw.csv.gz"])
TRACED = importers.load([SICK / "h200.trace.json.gz"])


def alone(run, name, nth=0, count=1):
    """The run of `count` launches, with what they caused, under ceilings measured on that card."""
    at = {i for i, s in enumerate(run.signatures) if name in s.name}
    rows = run.rows()
    chosen = [r for r, row in enumerate(rows) if row["signature"] in at][nth : nth + count]
    caused = [r for r, row in enumerate(rows) if row["parent"] in chosen]
    place = {row: new for new, row in enumerate([*chosen, *caused])}
    events = [Event(**rows[r] | {"step": 0, "parent": place.get(rows[r]["parent"])}) for r in place]
    start = min(event.start_ns for event in events)
    end = max(event.start_ns + event.duration_ns for event in events)
    steps = (Step(start_ns=start, duration_ns=end - start),)
    return read(replace(run, device=MEASURED, events=table(events), steps=steps))


def found(program):
    return {finding.code: finding for finding in diagnose(program)}


COUNTED_ROWS = [
    # sickness, kernel, which launch of it, the finding that names it
    ("uncoalesced", "strided_copy_sick", 0, "RF401"),
    ("one_warp", "grid_stride_copy", 0, "RF402"),
    ("tail", "waves_fma", 0, "RF403"),
    ("spill", "spill_sick", 0, "RF405"),
    ("bank_conflicts", "bank_sick", 0, "RF406"),
    ("fp32_gemm", "f32f32_f32f32_f32", 0, "RF407"),
    ("exp_heavy", "exp_sick", 0, "RF408"),
]


@pytest.mark.parametrize(
    ("sickness", "kernel", "nth", "code"), COUNTED_ROWS, ids=[r[0] for r in COUNTED_ROWS]
)
def test_counters_name_the_sickness(sickness, kernel, nth, code):
    assert code in found(alone(COUNTED, kernel, nth))


CURED_ROWS = [
    ("uncoalesced", "vector_copy", 0), ("one_warp", "vector_copy", 1), ("tail", "waves_fma", 1),
    ("bank_conflicts", "bank_cured", 0), ("exp_heavy", "exp_cured", 0),
    ("fp32_gemm", "f32f32_tf32f32_f32", 0),
]  # fmt: skip


@pytest.mark.parametrize(("sickness", "kernel", "nth"), CURED_ROWS, ids=[r[0] for r in CURED_ROWS])
def test_the_cured_twin_does_not_have_it(sickness, kernel, nth):
    code = next(row[3] for row in COUNTED_ROWS if row[0] == sickness)
    assert code not in found(alone(COUNTED, kernel, nth))


@pytest.mark.parametrize(
    ("kernel", "code", "twin"),
    [("strided_copy_sick", "RF401", 0), ("grid_stride_copy", "RF402", 1)],
)
def test_the_predicted_cure_of_the_memory_bound_is_within_15_percent(kernel, code, twin):
    """The least time that the finding predicts, against the duration of the cured kernel."""
    least_s, _ = found(alone(COUNTED, kernel))[code].then_s
    assert least_s == pytest.approx(alone(COUNTED, "vector_copy", twin).whole.busy_s, rel=0.15)


@pytest.mark.parametrize(
    "sickness", ["uncoalesced", "one_warp", "tail", "spill", "bank_conflicts", "fp32_gemm"]
)
def test_the_twins_are_faster_without_a_profiler_too(sickness):
    assert TIMES[sickness]["cured_us"] < 0.8 * TIMES[sickness]["sick_us"]


def test_the_trace_alone_names_the_launches():
    """A trace has grids, blocks and registers, and no counters."""
    assert "RF402" in found(alone(TRACED, "grid_stride_copy"))
    assert "RF403" in found(alone(TRACED, "waves_fma"))


def test_the_trace_names_padding_tiny_launches_and_a_copy_that_stays_in_the_cache():
    assert "RF202" in found(alone(TRACED, "aten::mm", nth=1))
    tiny = found(alone(TRACED, "add_one", count=512))
    assert "RF301" in tiny
    assert "512 operators" in tiny["RF301"].claim
    (copy,) = alone(TRACED, "aten::copy_").by("call")
    assert copy.placed_at == L2  # 16.8 MB under the 62 MB that the L2 sweep held
