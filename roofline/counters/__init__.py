"""What a profiler's counters mean: ledgers, durations and facts, derived when a run is read.

A run keeps counters under the profiler's own names.  Their meaning is here and is not saved, so
that a better reading of a counter improves old runs.
"""

from collections.abc import Mapping

from roofline.counters import amd, likwid
from roofline.counters.clock import Clock, seconds
from roofline.counters.facts import busiest
from roofline.counters.facts import facts as every_fact
from roofline.counters.needed import needed
from roofline.counters.reading import HIGH, LOW, Counters, Reading, known
from roofline.counters.tensor import is_only_moves, tensor
from roofline.counters.traffic import DIRTY, traffic
from roofline.counters.vector import vector
from roofline.device import DRAM
from roofline.work import WAYS, Count, Ledger, not_collected

__all__ = [
    "HIGH", "LOW", "Clock", "Counters", "Reading", "achieved", "arch", "busiest", "executed",
    "facts", "needed", "seconds",
]  # fmt: skip

Arch = tuple[int, int] | None  # NVIDIA compute capability


def arch(counters: Counters) -> Arch:
    """The compute capability recorded with the counters."""
    stem = "device__attribute_compute_capability_"
    major, minor = known(counters, f"{stem}major"), known(counters, f"{stem}minor")
    return None if major is None or minor is None else (int(major), int(minor))


def executed(counters: Counters, on: Arch = None) -> Ledger | None:
    """Flop that ran, by pipe; None when no counter of them was collected.

    What was collected only in part, or says nothing on this architecture, is named in
    `unaccounted`.  Special functions are not among the counters.
    """
    if amd.recognises(counters):
        return amd.executed(counters)
    if likwid.recognises(counters):
        return likwid.executed(counters)
    on = on or arch(counters)
    lines, missing, conventions = vector(counters)
    tensors, no_tensors, more = tensor(counters, on)
    if is_only_moves(conventions):
        no_tensors = []
    if not lines and not tensors:
        return None
    return Ledger(
        Count.EXECUTED,
        tuple(e for e in (*lines, *tensors) if e.amount or e.high),
        tuple(dict.fromkeys((*missing, *no_tensors))) if lines else ("vector flop: not collected",),
        tuple(dict.fromkeys((*conventions, *more))),
    )


def achieved(counters: Counters, on: Arch = None) -> Ledger | None:
    """Bytes that crossed each boundary that was counted; None when none was.

    Of a boundary where one way alone was counted, the other is named in `unaccounted`.
    """
    others = next((maker for maker in (amd, likwid) if maker.recognises(counters)), None)
    entries = traffic(counters) if others is None else others.traffic(counters)
    if not entries:
        return None
    counted = {entry.resource for entry in entries}
    missing = [] if DRAM in counted else ["dram bytes: not collected"]
    for boundary in dict.fromkeys(entry.resource for entry in entries):
        ways = {entry.access for entry in entries if entry.resource == boundary}
        if None not in ways:
            missing += [not_collected(boundary, way) for way in WAYS if way not in ways]
    return Ledger(
        Count.ACHIEVED,
        tuple(entries),
        tuple(missing),
        (DIRTY,) if DRAM in counted else (),
    )


def facts(counters: Counters) -> Mapping[str, Reading]:
    """Launch shape, occupancy, caches, stalls and clocks, by short names."""
    return every_fact(counters)
