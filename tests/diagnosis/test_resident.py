"""RF107: one call over and over on data that a cache holds, by formula and by counters."""

from dataclasses import replace

import pytest

from roofline.device import DRAM, L2, VECTOR_FP32, Ceiling, Device
from roofline.diagnosis import diagnose
from roofline.measurement import CacheState
from roofline.program import read
from roofline.runfile import Event, Run, Signature, Step, table
from tests.roofs import STATED
from tests.runs import RECORDER, Script, call, tensor

SMALL = call("aten::relu", tensor(50_000), out=tensor(50_000))  # 400 KB of the 1 MB L2
LARGE = call("aten::relu", tensor(500_000), out=tensor(500_000))  # 4 MB


def codes(run):
    return [f.code for f in diagnose(read(run))]


def repeated(made, times):
    script = Script()
    for _ in range(times):
        script.add(made, 50)
    return script.end_step().run(cache=CacheState.WARM)


def test_a_call_repeated_on_data_that_fits_is_a_benchmark_of_the_cache():
    """400 KB fit into the 1 MB L2; at the 10 GB/s of dram they take 40 us at least."""
    (finding,) = (f for f in diagnose(read(repeated(SMALL, 4))) if f.code == "RF107")

    assert (
        "ran 4 times on data that stays in the l2: its 50.0 us say nothing of memory"
        in finding.claim
    )
    assert finding.evidence[1] == "from dram the same bytes take 40.0 us at least"
    assert finding.saves_s == 0.0


@pytest.mark.parametrize(("made", "times"), [(SMALL, 2), (LARGE, 4)], ids=["twice", "from dram"])
def test_not_when_it_is_no_repetition_or_does_not_fit(made, times):
    assert "RF107" not in codes(repeated(made, times))


def test_not_when_it_is_a_part_of_a_program():
    """Half of the time is another call's."""
    script = Script()
    for _ in range(4):
        script.add(SMALL, 50).add(LARGE, 500)
    assert "RF107" not in codes(script.end_step().run(cache=CacheState.WARM))


CARD = Device(
    id="card", name="Card", kind="gpu",
    ceilings=tuple(
        Ceiling(resource=r, rate=rate, provenance=STATED, capacity=held)
        for r, rate, held in ((DRAM, 1e12, None), (L2, 5e12, 50_000_000), (VECTOR_FP32, 10e12, None))
    ),
)  # fmt: skip
# 1 Mi sectors of 32 B asked for: 33.6 MB of the 50 MB that the L2 holds; 100 kB crossed dram.
SEEN = {
    "dram__bytes_read.sum": 1e5,
    "dram__bytes_write.sum": 0.0,
    "lts__t_sectors_srcunit_tex_op_read.sum": 524288.0,
    "lts__t_sectors_srcunit_tex_op_write.sum": 524288.0,
    "profiler__replayer_passes": 1.0,
}


def profiled(changes, cache=CacheState.UNKNOWN, launches=3):
    events = [
        Event(signature=0, kind="kernel", step=0, start_ns=at * 10_000, duration_ns=10_000,
              counters=SEEN | changes)
        for at in range(launches)
    ]  # fmt: skip
    return Run(
        recorder=replace(RECORDER, cache=cache), device=CARD, signatures=(Signature(name="scale"),),
        steps=(Step(start_ns=0, duration_ns=0),), gaps=(), events=table(events),
    )  # fmt: skip


def test_counters_of_one_pass_show_it_where_caches_were_left_alone():
    """33.6 MB at the 1 TB/s of dram: 33.6 us."""
    (finding,) = (f for f in diagnose(read(profiled({}))) if f.code == "RF107")

    assert finding.evidence == (
        "of 33.6 MB asked of the l2 a launch, 100 kB crossed dram",
        "from dram the same bytes take 33.6 us at least",
    )


@pytest.mark.parametrize(
    ("changes", "cache"),
    [
        ({"dram__bytes_read.sum": 16e6}, CacheState.UNKNOWN),  # half of what was asked for
        ({}, CacheState.FLUSHED),
        ({"profiler__replayer_passes": 4.0}, CacheState.UNKNOWN),  # a pass finds the last one's data
        # 67 MB asked for, which may be 34 MB twice or 67 MB once: more than the L2 holds
        ({"lts__t_sectors_srcunit_tex_op_read.sum": 1572864.0}, CacheState.UNKNOWN),
    ],
    ids=["from dram", "emptied", "several passes", "too much for the cache"],
)  # fmt: skip
def test_counters_do_not_show_it(changes, cache):
    assert "RF107" not in codes(profiled(changes, cache))
