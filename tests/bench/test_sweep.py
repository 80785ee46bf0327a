"""The sweep's plan, its slices, and what it makes of its samples."""

import os

import pytest

from roofline.bench.cpu import memory, sweep
from roofline.bench.cpu.crew import Crew
from roofline.bench.cpu.kernels import ARRAYS, ELEMENT, Kernels
from roofline.bench.cpu.sweep import Plan, Swept
from roofline.bench.record import Absent
from roofline.bench.sample import Sample, Samples
from roofline.device import DRAM, L1, L2, L3, Ceiling, Variant

KIB, MIB = 1024, 1024 * 1024
HERE = sorted(os.sched_getaffinity(0))


def recorder(log: list):
    def stream(a: int, b: int, c: int, elements: int, passes: int) -> float:
        log.append((a, b, c, elements, passes))
        return 0.0

    return stream


def kernels(log: list) -> Kernels:
    return Kernels(
        made_by="toy", instructions="toy", code="0", grain=512, chains={},
        streams={access: {"only": recorder(log)} for access in ARRAYS},
    )  # fmt: skip


def plan(**changes) -> Plan:
    usual = dict(
        per_octave=1, largest=64 * KIB, caches=16 * KIB, sample_s=0.0, visit=1, rounds=2,
        least_rounds=1, budget_s=60.0,
    )  # fmt: skip
    return Plan(**(usual | changes))


