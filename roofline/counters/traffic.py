"""Bytes that crossed each boundary, each with a chain of fallbacks and its source named.

dram    read and write; or op_read and op_write (CC 12.0); or their sectors of 32 B; or the same
        of the memory controllers (fbpa); or ``dram__bytes.sum`` or sectors of both ways; or a
        throughput times the duration; or one way alone, which is no total.
l2      requested by the SMs, in sectors at the tags; else all requests, those of the other L2
        partition among them; what was delivered to the SMs is another number.
l1      ``l1tex__t_bytes.sum``; or the cycles in which loads are written back, 128 B each.  TMA
        copies bypass it.
shared  wavefronts of 128 B, transported; the useful bytes of the instructions are another number.
"""

from collections.abc import Iterable, Iterator

from roofline.counters.clock import seconds
from roofline.counters.reading import Counters, Reading, first, known
from roofline.device import DRAM, L1, L2, SHARED, Resource
from roofline.work import WAYS, Access, Entry, Exactness

SECTOR, LINE, XBAR = 32.0, 128.0, 32.0
DIRTY = "writes that stayed in the last-level cache when the kernel ended are not in dram bytes"

_Chain = tuple[tuple[str, float, str], ...]
# Pairs of chains with a direction, tried before the undirected ones.
DIRECTED: dict[Resource, tuple[tuple[_Chain, _Chain], ...]] = {
    DRAM: (
        ((("dram__bytes_read.sum", 1, ""),), (("dram__bytes_write.sum", 1, ""),)),
        ((("dram__bytes_op_read.sum", 1, ""),), (("dram__bytes_op_write.sum", 1, ""),)),
        ((("dram__sectors_read.sum", SECTOR, ""),), (("dram__sectors_write.sum", SECTOR, ""),)),
        (
            (("dram__sectors_op_read.sum", SECTOR, ""),),
            (("dram__sectors_op_write.sum", SECTOR, ""),),
        ),
        ((("fbpa__dram_read_bytes.sum", 1, ""),), (("fbpa__dram_write_bytes.sum", 1, ""),)),
        (
            (("fbpa__dram_read_sectors.sum", SECTOR, ""),),
            (("fbpa__dram_write_sectors.sum", SECTOR, ""),),
        ),
    ),
}
UNDIRECTED: dict[Resource, _Chain] = {
    DRAM: (
        ("dram__bytes.sum", 1, ""),
        ("dram__sectors.sum", SECTOR, ""),
        ("fbpa__dram_sectors.sum", SECTOR, ""),
    ),
    L2: (
        ("lts__t_sectors_srcunit_tex.sum", SECTOR, "requested by SMs"),
        ("lts__t_bytes.sum", 1, "requested"),
        ("lts__t_sectors.sum", SECTOR, "requested"),
    ),
    L1: (
        ("l1tex__t_bytes.sum", 1, ""),
        ("l1tex__lsu_writeback_active_mem_lgds.sum", LINE, "loads written back"),
        ("l1tex__lsu_writeback_active_mem_lg.sum", LINE, "loads written back"),
        ("l1tex__lsu_writeback_active.sum", LINE, "loads written back"),
    ),
    SHARED: (("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", LINE, "transported"),),
}
DELIVERED: _Chain = (
    ("lts__lts2xbar_bytes.sum", 1, "delivered"),
    ("lts__lts2xbar_cycles_active.sum", XBAR, "delivered"),
)
USEFUL_SHARED: _Chain = (
    ("sm__sass_data_bytes_mem_shared.sum", 1, "useful"),
    ("smsp__sass_data_bytes_mem_shared.sum", 1, "useful"),
)
# Rates in B/s; the byte total is the rate times the duration of the same launch.
RATES: dict[Resource, _Chain] = {
    DRAM: (
        ("dram__bytes.sum.per_second", 1, ""),
        ("dram__throughput.avg.bytes_per_second", 1, ""),
    ),
    L2: (("lts__t_bytes.sum.per_second", 1, "requested"),),
    L1: (("l1tex__t_bytes.sum.per_second", 1, ""),),
}
DELIVERED_RATES: _Chain = (
    ("lts__lts2xbar_cycles_active.sum.per_second", XBAR, "delivered"),
    ("derived__lts__lts2xbar_bytes.sum.per_second", 1, "delivered"),
)


# Sectors the SMs asked the L2 for.  Together they are ``lts__t_sectors_srcunit_tex.sum``.
_FROM_SM = "lts__t_sectors_srcunit_tex_op_{}.sum"
_CHANGES = ("write", "red", "atom", "atom_dot_alu", "atom_dot_cas")


