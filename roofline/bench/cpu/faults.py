"""What a minor page fault costs: the system hands out a page of fresh memory and clears it.

An operator whose output is new memory pays this once a page, besides its own work.
"""

import ctypes
import mmap
import resource
from collections.abc import Sequence
from datetime import UTC, datetime
from time import perf_counter, thread_time

from roofline.bench.sample import FEWEST, TRUSTED, Sample, Samples
from roofline.bench.verdict import unstable
from roofline.device import Fact
from roofline.provenance import Basis, Provenance, spread

_SIZE = 8 << 20  # B: some milliseconds, of which more are undisturbed than of longer ones
_PATIENCE = 3  # mappings written at most, for each clean one that is wanted


def page_fault(count: int, conditions: Sequence[str]) -> Fact | str:
    """Seconds a fault, from `count` undisturbed fresh mappings; else why there is no such number.

    Writing a fresh mapping the first time takes its faults and the writing, the second time the
    writing alone: the difference is the faults'.
    """
    samples = _samples(count)
    if not samples.all:
        return "page fault: the system counts none"
    total, clean = len(samples.all), len(samples.rates)
    if not samples.trusted:
        return (
            f"page fault: {clean} of {total} samples undisturbed, {TRUSTED:.0%} and at least "
            f"{FEWEST} are needed"
        )
    costs = [1 / rate for rate in samples.rates]
    now = datetime.now(UTC)
    found = spread(costs, best="min", dropped=total - clean, unstable=unstable(costs, "s"))
    told = (*conditions, f"{clean} of {total} samples undisturbed", f"{now:%Y-%m-%dT%H:%M:%SZ}")
    return Fact(
        name="page_fault",
        value=found.median,
        unit="s",
        provenance=Provenance(
            basis=Basis.MEASURED,
            source="first write of a fresh mapping less the second, over its minor faults",
            as_of=now.date(),
            conditions="; ".join(told),
            spread=found,
        ),
    )


def _samples(count: int) -> Samples:
    """Until `count` are clean or patience is over: faults a second, and whether all time was ours.

    Clearing a page is the system's work for this thread, and counts as its CPU time.
    """
    taken: list[Sample] = []
    clean = 0
    for _ in range(_PATIENCE * count):
        if clean == count:
            break
        if (one := _once()) is not None:
            taken.append(one)
            clean += one.clean
    return Samples(tuple(taken))


def _once() -> Sample | None:
    with mmap.mmap(-1, _SIZE) as fresh:
        view = (ctypes.c_char * _SIZE).from_buffer(fresh)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        start_s, cpu_s = perf_counter(), thread_time()
        first_s = _write_s(view)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        second_s = _write_s(view)
        busy = (thread_time() - cpu_s) / (perf_counter() - start_s)
        del view  # the mapping cannot be closed while anything looks at it
    if faults <= 0 or first_s <= second_s:
        return None
    return Sample(rate=faults / (first_s - second_s), busy=busy)


def _write_s(view: "ctypes.Array[ctypes.c_char]") -> float:
    start = perf_counter()
    ctypes.memset(ctypes.addressof(view), 1, _SIZE)
    return perf_counter() - start
