"""What the metrics of likwid-perfctr mean.  Their names end in their unit, which is kept.

Flop     ``DP [MFLOP/s]`` and ``SP [MFLOP/s]``, vectors included, times the region's runtime.
Bytes    ``... data volume [GBytes]`` of memory, L3 and L2, reads and writes apart where counted;
         the L2's volume crosses the line between L1 and L2, and so on outward.
Source: likwid, performance groups (``groups/*/MEM_DP.txt`` and its like).
"""

from roofline.counters.reading import Counters, known
from roofline.device import DRAM, L2, L3, VECTOR_FP32, VECTOR_FP64, Resource
from roofline.work import Access, Count, Entry, Exactness, Ledger

RUNTIME = "Runtime (RDTSC) [s]"
_RATES = {"DP [MFLOP/s]": VECTOR_FP64, "SP [MFLOP/s]": VECTOR_FP32}
_VOLUMES: dict[Resource, str] = {DRAM: "Memory", L3: "L3", L2: "L2"}
# Two spellings of a direction; loads come in and evictions go out.
_WAYS: tuple[tuple[Access, tuple[str, ...]], ...] = (
    ("read", ("read", "load")), ("write", ("write", "evict")),
)  # fmt: skip


def recognises(counters: Counters) -> bool:
    """Whether these are likwid's."""
    return RUNTIME in counters


def executed(counters: Counters) -> Ledger | None:
    """Flop of both precisions; None when a group without them was counted."""
    runtime = known(counters, RUNTIME)
    if runtime is None:
        return None
    entries = [
        Entry(
            pipe, round(rate * 1e6 * runtime), f"{name} x {RUNTIME}", exactness=Exactness.ESTIMATE
        )
        for name, pipe in _RATES.items()
        if (rate := known(counters, name)) is not None
    ]
    if not entries:
        return None
    missing = [
        f"{pipe.name}: {name} not in this group"
        for name, pipe in _RATES.items()
        if name not in counters
    ]
    return Ledger(Count.EXECUTED, tuple(e for e in entries if e.amount), tuple(missing))


def traffic(counters: Counters) -> list[Entry]:
    """Bytes at each boundary that the group counts."""
    return [entry for boundary in _VOLUMES for entry in _volume(counters, boundary)]


def _volume(counters: Counters, boundary: Resource) -> list[Entry]:
    stem = _VOLUMES[boundary]
    apart = []
    for way, words in _WAYS:
        names = [f"{stem} {word} data volume [GBytes]" for word in words]
        found = next((n for n in names if known(counters, n) is not None), None)
        if found is not None:
            apart.append(_entry(boundary, counters[found], found, way))
    if len(apart) == len(_WAYS):
        return apart
    name = f"{stem} data volume [GBytes]"
    value = known(counters, name)
    return [] if value is None else [_entry(boundary, value, name, None)]


def _entry(boundary: Resource, gigabytes: float, name: str, way: Access | None) -> Entry:
    return Entry(boundary, round(gigabytes * 1e9), name, way, Exactness.ESTIMATE)
