"""Doubts about counters and recordings: what fires each, and what keeps it silent."""

from dataclasses import replace

import pytest

from roofline.device import DRAM, Ceiling, Device, Fact
from roofline.diagnosis import diagnose
from roofline.placement import place
from roofline.program import read
from roofline.runfile import Event, Gap, Run, Signature, Step, table
from roofline.work import Count, Entry, Ledger, Work, algorithmic
from tests.roofs import STATED, roof
from tests.runs import RECORDER

MIB = 2**20
CARD = Device(
    id="card", name="Card", kind="gpu",
    ceilings=(Ceiling(resource=DRAM, rate=672.05e9, provenance=STATED),),
    facts=(Fact(name="l2_capacity", value=48 * MIB, unit="B", provenance=STATED),),
)  # fmt: skip
N = 16_777_216  # elements: 64 MiB of fp32
# saxpy: x and y read, y written: 12 N = 201,326,592 B, of which 134,217,728 are reads.
SAXPY = algorithmic(Entry(DRAM, 8 * N, "x and y", "read"), Entry(DRAM, 4 * N, "y", "write"))


def counted(read_bytes, write_bytes, **more):
    return {"dram__bytes_read.sum": read_bytes, "dram__bytes_write.sum": write_bytes, **more}


def program(counters, us=292.928, ledger=SAXPY, gaps=(), names=("saxpy",), **recorder):
    """Regions with a ledger and the counters of their own launch, one after the other."""
    events = [
        Event(signature=at, kind="region", step=0, start_ns=round(at * us * 1000),
              duration_ns=round(us * 1000), counters=counters)
        for at, _ in enumerate(names)
    ]  # fmt: skip
    run = Run(
        recorder=replace(RECORDER, **recorder), device=CARD,
        signatures=tuple(Signature(name=name, ledger=ledger) for name in names),
        steps=(Step(start_ns=0, duration_ns=round(us * 1000) * len(names)),), gaps=gaps,
        events=table(events),
    )  # fmt: skip
    return read(run)


def found(*args, **kwargs):
    return {f.code: f for f in diagnose(program(*args, **kwargs))}


def test_writes_that_stay_dirty_are_said_and_the_roof_is_that_of_what_crossed():
    """134,221,568 + 43,631,104 = 177,852,672 B in 292.928 us: 607.2 GB/s, 90.3 % of 672.05.

    By formula it would be 201,326,592 B, 687 GB/s and 102 %.  67,108,864 - 43,631,104 B of writes
    are missing, 22.4 MiB, which the L2 of 48 MiB holds.
    """
    saxpy = program(counted(134_221_568, 43_631_104))
    (item,) = saxpy.by("call")
    finding = {f.code: f for f in diagnose(saxpy)}["RF004"]

    assert item.roof_fraction == pytest.approx(177_852_672 / 292.928e-6 / 672.05e9)
    assert item.roof_fraction == pytest.approx(0.903, abs=0.0005)
    assert "still dirty in the L2" in finding.claim
    assert finding.evidence == (
        "saxpy: 178 MB a call of 201 MB, writes 43.6 MB of 67.1 MB: 607 GB/s, 90.3% of its roof",
    )
    assert finding.doubt_s is None


def test_reads_found_in_the_cache_and_more_missing_than_it_holds_have_other_reasons():
    """30 MB of reads missing fit 48 MiB; 100 MB do not, and leave the formula in doubt."""
    held = found(counted(134_217_728 - 30e6, 67_108_864))["RF004"]
    wrong = found(counted(134_217_728 - 100e6, 67_108_864))["RF004"]

    assert "was in the L2 already" in held.claim
    assert "the formula counts too much" in wrong.claim
    assert wrong.doubt_s == pytest.approx(292.928e-6)


def test_all_bytes_crossed_is_no_finding():
    assert "RF004" not in found(counted(134_217_728, 67_108_864))


