"""Units and locales of Nsight Compute's cells."""

import pytest

from roofline.errors import BadInput
from roofline.importers.cells import number
from roofline.importers.ncu.number import decimal_mark, evidence, scale
from tests.importers.ncu.exports import WIDE, counters, details, launch, metrics, quoted, run

UNITS = {
    "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12, "Pbyte": 1e15,
    "nsecond": 1e-9, "usecond": 1e-6, "msecond": 1e-3, "second": 1,
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1,
    "hz": 1, "Hz": 1, "Khz": 1e3, "Mhz": 1e6, "Ghz": 1e9,
    "cycle/nsecond": 1e9, "cycle/usecond": 1e6, "cycle/second": 1, "cycle/ns": 1e9,
    "byte/second": 1, "Kbyte/s": 1e3, "Gbyte/second": 1e9, "Tbyte/s": 1e12,
    "byte/block": 1, "Kbyte/block": 1e3, "Kbyte/cycle": 1e3, "byte/cycle": 1, "byte/sector": 1,
    "sector/ns": 1e9, "sector/us": 1e6, "sector/ms": 1e3, "sector/s": 1,
    "inst": 1, "inst/cycle": 1, "sector": 1, "sector/cycle": 1, "request": 1, "cycle": 1, "warp": 1,
    "block": 1, "thread": 1, "register/thread": 1, "SM": 1, "%": 1, "": 1, "percent": 1, "pass": 1,
    "%/Kbyte": 1e-3,
}  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_that_was_seen(unit):
    """Powers of 1000, exact."""
    times, over = scale(unit)

    assert times / over == UNITS[unit]


@pytest.mark.parametrize("unit", ["furlong", "Kfurlong", "byte/furlong", "KiB?", "//"])
def test_other_units_are_not_known(unit):
    """Never taken for one."""
    assert scale(unit) is None


# cell, the mark it gives away, its value under the point, under the comma
CELLS = [
    ("5,318,969,728.00", ".", 5318969728.0, None),
    ("402,339.36", ".", 402339.36, None),
    ("27.595.520", ",", None, 27595520.0),
    ("65,77", ",", None, 65.77),
    ("1.234.567,89", ",", None, 1234567.89),
    ("0.25", ".", 0.25, None),
    ("0,251", ",", None, 0.251),
    ("1234.567", ".", 1234.567, None),
    ("74.496000", ".", 74.496, None),
    ("1,024", None, 1024.0, 1.024),
    ("32.768", None, 32.768, 32768.0),
    ("42", None, 42.0, 42.0),
    ("(32, 4, 1)", None, None, None),
    ("1 234 567,8", ",", None, 1234567.8),
    ("1\u202f234,5", ",", None, 1234.5),
    ("12 (3; 4; 5)", None, 12.0, 12.0),
    ("-3.5", ".", -3.5, None),
    ("1.5e+3", ".", 1500.0, None),
]


@pytest.mark.parametrize(("cell", "mark", "point", "comma"), CELLS)
def test_cells(cell, mark, point, comma):
    """What a cell gives away, and what it is under either mark."""
    assert evidence(cell) == mark
    if mark in (".", None):
        assert number(cell, ".") == point
    if mark in (",", None):
        assert number(cell, ",") == comma


TIME = "gpu__time_duration.sum"
PCT = "sm__throughput.avg.pct_of_peak_sustained_elapsed"


def page(*cells):
    """A page of one launch with cells of (metric, unit, text)."""
    return details(*metrics(0, "k", {name: (text, unit) for name, unit, text in cells}))


def test_one_clear_cell_decides_the_file(tmp_path):
    """65,77 % is a decimal comma, so 1.024 byte in the same file are 1024."""
    (found,) = counters(
        run(tmp_path, page((PCT, "%", "65,77"), ("dram__bytes_read.sum", "byte", "1.024")))
    )

    assert found[PCT] == 65.77
    assert found["dram__bytes_read.sum"] == 1024


def test_plausibility_decides_where_no_cell_is_clear(tmp_path):
    """97,123 % as 97123 % is impossible; 8,192 blocks as 8.192 blocks too."""
    (comma,) = counters(run(tmp_path, page((PCT, "%", "97,123"))))
    (point,) = counters(run(tmp_path, page(("launch__thread_count", "thread", "8,192"))))

    assert comma[PCT] == 97.123
    assert point["launch__thread_count"] == 8192


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("dram__bytes.sum", "byte"),
        ("gpu__time_duration.sum", "ns"),
        ("dram__sectors.sum", "sector"),
    ],
)
def test_round_thousands_of_counts_are_no_small_number_with_three_decimals(tmp_path, metric, unit):
    """Counts are printed whole: 8,000 and 8.000 are both eight thousand."""
    for text in ("8,000", "8.000"):
        (found,) = counters(run(tmp_path, page((metric, unit, text))))
        assert found[metric] == (8000 if unit != "ns" else pytest.approx(8e-6))


