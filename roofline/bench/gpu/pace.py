"""What a kernel takes before its bytes, and the pace of PyTorch's own kernels.

The first is the time of a small stream that finds its data in memory, less what its bytes take: the
launch from a full queue, the first trip to memory, the last blocks.  It is felt by each kernel, and
decides what small ones take.

The second is how many elements a second PyTorch's kernels pass over where something other than
memory bounds them (`roofline.ops.pace`), at plain sizes.
"""

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

from roofline.bench.gpu.card import State
from roofline.bench.gpu.memory import Pool
from roofline.bench.gpu.record import Recorder
from roofline.bench.gpu.timing import Taken, Timer
from roofline.bench.gpu.ways import Way, ways
from roofline.bench.record import Absent, Found
from roofline.device import ELEMENTS, LAUNCH, SMALL_STREAM, Ceiling, Variant

COUNT, WARM, STARTS = 30, 12, 20
SETS = 3  # of operands, in turns: together several times what the L2 holds
HOLD_CYCLES = 12_000_000  # the device waits some 6 ms while the samples are queued
STREAM = 1 << 21  # elements of the small stream's copy, and twice as many: 16 and 32 MiB moved
LEAST_S = 1e-6  # less than this beside the start of a kernel is no pace


def paces(recorder: Recorder, arrays: Pool, quick: bool) -> Iterator[Found]:
    """The start of a kernel, then every way, which are left out when quick."""
    started = start(recorder, arrays)
    yield started
    for way in () if quick else ways():
        yield _pace(recorder, way, 1 / started.rate)


def start(recorder: Recorder, arrays: Pool) -> Ceiling:
    """2 t(n) - t(2n) of a copy of n elements: the part of its time that no byte explains.

    A sample is that of the medians of many copies: single ones differ by a fifth of it.
    """
    from roofline.bench.gpu.kernels import streams

    def stream(n: int) -> float:
        data = arrays.data.view(-1)
        slots = data.numel() // n // 2

        def run(turn: int) -> None:
            at = turn % slots * 2 * n
            x, z = data[at : at + n], data[at + n : at + 2 * n]
            streams.once[(n // 1024,)](x, x, z, BLOCK=1024, UNROLL=1, ACCESS="copy", num_warps=8)

        return median(queued(run, COUNT, WARM))

    before = recorder.timer.driver.state()
    rates = [1 / max(2 * stream(STREAM) - stream(2 * STREAM), LEAST_S) for _ in range(STARTS)]
    return recorder.of(
        LAUNCH,
        _taken(rates, recorder.timer, before),
        "Triton copy of 8 MiB twice, less one of 16 MiB",
        (f"medians of {COUNT} copies, device events around each, which take turns over memory",),
        Variant(way=SMALL_STREAM),
    )


def _pace(recorder: Recorder, way: Way, start_s: float) -> Found:
    import torch

    before = recorder.timer.driver.state()
    try:
        sets = [tuple(make() for make in way.makes) for _ in range(SETS)]
        held: list[Any] = [None] * SETS

        def run(turn: int) -> None:
            held[turn % SETS] = way.run(*sets[turn % SETS])

        with torch.no_grad():
            seconds = queued(run, COUNT, WARM)
    except RuntimeError as error:
        return Absent(ELEMENTS, way.variant, str(error).splitlines()[0])
    if median(seconds) < start_s + LEAST_S:
        return Absent(ELEMENTS, way.variant, "no longer than a kernel takes to start")
    rates = [way.elements / max(s - start_s, LEAST_S) for s in seconds]
    about = f"{way.elements} elements, less {start_s * 1e6:.1f} us that a kernel takes to start"
    return recorder.of(
        ELEMENTS, _taken(rates, recorder.timer, before), way.call,
        (about, f"{SETS} sets of operands in turns"), way.variant,
    )  # fmt: skip


def queued(run: Callable[[int], object], count: int, warm: int) -> list[float]:
    """Seconds of each of `count` calls by device events; all are queued before the first begins."""
    import torch

    for turn in range(warm):
        run(turn)
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    torch.cuda.synchronize()
    torch.cuda._sleep(HOLD_CYCLES)
    for turn, (begin, end) in enumerate(events, warm):
        begin.record()
        run(turn)
        end.record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) / 1e3 for begin, end in events]


def _taken(rates: Sequence[float], timer: Timer, before: State) -> Taken:
    return Taken(rates=tuple(rates), clocks=(), before=before, after=timer.driver.state())
