"""The L2 found in a recorded sweep, and working sets that say what they are."""

from roofline.bench.gpu.memory import l2_plateau, working_set
from roofline.bench.plateau import Point

MIB = 1 << 20
# Reads on an H200, 60 MiB of L2: rates in TB/s by working set in MiB, fastest way of each.
H200 = [
    (5.7, 12.2), (9.8, 11.0), (13.9, 10.2), (18.1, 9.66), (22.2, 9.40), (26.3, 9.19), (30.4, 9.12),
    (34.6, 9.11), (42.8, 9.28), (51.1, 10.7), (59.3, 9.75), (71.7, 7.38), (84.1, 6.17),
    (100.6, 5.27), (121.2, 4.92), (141.8, 4.74), (170.7, 4.65), (199.6, 4.60), (240.8, 4.53),
    (286.2, 4.55), (339.8, 4.54), (401.7, 4.58), (480.1, 4.53),
]  # fmt: skip


def test_the_l2_is_the_plateau_inside_its_size():
    sweep = [Point(round(size * MIB), rate * 1e12) for size, rate in H200]
    level = l2_plateau(sweep, 60 * MIB)
    assert level is not None
    assert level.holds == round(59.3 * MIB)
    assert 9.1e12 <= level.rate <= 10.3e12


def test_memory_alone_is_no_l2():
    """A sweep that starts past the cache has DRAM's plateau only."""
    sweep = [Point(round(size * MIB), rate * 1e12) for size, rate in H200 if size > 130]
    assert l2_plateau(sweep, 60 * MIB) is None


def test_a_working_set_is_no_whole_number_of_rounds():
    """528 programs of 4 KiB blocks: a round is 2,162,688 B; 20 MiB are 9.7 rounds, so 9 and 3/8."""
    way = (1024, 4, 4, 4, 528)
    blocks = 9 * 528 + 3 * 528 // 8 + 1
    assert working_set("read", 20 * MIB, *way) == blocks * 4096 == 20_279_296
    # Of a copy there are two arrays: half as many rounds in each.
    assert working_set("copy", 20 * MIB, *way) == 2 * (4 * 528 + 199) * 4096
    assert blocks % 528 != 0


def test_what_is_asked_of_the_l2_is_not_what_comes_out():
    """A quarter of 59.3 MiB is asked, 14.8; 1056 programs of 4 KiB blocks or 528 of 8 KiB pass over
    11.4 to 17.0 (whole rounds of 4.125 MiB an array, and three eighths of one)."""
    size = round(59.3 * MIB) // 4
    small, large = (1024, 2, 4, 8, 1056), (2048, 2, 8, 4, 528)
    out = {access: round(working_set(access, size, *way) / MIB, 2)
           for access, way in (("read", small), ("copy", small), ("triad", large))}  # fmt: skip
    assert round(size / MIB, 1) == 14.8
    assert out == {"read": 13.93, "copy": 11.35, "triad": 17.04}