def test_every_access_is_timed_at_every_size_in_every_round():
    log: list = []
    with Crew([HERE[:1]]) as crew:
        swept = sweep.sweep(crew, kernels(log), plan())
    # 8, 16, 32, 64 KiB, whole blocks of 512 elements = 2 KiB an array; for three arrays
    # 8 // 6 = 1 block, 2, 5, 10 blocks of 6 KiB.
    assert [s.size // KIB for s in swept["read"]] == [8, 16, 32, 64]
    assert [s.size // KIB for s in swept["copy"]] == [8, 16, 32, 64]
    assert [s.size // KIB for s in swept["triad"]] == [6, 12, 30, 60]
    # One array that is read and written is as large as one that is only read.
    assert [s.size // KIB for s in swept["update"]] == [8, 16, 32, 64]
    assert all(len(s.samples.all) == 2 for per in swept.values() for s in per)


def test_sizes_count_all_threads_and_each_has_its_own_arrays():
    log: list = []
    with Crew([HERE[:1], HERE[-1:]]) as crew:
        swept = sweep.sweep(crew, kernels(log), plan(largest=32 * KIB, rounds=1))
    assert [s.size // KIB for s in swept["read"]] == [16, 32]
    reads = {a for a, b, _, elements, _ in log if a == b and elements in (2048, 4096)}
    assert len(reads) == 2


def test_rounds_end_when_the_time_is_over_but_not_before_the_least():
    log: list = []
    with Crew([HERE[:1]]) as crew:
        swept = sweep.sweep(crew, kernels(log), plan(rounds=50, least_rounds=3, budget_s=1e-9))
    assert {len(s.samples.all) for s in swept["read"]} == {3}


def test_progress_never_goes_back():
    heard: list[float] = []
    with Crew([HERE[:1]]) as crew:
        sweep.sweep(crew, kernels([]), plan(), heard.append)
    assert heard == sorted(heard)
    # 40 samples: 20 cells (four sizes of five accesses) in two rounds; one sample before the end.
    assert heard[-1] == pytest.approx(39 / 40)


def test_a_set_far_larger_than_the_caches_is_walked_in_slices_around_and_around():
    log: list = []
    # One array of 32 MiB is 4 slices of 8 MiB, the first of which fills caches of 1 MiB.
    load, warm = sweep._load(recorder(log), [(0, 0, 0)], 8 * MIB, 32 * MIB, plan(caches=1 * MIB))
    assert load.amount == 8 * MIB
    assert warm == 1
    load.run(0, 3)
    load.run(0, 2)
    assert [a // MIB for a, *_ in log] == [0, 8, 16, 24, 0]
    assert {(elements, passes) for *_, elements, passes in log} == {(2 * MIB, 1)}


def test_what_the_caches_may_hold_is_warmed_whole():
    """32 MiB and caches of 17: once around its 4 slices, so that what stays in them is there."""
    load, warm = sweep._load(recorder([]), [(0, 0, 0)], 8 * MIB, 32 * MIB, plan(caches=17 * MIB))
    assert (load.amount, warm) == (8 * MIB, 4)


def test_slices_leave_out_less_than_a_grain_each():
    """39 MiB are 4 slices of 9.75 MiB, whole grains of 512 elements (2 KiB), and nothing more."""
    log: list = []
    load, warm = sweep._load(
        recorder(log), [(0, 0, 0)], 39 * MIB // ELEMENT, 39 * MIB, plan(caches=64 * MIB), grain=512
    )
    load.run(0, warm)
    assert warm == 4
    assert [a for a, *_ in log] == [k * 9984 * KIB for k in range(4)]
    assert load.amount == 9984 * KIB


def test_warming_up_fills_the_caches_once():
    # Triad, three arrays of 64 MiB; a pass is a slice of each, 24 MiB; 40 MiB of caches need two.
    elements = 64 * MIB // ELEMENT
    load, warm = sweep._load(recorder([]), [(0, 0, 0)], elements, 192 * MIB, plan(caches=40 * MIB))
    assert load.amount == 24 * MIB
    assert warm == 2


def test_what_is_updated_in_place_moves_twice():
    """Slices of 8 MiB of one array of 32 MiB: 16 MiB a pass; the caches fill as with a read."""
    one, twice = (
        sweep._load(recorder([]), [(64, 64, 64)], 8 * MIB, 32 * MIB, plan(caches=MIB), moved)
        for moved in (1, 2)
    )
    assert (one[0].amount, twice[0].amount) == (8 * MIB, 16 * MIB)
    assert one[1] == twice[1] == 1


def test_a_set_of_few_slices_is_passed_over_whole():
    log: list = []
    load, warm = sweep._load(recorder(log), [(64, 64, 64)], 6 * MIB, 24 * MIB, plan(caches=MIB))
    load.run(0, 5)
    assert (load.amount, warm) == (24 * MIB, 1)
    assert log == [(64, 64, 64, 6 * MIB, 5)]


def test_a_visit_takes_its_samples_after_one_warming_up():
    log: list = []
    with Crew([HERE[:1]]) as crew:
        swept = sweep.sweep(crew, kernels(log), plan(visit=3, rounds=2))
    assert {len(s.samples.all) for s in swept["read"]} == {6}
    # Two rounds of 20 cells: 40 passes to warm up and 3 samples after each.
    assert len(log) == 40 + 120


def test_a_way_far_behind_is_tried_once_only():
    cells = [
        sweep._Cell("copy", way, size, load=None, warm=0, samples=[Sample(r, 1.0) for r in rates])
        for way, size, rates in (
            ("cached", 8, (1.0, 10.0)), ("past", 8, (6.0, 6.9)),  # 69 % of 10
            ("cached", 16, (5.0, 7.0)), ("past", 16, (1.0, 10.0)),  # 70 %
        )
    ]  # fmt: skip
    kept = [(c.way, c.size) for c in sweep._kept(cells)]
    assert kept == [("cached", 8), ("cached", 16), ("past", 16)]


def test_sizes_lead_down_from_the_largest():
    """It lies a whole number of times beyond the caches: 2.5 MiB, 1.25, 640 KiB, ..."""
    assert sweep._sizes(64 * KIB, 2560 * KIB, 1) == [
        k * KIB for k in (80, 160, 320, 640, 1280, 2560)
    ]


# From a sweep to ceilings.


def swept(*steps: tuple[int, float, str]) -> list[Swept]:
    """Six octaves a level, four sizes an octave, three clean samples and a dirty one each."""
    out, size = [], 8 * KIB
    for last, rate, way in steps:
        while size <= last:
            clean = [Sample(rate * r, 1.0) for r in (0.99, 1.0, 1.01)]
            out.append(Swept(size, way, Samples((*clean, Sample(rate * 9, 0.5)))))
            size *= 2
    return out


def levels(of: list[Swept], access: str = "copy", advertised=None, node=None) -> list:
    sizes = {L1: 32 * KIB, L2: MIB, L3: 32 * MIB} if advertised is None else advertised
    variant = Variant(access=access, threads=1, node=node)
    span = "8 KiB to 256 MiB"
    return list(memory._levels(variant, of, kernels([]), span, sizes, ("toy CPU",)))


THREE = swept(
    (32 * KIB, 400e9, "cached stores"), (MIB, 100e9, "cached stores"),
    (256 * MIB, 10e9, "non-temporal stores"),
)  # fmt: skip


def test_each_plateau_becomes_a_ceiling_and_each_missing_level_a_sentence():
    l1, l2, l3, dram = levels(THREE)
    assert isinstance(l1, Ceiling)
    assert (l1.resource, l1.rate, l1.capacity) == (L1, 400e9, 32 * KIB)
    assert l1.variant == Variant(access="copy", threads=1)
    # 8, 16, 32 KiB with three clean samples and one dropped each.
    assert (l1.provenance.spread.n, l1.provenance.spread.dropped) == (9, 3)
    assert (l2.resource, l2.rate, l2.capacity) == (L2, 100e9, MIB)
    assert l3 == Absent(L3, l1.variant, "no plateau in working sets of 8 KiB to 256 MiB")
    assert (dram.resource, dram.rate, dram.capacity) == (DRAM, 10e9, None)
    assert "non-temporal stores" in dram.provenance.source
    assert dram.provenance.conditions.startswith("instructions toy, non-temporal stores; ")
    assert "cached stores" in l1.provenance.source
    assert "8 B an element counted" in dram.provenance.conditions
    assert "2 MiB to 256 MiB of a sweep over 8 KiB to 256 MiB" in dram.provenance.conditions


def test_a_sweep_that_cannot_leave_the_caches_gives_no_memory():
    """256 MiB beside an advertised 300 MiB: what is flat at its end is a cache."""
    *_, dram = levels(THREE, advertised={L1: 32 * KIB, L2: MIB, L3: 300 * MIB})
    assert dram == Absent(
        DRAM,
        Variant(access="copy", threads=1),
        "working sets end at 256 MiB for want of free memory, within 2 times the caches' 300 MiB",
    )
    *_, dram = levels(THREE, advertised={L1: 32 * KIB, L2: MIB, L3: 128 * MIB})
    assert dram.rate == 10e9


@pytest.mark.parametrize(
    ("level", "way", "moves"),
    [(0, "cached stores", False), (1, "cached stores", True), (3, "non-temporal stores", False)],
)
def test_stores_read_lines_only_where_they_miss(level, way, moves):
    """L1 holds what is written there; beyond it a line comes first, except past the caches."""
    of = [Swept(s.size, way, s.samples) for s in THREE]
    for access, moved in (("copy", 12), ("triad", 16), ("write", 8)):
        told = levels(of, access=access)[level].provenance.conditions
        assert (f"cached stores make the hardware move {moved}" in told) is moves
        assert (
            "make the hardware move" not in levels(of, access="read")[level].provenance.conditions
        )


def test_of_a_node_alone_its_memory_is_looked_for():
    (dram,) = levels(THREE, node=1)
    assert (dram.resource, dram.variant.node) == (DRAM, 1)


def test_levels_have_names_where_the_system_tells_no_sizes():
    assert [f.resource for f in levels(THREE, advertised={}) if isinstance(f, Ceiling)] == [
        L1, L2, DRAM,
    ]  # fmt: skip


def test_reads_need_no_way_to_store():
    of = [Swept(s.size, "one stream", s.samples) for s in THREE]
    (l1, *_) = levels(of, access="read")
    assert l1.provenance.conditions.startswith("instructions toy; ")


def test_a_level_the_cpu_does_not_advertise_is_not_missed():
    found = levels(THREE, advertised={L1: 32 * KIB, L2: MIB})
    assert [f.resource for f in found] == [L1, L2, DRAM]


def test_a_sweep_without_one_clean_sample_names_every_level():
    dirty = [Swept(s.size, s.way, Samples((Sample(1.0, 0.1),))) for s in THREE]
    assert [type(f) for f in levels(dirty)] == [Absent] * 4


def test_the_better_way_wins_at_each_size():
    cells = [
        sweep._Cell("copy", way, size, load=None, warm=0, samples=[Sample(rate, 1.0)])
        for way, size, rate in (
            ("cached", 8, 5.0), ("past", 8, 3.0), ("cached", 16, 1.0), ("past", 16, 2.0),
        )
    ]  # fmt: skip
    assert [(s.size, s.way) for s in sweep._best(cells)] == [(8, "cached"), (16, "past")]


def test_a_faster_way_without_a_clean_sample_leaves_the_size_unknown():
    fast = sweep._Cell("copy", "cached", 8, load=None, warm=0, samples=[Sample(9.0, 0.9)] * 3)
    slow = sweep._Cell("copy", "past", 8, load=None, warm=0, samples=[Sample(2.0, 1.0)] * 3)
    [best] = sweep._best([fast, slow])
    assert best.way == "cached"
    assert sweep.points([best]) == []


def test_pooled_samples_stand_in_the_order_they_were_taken():
    # Two sizes in three rounds: 8 then 16 in each.
    rates = {8: (1.0, 2.0, 3.0), 16: (10.0, 20.0, 30.0)}
    of = [Swept(s, "w", Samples(tuple(Sample(r, 1.0) for r in rs))) for s, rs in rates.items()]
    taken, ways = sweep.within(of, [8, 16])
    assert taken.rates == (1.0, 10.0, 2.0, 20.0, 3.0, 30.0)
    assert ways == ("w",)
