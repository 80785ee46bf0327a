"""What is known of the kernel that a line is about: its own counters, its launch, its replay.

A line of a kernel has its own facts.  A line of a call has those of the kernel that takes most of
its time: how it was launched, and what a profiler counted when it ran that kernel again.
"""

from collections.abc import Mapping

from roofline.counters import Reading
from roofline.device import Resource
from roofline.program import Item, Program
from roofline.program.counters.replays import Replay, ReplayedKernel
from roofline.work import Access

MAIN = 0.5  # share of a call's device time from which one of its kernels speaks for it
Readings = Mapping[str, Reading]


def readings_of(item: Item, program: Program) -> tuple[Readings, tuple[str, ...]]:
    """Facts about an item's kernel, and where they come from where they are not the item's own."""
    at = item.signatures[0]
    own = program.facts.get(at)
    replayed = replayed_kernel(item, program)
    if own:
        return {**(replayed.facts if replayed else {}), **own}, ()
    main = program.main_kernels.get(at)
    if main is None or main.share < MAIN:
        return {}, ()
    whose = f"by its kernel {program.short(main.name)}, {main.share:.0%} of its time"
    if replayed is None:
        return main.facts, (whose,)
    return {**main.facts, **replayed.facts}, (whose, counted_by(program.replays[at]))


def replayed_kernel(item: Item, program: Program) -> ReplayedKernel | None:
    """The replay of the kernel that speaks for an item; None where it was not replayed."""
    replay = program.replays.get(item.signatures[0])
    if replay is None:
        return None
    main = program.main_kernels.get(item.signatures[0])
    if main is None:
        return replay.main
    return next((kernel for kernel in replay.kernels if kernel.name == main.name), None)


def counted_by(replay: Replay) -> str:
    """In which state counters were taken, which is not that of the times."""
    return f"its counters: {replay.source()}; another state than the time here"


def moved(
    item: Item, program: Program, boundary: Resource, access: Access | None = None
) -> float | None:
    """Bytes over `boundary` in one call, as counters saw them: its own, else its replay's."""
    own = item.placement.work.achieved
    replayed = replayed_kernel(item, program)
    again = None if replayed is None else replayed.placement.work.achieved
    for ledger, calls in ((own, item.calls), (again, 1)):
        lines = [e for e in ledger.entries if e.resource == boundary] if ledger else []
        if lines:
            return sum(e.amount for e in lines if access in (None, e.access)) / calls
    return None
