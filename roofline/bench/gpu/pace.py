"""What a kernel takes before its bytes, and the pace of PyTorch's own kernels.

The first is the time of a small stream that finds its data in memory, less what its bytes take: the
launch from a full queue, the first trip to memory, the last blocks.  It is felt by each kernel, and
decides what small ones take; a kernel that follows another in its call feels less of it.

The second is how many elements a second PyTorch's kernels pass over where something other than
memory bounds them (`roofline.ops.pace`), at plain sizes.
"""

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

from roofline.bench.gpu.card import State
from roofline.bench.gpu.memory import Pool
from roofline.bench.gpu.record import Recorder
from roofline.bench.gpu.timing import Taken
from roofline.bench.gpu.ways import ways
from roofline.bench.gpu.ways.way import Way
from roofline.bench.record import Absent, Found
from roofline.device import (
    ELEMENTS,
    FOLLOWING,
    LAUNCH,
    PLAIN,
    SMALL_STREAM,
    Resource,
    Variant,
)

COUNT, WARM, STARTS = 30, 12, 20
# Sets of operands take turns, together several times what the L2 holds.
SETS, MOST_SETS, TOGETHER = 3, 128, 1 << 28  # B
HOLD_CYCLES = 8_000_000  # the device waits some 4 ms while the samples are queued
STREAM = 1 << 21  # elements of the small stream's copy, and twice as many: 16 and 32 MiB moved
# A difference of times that is less is no time: events tell half a microsecond.  A few such samples
# are left out and counted, though what is left is slower; where more are so there is no rate.
LEAST_S, MOST_LOST = 1e-6, 0.1


def paces(recorder: Recorder, arrays: Pool, quick: bool) -> Iterator[Found]:
    """The start of a kernel and of one that follows, then every way, left out when quick."""
    first, following = start(recorder, arrays)
    yield from (first, following)
    if quick:
        return
    if isinstance(first, Absent):
        yield Absent(ELEMENTS, PLAIN, "what a kernel takes to start is not known")
        return
    for way in ways():
        if way.kernels == 1:
            yield _pace(recorder, way, 1 / first.rate)
        elif isinstance(following, Absent):
            yield Absent(ELEMENTS, way.variant, "what a kernel that follows takes is not known")
        else:
            yield _pace(recorder, way, 1 / first.rate + (way.kernels - 1) / following.rate)


def start(recorder: Recorder, arrays: Pool) -> tuple[Found, Found]:
    """Of copies of n elements: 2 t(n) - t(2n), which no byte explains; and t(n, n) - t(2n).

    A sample is that of the medians of many copies: single ones differ by a fifth of it.
    """
    from roofline.bench.gpu.kernels import streams

    def stream(*sizes: int) -> float:
        data, slot = arrays.data.view(-1), 2 * sum(sizes)

        def run(turn: int) -> None:
            at = turn % (data.numel() // slot) * slot
            for n in sizes:
                x, z = data[at : at + n], data[at + n : at + 2 * n]
                grid = (n // 1024,)
                streams.once[grid](x, x, z, BLOCK=1024, UNROLL=1, ACCESS="copy", num_warps=8)
                at += 2 * n

        return median(queued(run, COUNT, WARM))

    def ceiling(seconds: list[float], method: str, way: str) -> Found:
        return _rate(recorder, LAUNCH, 1.0, seconds, before, method, about, Variant(way=way))

    before = recorder.timer.driver.state()
    about = (f"medians of {COUNT} copies, device events around each, which take turns over memory",)
    taken = [(stream(STREAM), stream(2 * STREAM), stream(STREAM, STREAM)) for _ in range(STARTS)]
    return (
        ceiling([2 * once - twice for once, twice, _ in taken],
                "Triton copy of 8 MiB twice, less one of 16 MiB", SMALL_STREAM),
        ceiling([both - twice for _, twice, both in taken],
                "two Triton copies of 8 MiB, less one of 16 MiB", FOLLOWING),
    )  # fmt: skip


def _pace(recorder: Recorder, way: Way, start_s: float) -> Found:
    import torch

    before = recorder.timer.driver.state()
    try:
        sets = _sets(way)
        held: list[Any] = [None] * len(sets)

        def run(turn: int) -> None:
            at = turn % len(sets)
            held[at] = way.run(*sets[at])

        with torch.no_grad():
            seconds = queued(run, COUNT, max(WARM, len(sets)))
    except RuntimeError as error:
        return Absent(ELEMENTS, way.variant, str(error).splitlines()[0])
    kernels = "a kernel takes" if way.kernels == 1 else f"{way.kernels} kernels take"
    about = f"{way.elements} elements, less {start_s * 1e6:.1f} us that {kernels} to start"
    return _rate(
        recorder, ELEMENTS, way.elements, [s - start_s for s in seconds], before, way.call,
        (about, f"{len(sets)} sets of operands in turns"), way.variant,
    )  # fmt: skip


def _rate(
    recorder: Recorder,
    resource: Resource,
    amount: float,
    seconds: Sequence[float],
    before: State,
    method: str,
    about: Sequence[str],
    variant: Variant,
) -> Found:
    """`amount` over differences of times [s], which noise may bring down to nothing and below."""
    rates = [amount / s for s in seconds if s >= LEAST_S]
    lost, least = len(seconds) - len(rates), f"{LEAST_S * 1e6:g} us"
    if lost > MOST_LOST * len(seconds):
        why = (
            f"no time is left beside the noise: {lost} of {len(seconds)} differences are under "
            f"{least}, the middle one is {median(seconds) * 1e6:.2f} us"
        )
        return Absent(resource, variant, why)
    told = (f"{lost} of {len(seconds)} samples under {least} left out",) if lost else ()
    taken = Taken(rates=tuple(rates), clocks=(), before=before, after=recorder.timer.driver.state())
    return recorder.of(resource, taken, method, about, variant, circumstances=told, dropped=lost)


def _sets(way: Way) -> list[tuple[Any, ...]]:
    first = way.operands()
    flat = [t for one in first for t in (one if isinstance(one, list) else [one])]
    most = TOGETHER // max(1, sum(t.nbytes for t in flat))
    others = range(1, max(SETS, min(most, MOST_SETS)))
    return [first, *(way.operands() for _ in others)]


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