def test_a_bound_says_who_counted_it():
    saw = Ledger(
        Count.ACHIEVED, (Entry(DRAM, 100, "r", "read"), Entry(DRAM, 20, "w", "write")),
    )  # fmt: skip
    needs = algorithmic(Entry(DRAM, 100, "r", "read"), Entry(DRAM, 50, "w", "write"))
    fewer, more = (
        place(Work(algorithmic=needs, achieved=seen), roof(dram=10.0)).binding
        for seen in (saw, Ledger(Count.ACHIEVED, (Entry(DRAM, 400, "r", "read"),)))
    )
    assert (fewer.amount, fewer.count) == (120, Count.ACHIEVED)
    assert (more.amount, more.count) == (150, Count.ALGORITHMIC)


def test_more_bytes_outside_than_inside():
    """201 MB over dram, 100 MB asked of the L2."""
    finding = found(counted(134e6, 67e6, **{"lts__t_bytes.sum": 100e6}))["RF005"]

    assert "saxpy moved more bytes over dram than the l2 was asked for" in finding.claim
    assert finding.doubt_s == pytest.approx(292.928e-6)


def test_what_others_left_in_the_l2_was_not_asked_of_it_by_this_kernel():
    """134 MB read through the L2; of 67 MB written 50.3, a full L2, may be another's: 1.1 times."""
    assert "RF005" not in found(counted(134e6, 67e6, **{"lts__t_bytes.sum": 140e6}))


def test_code_and_constants_beside_little_data_are_no_inversion():
    """26,368 B over dram, 16,448 B asked of the L2, as a layer norm of one row has them."""
    assert "RF005" not in found(counted(26_368, 0, **{"lts__t_bytes.sum": 16_448}))
    assert "RF005" not in found(counted(134e6, 67e6, **{"lts__t_bytes.sum": 190e6}))


COUNTS_ALONE = dict(ledger=None, names=("a<int>", "b<int>"))


@pytest.mark.parametrize(("cache", "word"), [("flushed", "were"), ("unknown", "may have been")])
def test_kernels_that_fit_the_cache_were_counted_cold(cache, word):
    """20 MB fit 48 MiB; both kernels, all of the device time."""
    finding = found(counted(20e6, 0), cache=cache, **COUNTS_ALONE)["RF006"]

    assert f"caches {word} emptied before each kernel: 2 kernels" in finding.claim
    assert "48 MiB L2" in finding.claim
    assert finding.evidence[0] == "they are 100% of device time and move 40.0 MB"


def test_warm_caches_and_data_that_no_cache_holds_are_no_doubt():
    assert "RF006" not in found(counted(20e6, 0), cache="warm", **COUNTS_ALONE)
    assert "RF006" not in found(counted(60e6, 0), cache="flushed", **COUNTS_ALONE)


def gap(name, us, count=9):
    return (Gap(name=name, what="as the recording says.", seconds=us * 1e-6, count=count),)


def test_kernels_under_a_graph_are_said_once_with_the_coverage():
    """97 of 100 us ran from a graph; RF002 would say the same of the same kernels."""
    codes = found({}, us=100.0, ledger=None, gaps=gap("graph launches", 97))

    assert "97% of device time ran from captured graphs" in codes["RF007"].claim
    assert "coverage is 0%" in codes["RF007"].claim
    assert codes["RF007"].doubt_s == pytest.approx(97e-6)
    assert "RF002" not in codes


def test_a_graph_that_explains_little_of_what_is_unknown_leaves_that_said():
    codes = found({}, us=100.0, ledger=None, gaps=gap("graph launches", 10))

    assert "RF007" not in codes
    assert "RF002" in codes


def test_kernels_from_before_the_recording_are_said_where_they_are_many():
    """10 us beside 100 us that belong to the step: 9 %; 1 us is 1 %."""
    many = found({}, us=100.0, gaps=gap("activities without a launch", 10))["RF008"]

    assert "9 kernels, 10.0 us of device time, without a launch" in many.claim
    assert many.evidence[1].startswith("9% of what the device did")
    assert "RF008" not in found({}, us=100.0, gaps=gap("activities without a launch", 1))
