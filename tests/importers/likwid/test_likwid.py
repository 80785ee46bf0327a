"""likwid-perfctr's CSV, written by hand in the form of its output."""

import pytest

from roofline import counters
from roofline.device import DRAM, L2, L3, VECTOR_FP32, VECTOR_FP64
from roofline.errors import BadInput
from roofline.importers import Options, load
from roofline.program import read

REGION = """STRUCT,Info,3,,,
CPU name:,Intel(R) Xeon(R) Platinum 8480+,,,,
CPU type:,Intel Sapphire Rapids processor,,,,
CPU clock:,2.0 GHz,,,,
TABLE,Region triad,Group 1 Raw,MEM_DP,2,
Region Info,HWThread 0,HWThread 1,,,
RDTSC Runtime [s],0.5,0.4,,,
call count,1,1,,,
Event,Counter,HWThread 0,HWThread 1,,
INSTR_RETIRED_ANY,FIXC0,1000,1000,,
TABLE,Region triad,Group 1 Metric,MEM_DP,4,
Metric,HWThread 0,HWThread 1,,,
Runtime (RDTSC) [s],0.5,0.4,,,
DP [MFLOP/s],1000,1200,,,
Memory read data volume [GBytes],3.0,0,,,
Memory write data volume [GBytes],1.0,0,,,
Operational intensity,0.1,0.1,,,
TABLE,Region triad,Group 1 Metric STAT,MEM_DP,4,
Metric,Sum,Min,Max,Avg,
Runtime (RDTSC) [s] STAT,0.9,0.4,0.5,0.45,
DP [MFLOP/s] STAT,2200,1000,1200,1100,
Memory read data volume [GBytes] STAT,3.0,0,3.0,1.5,
Memory write data volume [GBytes] STAT,1.0,0,1.0,0.5,
Operational intensity STAT,0.2,0.1,0.1,0.1,
"""


def imported(folder, text, **options):
    """Import one file."""
    (folder / "counted").write_text(text)
    return load([folder / "counted"], Options(**options))


def test_a_region_of_two_threads(tmp_path):
    """The longer thread's 0.5 s; 2,200 MFLOP/s x 0.5 s = 1.1 GFLOP; 3 GB read and 1 GB written."""
    run = imported(tmp_path, REGION)
    (row,) = run.rows()
    done, moved = counters.executed(row["counters"]), counters.achieved(row["counters"])

    assert (row["kind"], row["duration_ns"], run.signatures[0].name) == (
        "region",
        500_000_000,
        "triad",
    )
    assert done.demand() == {VECTOR_FP64: 1_100_000_000}
    assert done.unaccounted == ("vector-fp32: SP [MFLOP/s] not in this group",)
    assert (moved.traffic(DRAM, "read"), moved.traffic(DRAM, "write")) == (
        3_000_000_000,
        1_000_000_000,
    )
    assert run.recorder.threads == 2


def test_a_region_is_placed_by_its_counters(tmp_path):
    """4 GB in 0.5 s: 8 GB/s at the memory boundary."""
    (item,) = read(imported(tmp_path, REGION)).by("call")

    assert item.placement.demand[DRAM] / item.measured_s == pytest.approx(8e9)


def test_without_statistics_threads_are_added(tmp_path):
    """One thread has no table of statistics; rates and volumes add, times do not."""
    run = imported(tmp_path, REGION[: REGION.index("TABLE,Region triad,Group 1 Metric STAT")])
    (held,) = [row["counters"] for row in run.rows()]

    assert held["DP [MFLOP/s]"] == 2200
    assert held["Runtime (RDTSC) [s]"] == 0.5
    assert held["Operational intensity"] == 0.1


def test_other_levels_and_a_whole_program(tmp_path):
    """Without regions the program is one; L2 and L3 volumes stand at their own boundaries."""
    text = """TABLE,Group 1 Metric,L3,5,
Metric,HWThread 0,
Runtime (RDTSC) [s],2.0,
L2 data volume [GBytes],6,
L3 load data volume [GBytes],4,
L3 evict data volume [GBytes],1,
SP [MFLOP/s],100,
"""
    run = imported(tmp_path, text)
    (row,) = run.rows()

    assert run.signatures[0].name == "program"
    assert counters.achieved(row["counters"]).demand() == {L3: 5_000_000_000, L2: 6_000_000_000}
    assert counters.executed(row["counters"]).demand() == {VECTOR_FP32: 200_000_000}


