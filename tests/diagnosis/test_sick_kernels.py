"""Planted sicknesses recorded on an H200: the tool names each, and predicts its cure.

Recorded by benchmarks/sick_kernels/sick.py: times by device events; a trace of torch's profiler;
Nsight Compute 2025.3.1 with `--set full --clock-control none`, caches flushed, and of the cached
copy one pass of few metrics with `--cache-control none`.  `h200.more` has camping and conversions,
with what `roofline ncu --levels` asks for.  Columns that nothing reads were cut away.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from roofline import importers
from roofline.devices import kept
from roofline.diagnosis import diagnose
from roofline.program import read
from roofline.runfile import Event, Step, table

SICK = Path(__file__).parent / "sick"
TIMES, MORE_TIMES = (
    json.loads((SICK / f"{name}.json").read_text())["times"]
    for name in ("h200.times", "h200.more.times")
)
MEASURED = kept.read_file(Path(__file__).parents[1] / "data" / "h200-measured.json")
COUNTED, TINY, WARM, MORE, TRACED = (
    importers.load([SICK / f"h200.{name}.gz"])
    for name in (
        "ncu_raw.csv", "tiny.ncu_raw.csv", "warm.ncu_raw.csv", "more.ncu_raw.csv", "trace.json",
    )
)  # fmt: skip


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
    # A profiler of single kernels records no time around them: its steps have no length.
    length = end - start if any(step.duration_ns for step in run.steps) else 0
    steps = (Step(start_ns=start, duration_ns=length),)
    return read(replace(run, device=MEASURED, events=table(events), steps=steps))


def found(program):
    return {finding.code: finding for finding in diagnose(program)}


# sickness, the finding that names it, its kernel and the cured twin's: where, name, which, how many
BY_COUNTERS = [
    ("uncoalesced", "RF401", (COUNTED, "strided_copy_sick"), (COUNTED, "vector_copy")),
    ("one_warp", "RF402", (COUNTED, "grid_stride_copy"), (COUNTED, "vector_copy", 1)),
    ("tail", "RF403", (COUNTED, "waves_fma"), (COUNTED, "waves_fma", 1)),
    ("spill", "RF405", (COUNTED, "spill_sick"), (COUNTED, "spill_cured")),
    ("bank_conflicts", "RF406", (COUNTED, "bank_sick"), (COUNTED, "bank_cured")),
    ("fp32_gemm", "RF407", (COUNTED, "f32f32_f32f32_f32"), (COUNTED, "f32f32_tf32f32_f32")),
    ("m1_gemm", "RF202", (COUNTED, "64x8_64x16"), (COUNTED, "64x64_64x13")),
    ("exp_heavy", "RF408", (COUNTED, "exp_sick"), (COUNTED, "exp_cured")),
    ("tiny_launches", "RF305", (TINY, "add_one", 0, 16), (COUNTED, "add_one")),
    ("cached_copy", "RF107", (WARM, "elementwise", 0, 4), (WARM, "elementwise", 4, 4)),
    ("camping", "RF413", (MORE, "camp_sick"), (MORE, "camp_cured")),
    ("conversions", "RF408", (MORE, "convert_sick"), (MORE, "convert_cured")),
]
# A trace has shapes of operators, grids, blocks, registers and no counters.  What it cannot show:
# sectors (uncoalesced), slices of the L2 (camping), spills, and which pipe is busy (exp_heavy,
# conversions).
BY_TRACE = [
    ("one_warp", "RF402", (TRACED, "grid_stride_copy"), (TRACED, "vector_copy", 1)),
    ("tail", "RF403", (TRACED, "waves_fma"), (TRACED, "waves_fma", 1)),
    ("bank_conflicts", "RF406", (TRACED, "bank_sick"), (TRACED, "bank_cured")),
    ("fp32_gemm", "RF203", (TRACED, "aten::mm"), (TRACED, "aten::mm", 1)),
    ("m1_gemm", "RF202", (TRACED, "aten::mm", 2), (TRACED, "aten::mm", 3)),
    ("tiny_launches", "RF301", (TRACED, "add_one", 0, 512), (TRACED, "add_one", 512)),
    ("cached_copy", "RF107", (TRACED, "aten::mul", 0, 4), (TRACED, "aten::mul", 4, 4)),
]


def named(rows):
    return [pytest.param(*row[1:], id=row[0]) for row in rows]


def test_all_are_there():
    assert sorted(row[0] for row in BY_COUNTERS) == sorted(TIMES | MORE_TIMES)
    assert len(BY_TRACE) == 7
    assert {row[0] for row in BY_TRACE} < set(TIMES)


@pytest.mark.parametrize(("code", "sick", "cured"), named(BY_COUNTERS))
def test_counters_name_the_sickness_and_not_of_its_cured_twin(code, sick, cured):
    assert code in found(alone(*sick))
    assert code not in found(alone(*cured))


@pytest.mark.parametrize(("code", "sick", "cured"), named(BY_TRACE))
def test_the_trace_alone_names_it_and_not_of_its_cured_twin(code, sick, cured):
    assert code in found(alone(*sick))
    assert code not in found(alone(*cured))


def test_what_the_counters_of_one_row_say():
    """128 blocks of 64 x 8 for 8,192 results; 2^30 flop on 2^27 B of weights of 2 B: 8 rows each."""
    finding = found(alone(COUNTED, "64x8_64x16"))["RF202"]
    assert finding.evidence[0] == "128 blocks of 64 x 8 results are 65536; 8192 of 2 B were stored"
    assert "8.0 for each byte read from dram" in finding.evidence[1]


def test_tiny_launches_are_shorter_than_the_next_takes_to_start():
    """16 launches at 6.82 us each against 36 us that they run."""
    finding = found(alone(TINY, "add_one", 0, 16))["RF305"]
    assert "16 starts one by one take 109 us, what they start runs 36.1 us" in finding.claim


def test_a_tile_without_padding_is_a_suspicion_without_a_saving():
    finding = found(alone(TRACED, "bank_sick"))["RF406"]
    assert "may have bank conflicts" in finding.claim
    assert finding.saves_s is None


@pytest.mark.parametrize(
    ("kernel", "code", "twin"),
    [("strided_copy_sick", "RF401", 0), ("grid_stride_copy", "RF402", 1)],
)
def test_the_predicted_cure_of_the_memory_bound_is_within_15_percent(kernel, code, twin):
    """The least time that the finding predicts, against the duration of the cured kernel."""
    least_s, _ = found(alone(COUNTED, kernel))[code].then_s
    assert least_s == pytest.approx(alone(COUNTED, "vector_copy", twin).whole.busy_s, rel=0.15)


@pytest.mark.parametrize("name", ["camp", "convert"])
def test_the_cure_takes_no_less_than_is_predicted(name):
    """Spread out, its requests meet less in front of the L2; rounding by addition has a pipe to fill."""
    sick, cured = (alone(MORE, f"{name}_{state}") for state in ("sick", "cured"))
    (least_s, now_s) = found(sick)["RF413" if name == "camp" else "RF408"].then_s

    assert now_s == pytest.approx(sick.whole.busy_s)
    assert least_s < cured.whole.busy_s < 0.8 * now_s


def test_eight_lines_are_few_slices_of_the_l2():
    finding = found(alone(MORE, "camp_sick"))["RF413"]

    assert "its fullest l2 slice moves 5.8 times the mean" in finding.claim
    assert not any("dram channel" in line for line in finding.evidence)  # 5.6 kB in all


def test_conversions_are_named():
    """Each rounding is two, to an integer and back; one of them is another unit's."""
    finding = found(alone(MORE, "convert_sick"))["RF408"]

    assert "is bound by conversions between types: their unit is 96 % busy" in finding.claim
    assert "2.0 conversions between types for each of that unit's instructions" in finding.evidence


def test_what_the_cached_copy_would_take_from_memory():
    """16.8 MB from dram; the same kernel over 2.15 GB runs at the rate that is predicted."""
    predicted = found(alone(WARM, "elementwise", 0, 4))["RF107"].evidence[1]
    large_s = alone(WARM, "elementwise", 4, 4).whole.busy_s / 4
    assert predicted == "from dram the same bytes take 3.91 us at least"
    assert large_s / 128 == pytest.approx(3.91e-6, rel=0.15)  # 2^28 elements are 128 times 2^21


@pytest.mark.parametrize(
    "sickness",
    [
        "uncoalesced",
        "one_warp",
        "tail",
        "spill",
        "bank_conflicts",
        "fp32_gemm",
        "camping",
        "conversions",
    ],
)
def test_the_twins_are_faster_without_a_profiler_too(sickness):
    times = (TIMES | MORE_TIMES)[sickness]
    assert times["cured_us"] < 0.8 * times["sick_us"]