def test_both_ways_possible_asks(tmp_path):
    """1,024 us is either; --decimal says which."""
    export = page(("gpu__time_duration.sum", "us", "1,024"))
    with pytest.raises(BadInput, match=r"1,024 can be read .* --decimal"):
        run(tmp_path, export)

    assert run(tmp_path, export, decimal=",").rows()[0]["duration_ns"] == 1024
    assert run(tmp_path, export, decimal=".").rows()[0]["duration_ns"] == 1_024_000


def test_contradiction_asks():
    """A file that is sure of both marks is not guessed."""
    with pytest.raises(BadInput, match="--decimal"):
        decimal_mark([("a", "", "1.5"), ("b", "", "1,5")], "f")


def test_one_odd_cell_among_many_does_not_outweigh():
    """Twenty-one clear points against one version-like cell."""
    cells = [("a", "", "0.5")] * 21 + [("driver", "", "580.65.06")]

    assert decimal_mark(cells, "f") == "."


REFUSED = [  # metric, unit, text, what is said of it
    (TIME, "cycle", "2", "in 'cycle'"),
    (TIME, "", "2", "without a unit"),
    (TIME, "ns/s", "2", "in 'ns/s'"),
    ("dram__bytes_read.sum", "%", "2", "in '%'"),
    ("dram__bytes_read.sum", "sector", "2", "in 'sector'"),
    ("dram__bytes_read.sum", "", "2", "without a unit"),
    ("dram__bytes_read.sum", "byte/s", "2", "in 'byte/s'"),
    ("dram__bytes_read.sum.per_second", "byte", "2", "in 'byte'"),
    ("dram__bytes_read.sum", "byte", "-5", "at -5"),
    ("lts__t_sectors.sum", "byte", "2", "in 'byte'"),
    ("sm__cycles_elapsed.avg", "us", "2", "in 'us'"),
    ("sm__cycles_elapsed.avg.per_second", "cycle", "2", "in 'cycle'"),
    ("sm__cycles_elapsed.avg.per_second", "", "2", "without a unit"),
    (PCT, "byte", "2", "in 'byte'"),
]


@pytest.mark.parametrize(("metric", "unit", "text", "said"), REFUSED)
def test_what_a_metric_cannot_be_is_unknown(tmp_path, metric, unit, text, said):
    """A unit of another kind, none where the size depends on it, a count below zero."""
    imported = run(tmp_path, page((metric, unit, text), ("smsp__inst_executed.sum", "inst", "1")))

    assert metric not in counters(imported)[0]
    assert any(f"so unknown: {metric} {said}" in text for text in imported.recorder.warnings)


def test_units_of_the_kind_that_a_name_tells(tmp_path):
    """Also a rate that the profiler derives and prints without "per second"."""
    cells = [
        ("derived__lts__lts2xbar_bytes.sum.per_second", "Tbyte", "2"),
        ("derived__lts__lts2xbar_bytes.avg.per_second", "Tbyte/s", "2"),
        ("dram__bytes.sum.per_second", "Gbyte/s", "2"),
        ("sm__cycles_elapsed.avg.per_second", "cycle/nsecond", "2"),
        ("launch__shared_mem_per_block", "Kbyte/block", "2"),
        ("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", "byte/sector", "2"),
        ("device__attribute_host_numa_id", "", "-1"),
    ]
    values = [2e12, 2e12, 2e9, 2e9, 2e3, 2.0, -1.0]
    read = counters(run(tmp_path, page(*cells)))[0]
    assert [read[name] for name, _, _ in cells] == values


def test_without_any_unit_a_file_is_in_base_units(tmp_path):
    """A wide page that another tool saved without the row of units."""
    cells = {TIME: "2000", "dram__bytes.sum.per_second": "5", "sm__cycles_elapsed.avg": "7"}
    rows = [[*WIDE, *cells], [*launch(0, "k"), *cells.values()]]
    read = counters(run(tmp_path, quoted(rows)))[0]
    assert {name: read[name] for name in cells} == {
        TIME: 2e-6,
        "dram__bytes.sum.per_second": 5.0,
        "sm__cycles_elapsed.avg": 7.0,
    }
