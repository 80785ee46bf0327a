"""What a minor page fault costs: the system hands out a page of fresh memory and clears it.

An operator whose output is new memory pays this once a page, besides its own work.
"""

import ctypes
import mmap
import resource
from collections.abc import Sequence
from datetime import UTC, datetime
from time import perf_counter

from roofline.device import Fact
from roofline.provenance import Basis, Provenance, spread

_SIZE = 32 << 20  # B: far more than the caches would keep of it


def page_fault(count: int, conditions: Sequence[str]) -> Fact | None:
    """Seconds a fault, from `count` fresh mappings; None where the system counts no faults.

    Writing a fresh mapping the first time takes its faults and the writing, the second time the
    writing alone: the difference is the faults'.
    """
    costs = [cost for _ in range(count) if (cost := _once()) is not None]
    if not costs:
        return None
    found = spread(costs, best="min")
    return Fact(
        name="page_fault",
        value=found.median,
        unit="s",
        provenance=Provenance(
            basis=Basis.MEASURED,
            source="first write of a fresh mapping less the second, over its minor faults",
            as_of=datetime.now(UTC).date(),
            conditions="; ".join(conditions),
            spread=found,
        ),
    )


def _once() -> float | None:
    with mmap.mmap(-1, _SIZE) as fresh:
        view = (ctypes.c_char * _SIZE).from_buffer(fresh)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        first_s = _write_s(view)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        second_s = _write_s(view)
        del view  # the mapping cannot be closed while anything looks at it
    return (first_s - second_s) / faults if faults > 0 and first_s > second_s else None


def _write_s(view: "ctypes.Array[ctypes.c_char]") -> float:
    start = perf_counter()
    ctypes.memset(ctypes.addressof(view), 1, _SIZE)
    return perf_counter() - start