def traffic(counters: Counters) -> list[Entry]:
    """What the counters saw, innermost last; a boundary nobody counted has no entry.

    Where one way alone was counted, that way alone has one.
    """
    entries = []
    for boundary in (DRAM, L2, L1, SHARED):
        entries += (
            directed(counters, boundary)
            or _whole(counters, boundary)
            or _one_way(counters, boundary)
        )
    return entries


def directed(counters: Counters, boundary: Resource) -> list[Entry]:
    """Reads and writes apart, where both were counted, or one of them and their sum."""
    for ways in _ways(counters, boundary):
        read, written = ways
        if read is not None and written is not None:
            return [_entry(boundary, read, "read"), _entry(boundary, written, "write")]
    return _from_sm(counters) if boundary == L2 else _rest(counters, boundary)


def _ways(
    counters: Counters, boundary: Resource
) -> Iterator[tuple[Reading | None, Reading | None]]:
    """Reads and writes by one pair of names after the other."""
    for reads, writes in DIRECTED.get(boundary, ()):
        yield _way(counters, reads), _way(counters, writes)


def _way(counters: Counters, chain: _Chain) -> Reading | None:
    rates = tuple((f"{name}.per_second", factor, label) for name, factor, label in chain)
    return first(counters, chain, "B") or _timed(counters, rates)


def _rest(counters: Counters, boundary: Resource) -> list[Entry]:
    """One way as it was counted, and the other as what is left of the sum."""
    whole = first(counters, UNDIRECTED[boundary], "B")
    if whole is None:
        return []
    for ways in _ways(counters, boundary):
        for at, known_way in enumerate(ways):
            if known_way is not None and known_way.value <= whole.value:
                rest = Reading(
                    whole.value - known_way.value, "B", f"{whole.source} - {known_way.source}"
                )
                both = [_entry(boundary, known_way, WAYS[at]), _entry(boundary, rest, WAYS[1 - at])]
                return both if at == 0 else both[::-1]
    return []


def _one_way(counters: Counters, boundary: Resource) -> list[Entry]:
    for ways in _ways(counters, boundary):
        for at, reading in enumerate(ways):
            if reading is not None:
                return [_entry(boundary, reading, WAYS[at])]
    return []


def requested(counters: Counters) -> Reading | None:
    """Bytes asked of the L2 by anybody."""
    return first(counters, UNDIRECTED[L2], "B") or _timed(counters, RATES[L2])


def delivered(counters: Counters) -> Reading | None:
    """Bytes that the L2 handed to the SMs."""
    return first(counters, DELIVERED, "B") or _timed(counters, DELIVERED_RATES)


def useful_shared(counters: Counters) -> Reading | None:
    """Bytes that shared-memory instructions asked for."""
    return first(counters, USEFUL_SHARED, "B")


def _from_sm(counters: Counters) -> list[Entry]:
    reads = known(counters, _FROM_SM.format("read"))
    writes = known(counters, _FROM_SM.format("write"))
    if reads is None or writes is None:
        return []
    changes = [v for kind in _CHANGES if (v := known(counters, _FROM_SM.format(kind))) is not None]
    read = Reading(reads * SECTOR, "B", f"requested by SMs: {_FROM_SM.format('read')} x 32")
    written = Reading(
        sum(changes) * SECTOR,
        "B",
        f"requested by SMs: {_FROM_SM.format('write')} and atomics x 32",
    )
    return [_entry(L2, read, "read"), _entry(L2, written, "write")]


def _whole(counters: Counters, boundary: Resource) -> list[Entry]:
    reading = first(counters, UNDIRECTED[boundary], "B")
    if reading is None:
        reading = _timed(counters, RATES.get(boundary, ()))
    if reading is None and boundary == L2:
        reading = delivered(counters)
    if reading is None and boundary == SHARED:
        reading = useful_shared(counters)
    return [] if reading is None else [_entry(boundary, reading)]


def _timed(counters: Counters, chain: Iterable[tuple[str, float, str]]) -> Reading | None:
    """A rate times the duration, where that duration can be trusted."""
    duration = seconds(counters).value
    for name, factor, label in chain:
        rate = known(counters, name)
        if rate is not None and duration is not None:
            source = f"{label}: " * bool(label) + f"{name} x duration"
            return Reading(rate * factor * duration, "B", source, exactness=Exactness.ESTIMATE)
    return None


def _entry(boundary: Resource, reading: Reading, access: Access | None = None) -> Entry:
    bounded = reading.low is not None and reading.high is not None
    return Entry(
        boundary,
        round(reading.value),
        reading.source,
        access,
        exactness=reading.exactness,
        low=round(reading.low or 0) if bounded else None,
        high=round(reading.high or 0) if bounded else None,
    )
