"""Plateaus of synthetic sweeps, whose answer is known, and of recorded ones."""

import itertools
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.bench.plateau import BAND, Plateau, Point, levels, plateaus
from roofline.device import DRAM, L1, L2, L3, resource

KIB, MIB = 1024, 1024 * 1024
ADVERTISED = {L1: 32 * KIB, L2: 512 * KIB, L3: 16 * MIB}
SWEEPS = json.loads((Path(__file__).parent / "sweeps.json").read_text())["sweeps"]


def stairs(
    *steps: tuple[int, float], largest: int = 256 * MIB, per_octave: int = 4, noise: float = 0.0
) -> list[Point]:
    """A sweep from 8 KiB over levels of (capacity, rate); the last holds everything."""
    draw = random.Random(7)
    points, step = [], 0
    while (size := round(8 * KIB * 2 ** (step / per_octave))) <= largest:
        rate = next((r for held, r in steps if size <= held), steps[-1][1])
        points.append(Point(size, rate * draw.uniform(1 - noise, 1 + noise)))
        step += 1
    return points


def named(points: list[Point], advertised=ADVERTISED) -> dict[str, Plateau]:
    return {r.name: p for r, p in levels(plateaus(points), points[-1].size, advertised).items()}


# Sizes are 8 KiB * 2**(k/4), so capacities that are powers of two are met exactly.
FOUR = (32 * KIB, 400.0), (512 * KIB, 160.0), (16 * MIB, 60.0), (1 << 40, 15.0)


def test_clean_stairs_give_every_level_its_rate_and_capacity():
    found = named(stairs(*FOUR))
    assert {name: (p.rate, p.holds) for name, p in found.items()} == {
        "l1": (400.0, 32 * KIB),
        "l2": (160.0, 512 * KIB),
        "l3": (60.0, 16 * MIB),
        "dram": (15.0, 256 * MIB),
    }


@pytest.mark.parametrize("per_octave", [2, 4])
def test_noise_moves_rates_but_not_levels(per_octave):
    found = named(stairs(*FOUR, noise=0.04, per_octave=per_octave))
    assert {name: p.holds for name, p in found.items()} == {
        "l1": 32 * KIB,
        "l2": 512 * KIB,
        "l3": 16 * MIB,
        "dram": 256 * MIB,
    }
    for level, rate in (("l1", 400), ("l2", 160), ("l3", 60), ("dram", 15)):
        assert found[level].rate == pytest.approx(rate, rel=0.04)


def test_a_level_that_is_not_there_is_absent_though_advertised():
    found = named(stairs((32 * KIB, 400.0), (512 * KIB, 160.0), (1 << 40, 15.0)))
    assert sorted(found) == ["dram", "l1", "l2"]


def test_a_cache_is_named_after_the_nearest_advertised_size_however_far_off():
    # A guest that gets 16 MiB of an L3 advertised as 300 MiB.
    found = named(stairs(*FOUR), {L1: 48 * KIB, L2: 2 * MIB, L3: 300 * MIB})
    assert found["l2"].holds == 512 * KIB
    assert found["l3"].holds == 16 * MIB


def test_a_shoulder_between_levels_belongs_to_neither():
    # 512 KiB held; then 609, 724, 861 KiB at 130, 110, 85 on the way from 160 down to 60.
    points = stairs(*FOUR)
    at = next(i for i, p in enumerate(points) if p.size > 512 * KIB)
    for offset, rate in enumerate((130.0, 110.0, 85.0)):
        points[at + offset] = Point(points[at + offset].size, rate)
    found = named(points)
    assert found["l2"].holds == 512 * KIB
    assert found["l3"].points[0].size == points[at + 3].size == 1 * MIB
    assert found["l3"].rate == 60.0


@pytest.mark.parametrize("exponent", [0.05, 0.1, 0.15, 0.2, 0.4, 1.0])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_slope_has_no_plateau(exponent, noise):
    flat = stairs((1 << 40, 400.0), noise=noise)
    assert plateaus([Point(p.size, p.rate * (p.size / 8192) ** -exponent) for p in flat]) == ()


