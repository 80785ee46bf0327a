"""Bandwidth of device memory and of the L2: Triton streams over random fp32 data."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from roofline.bench.gpu.ahead import compiling, launching
from roofline.bench.gpu.record import Recorder
from roofline.bench.gpu.timing import Load
from roofline.bench.plateau import Plateau, Point, plateaus
from roofline.bench.record import Absent, Found
from roofline.device import DRAM, L2, Variant
from roofline.units import show_binary

ELEMENT = 4  # B
ARRAYS = 3  # of the pool; they change roles from turn to turn
# (elements of a block, blocks of a program, warps), tried in turn
WAYS = ((512, 1, 4), (1024, 1, 8), (1024, 2, 4), (4096, 1, 8), (512, 4, 4), (2048, 4, 8))
QUICK_WAYS = WAYS[:2]
# (elements of a block, blocks under way in a program, warps, programs a multiprocessor)
L2_WAYS = ((1024, 4, 4, 4), (1024, 2, 4, 8), (2048, 4, 8, 2), (2048, 2, 8, 4), (1024, 4, 4, 8))
QUICK_L2_WAYS = L2_WAYS[:2]
Way = tuple[int, int, int, int, int]  # a row of L2_WAYS and the programs of the whole card
TRAFFIC = 1 << 31  # B that one launch over the L2 moves
ARRAYS_OF = {"read": (1, 0), "write": (0, 1), "copy": (1, 1), "triad": (2, 1)}  # read, written
COUNTED = {"read": "4 B an element", "write": "4 B an element", "copy": "8 B an element",
           "triad": "12 B an element"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pool:
    """Random fp32 arrays that take turns, one after the other in one allocation."""

    data: Any  # torch tensor [ARRAYS, n]

    @property
    def n(self) -> int:
        """Elements of one array."""
        return int(self.data.shape[1])

    def three(self, turn: int) -> tuple[Any, Any, Any]:
        """x, y and z of this turn."""
        x, y, z = (self.data[(turn + i) % ARRAYS] for i in range(ARRAYS))
        return x, y, z


def pool(free: int, quick: bool) -> Pool:
    """Arrays of 4 GiB, 1 GiB when quick; smaller where less than twice the pool is free.

    So large that the first and last microseconds of a launch are under half a percent.
    """
    import torch

    wanted = (1 << 30) if quick else (1 << 32)
    size = max(1 << 24, min(wanted, free // (2 * ARRAYS)) >> 24 << 24)
    return Pool(torch.randn(ARRAYS, size // ELEMENT, device="cuda"))


def loads(pool: Pool, units: int, quick: bool) -> Iterator[Load]:
    """One load for each kernel that `dram` and `l2` launch."""
    for access in COUNTED:
        for way in QUICK_WAYS if quick else WAYS:
            yield once(pool, access, *way)
        yield from (load for _, load in _l2_ways(pool, access, 0, units, quick))


def dram(recorder: Recorder, pool: Pool, quick: bool) -> Iterator[Found]:
    """Read, write, copy and triad, each the best of a few ways to cut it into blocks."""
    size, l2 = pool.n * ELEMENT, recorder.timer.card.l2
    for access, counted in COUNTED.items():
        variant = Variant(access=access)
        if size < 4 * l2:
            yield Absent(DRAM, variant, f"only arrays of {show_binary(size)} fit the free memory, "
                         f"4 times the L2 of {show_binary(l2)} is needed")  # fmt: skip
            continue
        ways = [(way, once(pool, access, *way)) for way in (QUICK_WAYS if quick else WAYS)]
        way, load = recorder.timer.best(ways)
        yield recorder.ceiling(
            DRAM,
            load,
            f"Triton {access}, {way[1]} blocks of {way[0]} elements a program, {way[2]} warps",
            (f"arrays of {show_binary(size)} of normal random fp32, in turns", counted),
            variant,
        )


def once(pool: Pool, access: str, block: int, unroll: int, warps: int) -> Load:
    """One pass over whole arrays."""
    from roofline.bench.gpu.kernels import streams

    n = pool.n // (block * unroll) * (block * unroll)
    grid = (n // (block * unroll),)

    def go(launch: Callable[..., Any], turn: int) -> None:
        x, y, z = pool.three(turn)
        launch(x, y, z, BLOCK=block, UNROLL=unroll, ACCESS=access, num_warps=warps)

    return Load(
        partial(go, launching(streams.once, grid)),
        sum(ARRAYS_OF[access]) * n * ELEMENT,
        compile=partial(go, compiling(streams.once, grid), 0),
    )


def l2(recorder: Recorder, pool: Pool, quick: bool, sweep: list[Point]) -> Iterator[Found]:
    """L2 ceilings at the plateau of a sweep of working sets, whose points are put into `sweep`."""
    timer = recorder.timer
    advertised, units = timer.card.l2, timer.card.units
    sizes = [size for size in _sizes(advertised, quick) if size <= pool.n * ELEMENT]
    if not sizes:
        yield Absent(L2, Variant(access="read"), "too little free memory for a sweep")
        return
    # The way is chosen where the level surely holds: a third of what is advertised.
    chosen_at = min(sizes, key=lambda s: abs(s - advertised // 3))
    way, _ = timer.best(_l2_ways(pool, "read", chosen_at, units, quick))
    # Sizes are rounded to whole rounds of the programs, so that small ones fall together.
    wanted = {working_set("read", size, *way): size for size in sizes}
    sweep += [
        Point(actual, timer.quick_rate(around(pool, "read", size, *way), 5))
        for actual, size in wanted.items()
    ]
    level = l2_plateau(sweep, advertised)
    if level is None:
        span = f"{show_binary(sizes[0])} to {show_binary(sizes[-1])}"
        yield Absent(L2, Variant(access="read"), f"no plateau in working sets of {span}")
        return
    # Asked alike for every access, far from where the level ends.  What comes out is whole rounds
    # of programs and three eighths of one: on an H200 of 14.8 MiB 11.4 (copy) to 17.0 (triad).
    size = level.holds // 4
    for access, counted in COUNTED.items():
        way, load = timer.best(_l2_ways(pool, access, size, units, quick))
        yield recorder.ceiling(
            L2,
            load,
            f"Triton {access} that skips the L1, {way[4]} programs of {way[2]} warps, each with "
            f"{way[1]} blocks of {way[0]} elements under way",
            (
                f"normal random fp32, {show_binary(working_set(access, size, *way))}, "
                "all arrays together",
                counted,
            ),
            Variant(access=access),
            capacity=level.holds,
        )


def l2_plateau(sweep: Sequence[Point], advertised: int) -> Plateau | None:
    """The plateau that the L2 makes: the innermost one inside twice its advertised size."""
    inside = [p for p in plateaus(sweep) if p.points[0].size < advertised]
    return max(inside, key=lambda p: p.rate, default=None)


def _sizes(advertised: int, quick: bool) -> list[int]:
    per_octave = 2 if quick else 4
    steps = range(-4 * per_octave, 3 * per_octave + 1)
    return sorted({round(advertised * 2 ** (i / per_octave)) >> 20 << 20 or 1 << 20 for i in steps})


def _l2_ways(pool: Pool, access: str, size: int, units: int, quick: bool) -> list[tuple[Way, Load]]:
    ways: list[tuple[Way, Load]] = []
    for block, unroll, warps, programs in QUICK_L2_WAYS if quick else L2_WAYS:
        way = (block, unroll, warps, programs, programs * units)
        ways.append((way, around(pool, access, size, *way)))
    return ways


def working_set(
    access: str, size: int, block: int, _unroll: int, _warps: int, _p: int, grid: int
) -> int:
    """Bytes that programs of that way pass over, for `size` that were asked for."""
    return _blocks(access, size, block, grid) * sum(ARRAYS_OF[access]) * block * ELEMENT


def _blocks(access: str, size: int, block: int, grid: int) -> int:
    """Blocks of one array: some whole rounds of the programs and three eighths of one."""
    rounds = size / (sum(ARRAYS_OF[access]) * block * ELEMENT * grid)
    return max(1, round(rounds - 3 / 8)) * grid + 3 * grid // 8 + 1


def around(
    pool: Pool, access: str, size: int, block: int, unroll: int, warps: int, _p: int, grid: int
) -> Load:
    """Programs that pass again and again over `size` bytes, all arrays together.

    One pass reads every line once.  The number of blocks is no multiple of the programs, so that a
    line is read by another multiprocessor in the next pass: where several want it at one time, or
    one wants it again soon, more bytes arrive than the L2 sends (15 to 23 TB/s where it sends 10).
    """
    from roofline.bench.gpu.kernels import streams

    arrays = sum(ARRAYS_OF[access])
    blocks = _blocks(access, size, block, grid)
    steps = max(1, TRAFFIC // (arrays * grid * unroll * block * ELEMENT))

    def go(launch: Callable[..., Any], _turn: int) -> None:
        x, y, z = pool.three(0)
        launch(
            x, y, z, blocks, steps,
            BLOCK=block, UNROLL=unroll, ACCESS=access, num_warps=warps,
        )  # fmt: skip

    return Load(
        partial(go, launching(streams.around, (grid,))),
        arrays * grid * steps * unroll * block * ELEMENT,
        compile=partial(go, compiling(streams.around, (grid,)), 0),
    )
