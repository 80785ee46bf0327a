"""Three recordings of an H200, held against the numbers counted from them by hand."""

import shutil

import pytest

from roofline import counters, runfile
from roofline.device import DRAM
from roofline.importers import load
from roofline.program import read
from tests.importers.ncu.exports import RECORDED

# kernels, sum of gpu__time_duration [us], DRAM bytes read + written [MB], tensor flop [G]
TABLE = {
    "ln_hand": (9, "1033.568", "3126.846", "0.000000"),
    "decode_1": (14, "87.040", "118.949", "1.075839"),
    "train_eager": (100, "3321.216", "4732.304", "1203.664585"),
}


@pytest.mark.parametrize("workload", TABLE)
def test_totals_to_the_printed_digit(workload):
    """Launches, time, bytes and tensor flop as summed from the raw page."""
    rows = load([RECORDED / f"{workload}.raw.csv.gz"]).rows()
    ns = sum(row["duration_ns"] for row in rows)
    moved = sum(counters.achieved(row["counters"]).demand()[DRAM] for row in rows)
    done = [counters.executed(row["counters"]).demand() for row in rows]
    tensor = sum(n for ledger in done for pipe, n in ledger.items() if "tensor" in pipe.name)

    assert (len(rows), f"{ns / 1e3:.3f}", f"{moved / 1e6:.3f}", f"{tensor / 1e9:.6f}") == TABLE[
        workload
    ]


@pytest.mark.parametrize("workload", TABLE)
def test_the_answer_covers_all_of_it(workload):
    """Every launch has flop and bytes counted, so all device time is accounted for."""
    program = read(load([RECORDED / f"{workload}.raw.csv.gz"]))

    assert program.device.name == "NVIDIA H200 SXM 141GB"
    assert program.whole.coverage == 1.0
    assert program.whole.step_s is None  # nobody measured the time between the launches
    assert program.whole.busy_s == pytest.approx(float(TABLE[workload][1]) * 1e-6)


def test_every_linear_is_two_m_n_k():
    """21 GEMMs (nvjet), together 1,116,691,496,960 flop: each 2MNK of two transformer blocks.

    8192 tokens, d = 1024: qkv 3072x1024, out 1024x1024, up 4096x1024, down 1024x4096;
    forward once, backward twice, of two blocks, less three that the recording does not reach.
    """
    imported = load([RECORDED / "train_eager.raw.csv.gz"])
    names = [imported.signatures[row["signature"]].name for row in imported.rows()]
    gemms = [
        counters.executed(row["counters"])
        for name, row in zip(names, imported.rows(), strict=True)
        if name.startswith("nvjet")
    ]
    flop = [sum(n for p, n in g.demand().items() if "tensor" in p.name) for g in gemms]
    sizes = {2 * 8192 * n * k for n, k in ((3072, 1024), (1024, 1024), (4096, 1024))}

    assert len(flop) == 21
    assert sum(flop) == 1_116_691_496_960
    assert set(flop) == sizes


def test_rates_times_cycles_are_whole_counts():
    """The roofline section holds adds a cycle: 8 x 4096 sums of 16384 rows are whole numbers.

    The first kernel reduces 16384 x 4096 numbers: 67,108,864 adds and the combining of partial sums
    (4,194,304), 71,303,168 together = 537.807545 a cycle x 132,581.2 cycles.
    """
    (first, *_) = load([RECORDED / "ln_hand.raw.csv.gz"]).rows()
    ledger = counters.executed(first["counters"])
    adds = next(e for e in ledger.entries if "fadd" in e.why)

    assert first["counters"][
        "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed"
    ] == pytest.approx(537.807545)
    assert adds.amount == 71_303_168


def test_the_details_page_agrees_with_the_raw_page():
    """Printed to two or three digits: the same launches, times, bytes and facts."""
    raws = load([RECORDED / "ln_hand.raw.csv.gz"]).rows()
    texts = load([RECORDED / "ln_hand.details.csv.gz"]).rows()

    assert len(texts) == len(raws) == 9
    for text, raw in zip(texts, raws, strict=True):
        assert text["duration_ns"] == pytest.approx(raw["duration_ns"], rel=0.003, abs=5)
        seen = [counters.achieved(row["counters"]).demand()[DRAM] for row in (text, raw)]
        assert seen[0] == pytest.approx(seen[1], rel=0.02)
        fewer, more = counters.facts(text["counters"]), counters.facts(raw["counters"])
        assert {"waves", "registers_per_thread", "occupancy_achieved", "l2_hit_rate"} <= set(fewer)
        for name in set(fewer) & set(more):
            assert fewer[name].value == pytest.approx(more[name].value, rel=0.02, abs=0.006), name


def test_pages_of_one_session_are_one_run():
    """Raw and details of the same nine launches are nine launches, the raw page's digits kept."""
    both = load([RECORDED / "ln_hand.details.csv.gz", RECORDED / "ln_hand.raw.csv.gz"])
    raw = load([RECORDED / "ln_hand.raw.csv.gz"])

    assert len(both.rows()) == 9
    assert [r["duration_ns"] for r in both.rows()] == [r["duration_ns"] for r in raw.rows()]


@pytest.mark.parametrize("file", sorted(p.name for p in RECORDED.glob("*.csv.gz")))
def test_the_name_does_not_matter_and_a_saved_run_is_the_same(file, tmp_path):
    """Imported under another name, saved and loaded: a fixed point."""
    other = tmp_path / "other.json"
    shutil.copy(RECORDED / file, other)
    first, again = load([RECORDED / file]), load([other])
    runfile.save(again, tmp_path / "a.roof")
    loaded = runfile.load(tmp_path / "a.roof")
    runfile.save(loaded, tmp_path / "b.roof")

    assert first.rows() == again.rows() == loaded.rows() == runfile.load(tmp_path / "b.roof").rows()
    assert loaded.signatures == first.signatures
    assert loaded.gaps == first.gaps


def test_nothing_private_is_saved(tmp_path):
    """Process name, host name and process id of the export are in no byte of the run."""
    runfile.save(load([RECORDED / "ln_hand.raw.csv.gz"]), tmp_path / "a.roof")
    held = (tmp_path / "a.roof").read_bytes()

    assert b"localhost" not in held
    assert b"python3.12" not in held


def test_what_was_not_read_is_said():
    """A few columns of this cut-down page mean nothing here."""
    imported = load([RECORDED / "ln_hand.raw.csv.gz"])

    assert imported.recorder.warnings == ()  # that is no reason to doubt the rest
    assert [(g.name, g.what) for g in imported.gaps] == [
        ("metrics", "4 columns that nothing here uses")
    ]
    assert (imported.recorder.cache, imported.recorder.clock) == ("unknown", "unknown")