def test_one_rate_everywhere_is_memory_without_caches():
    found = named(stairs((1 << 40, 12.0)))
    assert list(found) == ["dram"]
    assert len(found["dram"].points) == 61  # 8 KiB * 2**(60/4) = 256 MiB


def test_what_ends_far_beyond_the_caches_is_memory():
    """A cache of 16 MiB; from 24 MiB on all is flat to 96 MiB, and then disturbed to the end."""
    points = stairs((16 * MIB, 60.0), (96 * MIB, 28.0), (1 << 40, 20.0), largest=512 * MIB)
    shaken = [Point(p.size, p.rate * (0.7 if i % 2 else 1.3)) if p.size > 100 * MIB else p
              for i, p in enumerate(points)]  # fmt: skip
    assert named(shaken)["dram"].rate == 28.0


def test_less_than_an_octave_is_no_plateau():
    # 512, 609, 724, 861 KiB: 861/512 is 0.75 octaves.
    flat = stairs((300 * KIB, 400.0), (900 * KIB, 160.0), (1 << 40, 15.0))
    narrow = [p for p in flat if not 300 * KIB < p.size < 500 * KIB]
    assert [p.rate for p in plateaus(narrow)] == [400.0, 15.0]


def test_a_disturbed_point_is_smoothed_away():
    points = stairs(*FOUR)
    at = next(i for i, p in enumerate(points) if p.size == 128 * KIB)
    points[at] = Point(points[at].size, 40.0)
    l2 = named(points)["l2"]
    assert l2.holds == 512 * KIB
    assert 40.0 not in [p.rate for p in l2.points]


def test_a_disturbed_last_point_does_not_cost_the_level():
    points = stairs(*FOUR)
    points[-1] = Point(points[-1].size, 7.0)
    assert named(points)["dram"].rate == 15.0


def test_a_plateau_far_beyond_every_cache_is_memory_though_the_sweep_goes_on():
    # From 48 MiB on 15, and disturbed for more than an octave before the end at 1 GiB.
    steps = (32 * KIB, 400.0), (512 * KIB, 160.0), (48 * MIB, 60.0), (400 * MIB, 15.0)
    points = stairs(*steps, (1 << 40, 9.0), largest=1024 * MIB)
    points = [p for p in points if not 48 * MIB <= p.size < 64 * MIB]
    rough = [Point(p.size, p.rate * (1.4 if i % 2 else 0.7)) for i, p in enumerate(points[-5:])]
    found = named([*points[:-5], *rough], {L1: 32 * KIB, L2: 512 * KIB, L3: 32 * MIB})
    assert found["l3"].holds < 48 * MIB
    assert found["dram"].rate == 15.0
    assert found["dram"].holds < 512 * MIB


def test_call_overhead_is_no_level():
    # Up to 32 KiB a constant overhead rules: slower than what lies further out.
    found = named(stairs((32 * KIB, 50.0), (512 * KIB, 160.0), (1 << 40, 15.0)))
    assert sorted(found) == ["dram", "l2"]


def test_what_a_level_holds_may_run_past_where_it_is_flat():
    # As seen on a real L2: 190 up to 384 KiB, then 250 for less than an octave, then the fall.
    points = stairs((32 * KIB, 520.0), (384 * KIB, 190.0), (725 * KIB, 250.0), (1 << 40, 45.0))
    l2 = named(points)["l2"]
    assert l2.rate == 190.0
    assert l2.holds == round(8 * KIB * 2 ** (26 / 4))  # 724 KiB


@pytest.mark.parametrize(
    "sweep", SWEEPS, ids=lambda s: f"{s['access']}-{s['threads']}-{s['state']}"
)
def test_recorded_sweeps_show_all_four_levels(sweep):
    points = [Point(*pair) for pair in sweep["points"]]
    advertised = {resource(name): size for name, size in sweep["advertised"].items()}
    found = named(points, advertised)
    assert sorted(found) == ["dram", "l1", "l2", "l3"]
    # Never more than is advertised, and more than a third of it: nobody else's cache.
    for level in (L1, L2, L3):
        assert advertised[level] / 3 < found[level.name].holds <= advertised[level]
    rates = [found[name].rate for name in ("l1", "l2", "l3", "dram")]
    assert rates == sorted(rates, reverse=True)


