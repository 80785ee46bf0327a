"""Counters of replays in the document and on the terminal: beside the times, never among them."""

from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from roofline import importers
from roofline.devices import kept
from roofline.importers import Options
from roofline.measurement import CacheState, ClockState
from roofline.report.document import of_run
from roofline.report.text import print_document

TESTS = Path(__file__).parents[1]
MEASURED = kept.read_file(TESTS / "data" / "h200-measured.json")
TRACES = TESTS / "importers" / "kineto" / "torch-2.11"
PAGES = TESTS / "importers" / "ncu" / "2025.3"
STATE = Options(ncu_cache=CacheState.FLUSHED, ncu_clock=ClockState.FREE)


@cache
def document(name, page=True):
    files = [TRACES / f"{name}.json.gz", *([PAGES / f"{name}.raw.csv.gz"] if page else [])]
    state = STATE if page else Options()
    return of_run(replace(importers.load(files, state), device=MEASURED))


def item(found, name, shapes=""):
    return next(i for i in found["items"] if i["name"] == name and shapes in i["shapes"])


@pytest.mark.parametrize("name", ["ln_hand", "decode_1", "train_eager"])
def test_all_else_is_as_the_trace_alone_has_it(name):
    """Times, placements, coverage, answer: what is added stands under keys of its own."""
    alone, both = document(name, page=False), document(name)

    assert alone["replays"] is None
    for key in ("coverage", "program", "recorder", "answer", "timeline", "roof", "device"):
        assert both[key] == alone[key], key
    for before, after in zip(alone["items"], both["items"], strict=True):
        assert before["replay"] is None
        assert {**after, "replay": None} == before


def test_the_state_is_named():
    replays = document("decode_1")["replays"]

    assert (replays["tool"], replays["cache"], replays["clock"]) == (
        "Nsight Compute", "flushed", "free",
    )  # fmt: skip
    assert "no rate is made of both" in replays["note"]


def test_a_product_of_one_row_runs_eight_times_its_flop():
    """2 x 6144 x 2048 useful, 8 rows executed; its weights of 25.2 MB cross DRAM in cold caches."""
    replay = item(document("decode_1"), "aten::addmm", "6144 bf16")["replay"]

    assert replay["source"] == "ncu, caches flushed, clocks free, launch 1"
    assert replay["executed"]["tensor-bf16"] == 8 * 2 * 6144 * 2048
    assert replay["excess"]["tensor-bf16"] == pytest.approx(8.0)
    assert replay["achieved"]["dram"]["total"] == 25_198_336 + 5_888
    assert replay["excess"]["dram"] == pytest.approx(1.0, abs=0.01)
    assert replay["time_s"] == pytest.approx(10.624e-6)
    assert replay["kernels"][0]["binding"] == "dram"


def test_kernels_of_one_call_are_listed():
    """The split product and the kernel that adds its parts up: 12.384 and 3.712 us."""
    replay = item(document("decode_1"), "aten::addmm", "1x8192 bf16")["replay"]

    assert [kernel["launch"] for kernel in replay["kernels"]] == [11, 12]
    assert replay["time_s"] == pytest.approx(sum(k["time_s"] for k in replay["kernels"]))
    assert replay["missing"] == []


def test_an_operator_carries_how_its_main_kernel_was_launched():
    """96 blocks of 384 threads, from the trace; what the replay counted stands in the replay."""
    found = item(document("decode_1", page=False), "aten::addmm", "6144 bf16")
    both = item(document("decode_1"), "aten::addmm", "6144 bf16")

    assert found["facts"]["grid_size"]["value"] == 96
    assert found["facts"]["block_size"]["value"] == 384
    assert found["main_kernel"] == {
        "name": "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_bias_TNT", "share": 1.0,
    }  # fmt: skip
    assert "occupancy_achieved" not in both["facts"]
    assert both["replay"]["facts"]["occupancy_achieved"]["unit"] == "%"


def test_what_the_page_does_not_reach_has_none():
    """The page holds the first 100 of 308 launches: the optimizer is not among them."""
    assert item(document("train_eager"), "aten::addcdiv_")["replay"] is None


def test_groups_have_none():
    files = [TRACES / "ln_hand.json.gz", PAGES / "ln_hand.raw.csv.gz"]
    grouped = of_run(importers.load(files), by="phase")
    assert [i["replay"] for i in grouped["items"]] == [None] * len(grouped["items"])


def printed(found):
    console = Console(file=StringIO(), width=110)
    print_document(found, console, rows=9, findings=0)
    return console.file.getvalue()


def test_the_terminal_shows_them_apart():
    text = printed(document("decode_1"))

    assert "counters of one call by Nsight Compute: caches flushed, clocks free; another" in text
    assert (
        "addmm                     11, 12   271 Mflop      8.06x  34.2 MB      1.02x   16.1 us"
        in text
    )
    assert "host-bound: 93% of a step" in text
    assert "counters of one call" not in printed(document("decode_1", page=False))


def test_no_lines_at_all_can_be_asked_for():
    console = Console(file=StringIO(), width=110)
    print_document(document("decode_1"), console, rows=0, findings=0)

    assert "coverage:" in console.file.getvalue()
    assert "counters of one call" not in console.file.getvalue()