def test_groups_of_several_files_are_one_run(tmp_path):
    """Counted one after the other, of the same region."""
    (tmp_path / "a").write_text(REGION)
    (tmp_path / "b").write_text(
        "TABLE,Region triad,Group 1 Metric,L2,1,\nMetric,HWThread 0,\nL2 data volume [GBytes],6,\n"
    )
    (row,) = load([tmp_path / "a", tmp_path / "b"]).rows()

    assert {"DP [MFLOP/s]", "L2 data volume [GBytes]"} <= set(row["counters"])


def test_no_metrics(tmp_path):
    """Raw events alone say nothing here."""
    with pytest.raises(BadInput, match="no table of metrics"):
        imported(tmp_path, REGION[: REGION.index("TABLE,Region triad,Group 1 Metric")])


@pytest.mark.parametrize("cells", ["nan,0,3.0,1.5", "-,-,-,-", ",,,"])
def test_a_sum_that_is_no_number(cells, tmp_path):
    """The next column is another statistic: the bytes read are unknown, and that is said."""
    text = REGION.replace(
        "Memory read data volume [GBytes] STAT,3.0,0,3.0,1.5",
        f"Memory read data volume [GBytes] STAT,{cells}",
    )
    run = imported(tmp_path, text)
    (row,) = run.rows()

    assert "Memory read data volume [GBytes]" not in row["counters"]
    assert counters.achieved(row["counters"]) is None
    assert any("Memory read data volume [GBytes]" in text for text in run.recorder.warnings)


def test_flop_of_which_only_the_mean_is_known(tmp_path):
    """1,100 is no sum."""
    text = REGION.replace("DP [MFLOP/s] STAT,2200,1000,1200,1100", "DP [MFLOP/s] STAT,nan,-,-,1100")
    (row,) = imported(tmp_path, text).rows()

    assert "DP [MFLOP/s]" not in row["counters"]


def test_statistics_in_another_order(tmp_path):
    """By the names of the columns."""
    text = REGION.replace("Metric,Sum,Min,Max,Avg,", "Metric,Avg,Max,Sum,Min,")
    (row,) = imported(tmp_path, text).rows()

    assert row["counters"]["DP [MFLOP/s]"] == 1200
    assert row["counters"]["Runtime (RDTSC) [s]"] == 0.4


def test_a_thread_that_is_not_known(tmp_path):
    """The others are no sum of all."""
    text = REGION[: REGION.index("TABLE,Region triad,Group 1 Metric STAT")]
    (row,) = imported(tmp_path, text.replace("MFLOP/s],1000,1200", "MFLOP/s],1000,nan")).rows()

    assert "DP [MFLOP/s]" not in row["counters"]


@pytest.mark.parametrize("options", [{}, {"decimal": ","}])
def test_decimal_commas(options, tmp_path):
    """0,5 s and 3,25 GB, as the cells give it away or as stated."""
    text = REGION.replace("0.9,0.4,0.5,0.45", '"0,9","0,4","0,5","0,45"')
    text = text.replace("STAT,3.0,0,3.0,1.5", 'STAT,"3,25",0,"3,25","1,6"')
    text = text[: text.index("TABLE,Region triad,Group 1 Metric,")] + text[text.index("TABLE,Region triad,Group 1 Metric STAT") :]  # fmt: skip
    text = text.replace("0.5,0.4,", "1,1,").replace("1.0,0,1.0,0.5", "1,0,1,1").replace("0.2,0.1,0.1,0.1", "1,1,1,1").replace("2.0 GHz", "2 GHz")  # fmt: skip
    (row,) = imported(tmp_path, text, **options).rows()

    assert row["duration_ns"] == 500_000_000
    assert row["counters"]["Memory read data volume [GBytes]"] == 3.25