def test_recorded_rates():
    """Read by eye off the idle sweep of one thread, reading: the middle of each flat stretch."""
    points = [Point(*pair) for pair in SWEEPS[0]["points"]]
    found = named(points, {L1: 48 * KIB, L2: MIB, L3: 32 * MIB})
    assert found["l1"].rate == pytest.approx(522, rel=0.01)
    assert found["l2"].rate == pytest.approx(190, rel=0.01)
    assert found["l3"].rate == pytest.approx(116, rel=0.02)
    assert found["dram"].rate == pytest.approx(43, rel=0.02)
    # The last size before 48 KiB of 8 KiB * 2**(k/4), rounded down to whole blocks.
    assert found["l1"].holds == 44 * KIB


@given(
    rates=st.lists(st.floats(1.0, 1e3), min_size=0, max_size=40),
    factor=st.integers(-20, 40).map(lambda power: 2.0**power),  # exact, so that nothing rounds
)
def test_plateaus_do_not_depend_on_the_unit_and_do_not_overlap(rates, factor):
    points = [Point(round(8192 * 2 ** (k / 3)), rate) for k, rate in enumerate(rates)]
    found = plateaus(points)
    scaled = plateaus([Point(p.size, p.rate * factor) for p in points])
    assert [[p.size for p in f.points] for f in found] == [
        [p.size for p in f.points] for f in scaled
    ]
    ends = [(f.points[0].size, f.holds) for f in found]
    assert all(high < low for (_, high), (low, _) in itertools.pairwise(ends))
    for f in found:
        assert {p.size for p in f.points} <= {p.size for p in points}
        assert f.points[-1].size <= f.holds
        assert max(abs(p.rate / f.rate - 1) for p in f.points) <= 2 * BAND


def test_no_points_no_levels():
    assert levels(plateaus([]), 0, ADVERTISED) == {}
    assert DRAM not in levels(plateaus([Point(8192, 1.0)]), 8192, ADVERTISED)


SHALLOW = {
    s["access"]: (
        [Point(size, rate) for size, rate in s["points"]],
        {resource(name): size for name, size in s["advertised"].items()},
    )
    for s in json.loads((Path(__file__).parent / "sweeps-shallow.json").read_text())["sweeps"]
}


@pytest.mark.parametrize(
    ("access", "l2", "l3"), [("read", (118, 608), (99, 8192)), ("copy", (113, 860), (96, 6888))]
)
def test_a_level_a_sixth_slower_than_the_one_before_is_a_level(access, l2, l3):
    """118 and 99 GB/s both lie within a tenth of 108: one band, but with a step in it."""
    found = named(*SHALLOW[access])
    assert [(round(found[n].rate), found[n].holds // KIB) for n in ("l2", "l3")] == [l2, l3]


def test_what_is_as_fast_in_several_levels_is_each_of_them():
    """An update in place is bound by the core: 182 GB/s to the end of L2, 176 beyond."""
    found = named(*SHALLOW["update"])
    assert (round(found["l2"].rate), found["l2"].holds) == (182, MIB)
    assert round(found["l3"].rate) == 176
    assert found["l3"].points[0].size > MIB


def test_a_step_of_less_than_a_tenth_is_noise():
    """160 and 150 are one level; 160 and 140 two, each flat."""

    def rates(second):
        steps = (32 * KIB, 400.0), (512 * KIB, 160.0), (16 * MIB, second), (1 << 40, 15.0)
        return [p.rate for p in plateaus(stairs(*steps))]

    assert len(rates(150.0)) == 3
    assert rates(140.0) == [400.0, 160.0, 140.0, 15.0]
