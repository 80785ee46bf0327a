"""AMD counters of rocprof and rocprofv3, CDNA generation.

Flop     ``SQ_INSTS_VALU_{ADD,MUL,FMA,TRANS}_F*``: wave instructions, 64 lanes each whether active
         or not; FMA is two, TRANS is a special function.
         ``SQ_INSTS_VALU_MFMA_MOPS_*``: 512 flop each.
dram     ``TCC_EA_RDREQ_sum`` requests of 64 B, of which ``TCC_EA_RDREQ_32B_sum`` of 32 B;
         ``TCC_EA_WRREQ_sum`` of 32 B, of which ``TCC_EA_WRREQ_64B_sum`` of 64 B.
         MI300 spells TCC_EA0_ and has reads of 128 B (``TCC_BUBBLE_sum``).
l2       requests of the L1: 64 B each.
Source: ROCm Compute Profiler, "Performance model", system speed-of-light and L2 pages.
"""

from roofline.counters.reading import Counters, known
from roofline.device import (
    DRAM,
    L2,
    SFU,
    SHARED,
    TENSOR_BF16,
    TENSOR_FP16,
    TENSOR_FP64,
    TENSOR_INT8,
    VECTOR_FP16,
    VECTOR_FP32,
    VECTOR_FP64,
    Resource,
)
from roofline.work import Access, Count, Entry, Exactness, Ledger

LANES, MOPS = 64, 512
LANES_NOTE = "every vector instruction counts 64 lanes, active or not"
_STEMS = ("SQ_", "TCC_", "TCP_", "GRBM_")
_SIZES: dict[str, Access] = {
    "FETCH_SIZE": "read", "FetchSize": "read", "WRITE_SIZE": "write", "WriteSize": "write",
}  # fmt: skip
_VECTOR = {"F16": VECTOR_FP16, "F32": VECTOR_FP32, "F64": VECTOR_FP64}
_WEIGHTS = {"ADD": 1, "MUL": 1, "FMA": 2}
_MATRIX: dict[str, Resource | None] = {
    "F16": TENSOR_FP16, "BF16": TENSOR_BF16, "F64": TENSOR_FP64, "I8": TENSOR_INT8,
    "F32": None, "F8": None, "XF32": None,
}  # fmt: skip


def recognises(counters: Counters) -> bool:
    """Whether these are AMD's."""
    return any(name.startswith(_STEMS) or name in _SIZES for name in counters)


def executed(counters: Counters) -> Ledger | None:
    """Vector, special-function and matrix flop; None when none was counted."""
    entries: list[Entry] = []
    missing: list[str] = []
    for kind, pipe in _VECTOR.items():
        for operation, weight in _WEIGHTS.items():
            entries += _line(
                counters, f"SQ_INSTS_VALU_{operation}_{kind}", LANES * weight, pipe, missing
            )
        entries += _line(counters, f"SQ_INSTS_VALU_TRANS_{kind}", LANES, SFU, missing)
    for kind, matrix in _MATRIX.items():
        name = f"SQ_INSTS_VALU_MFMA_MOPS_{kind}"
        if matrix is not None:
            # Integer operations are no flop: not to have counted them leaves nothing out.
            entries += _line(counters, name, MOPS, matrix, [] if kind == "I8" else missing)
        elif known(counters, name):
            missing.append(f"matrix flop of {kind}: no pipe is known")
    if not entries:
        return None
    return Ledger(
        Count.EXECUTED,
        tuple(e for e in entries if e.amount),
        tuple(missing),
        (LANES_NOTE,) if any(e.amount and e.resource in _VECTOR.values() for e in entries) else (),
    )


def _line(
    counters: Counters, name: str, factor: int, pipe: Resource, missing: list[str]
) -> list[Entry]:
    value = known(counters, name)
    if value is None:
        missing.append(f"{name}: not collected")
        return []
    return [Entry(pipe, round(value * factor), f"{name} x {factor}", exactness=Exactness.ESTIMATE)]


def traffic(counters: Counters) -> list[Entry]:
    """Bytes from and to memory, between L1 and L2, and through the local data share."""
    return [*_dram(counters), *_l2(counters), *_lds(counters)]


def _dram(counters: Counters) -> list[Entry]:
    for stem in ("TCC_EA0", "TCC_EA"):
        counts = [
            _total(counters, f"{stem}_{kind}")
            for kind in ("RDREQ", "RDREQ_32B", "WRREQ", "WRREQ_64B")
        ]
        reads, short, writes, long = (-1.0 if count is None else count for count in counts)
        if None in counts or short > reads or long > writes:
            continue
        wide = min(_total(counters, "TCC_BUBBLE") or 0.0, reads - short)
        read = 128 * wide + 64 * (reads - wide - short) + 32 * short
        return [
            Entry(DRAM, round(read), f"{stem}_RDREQ by size", "read"),
            Entry(DRAM, round(64 * long + 32 * (writes - long)), f"{stem}_WRREQ by size", "write"),
        ]
    found = {
        access: Entry(DRAM, round(value * 1024), f"{name} x 1024", access)
        for name, access in _SIZES.items()
        if (value := known(counters, name)) is not None
    }
    return list(found.values())  # of one way alone, too


def _total(counters: Counters, name: str) -> float | None:
    """A counter of all channels: its own sum, or the channels added."""
    for spelling in (f"{name}_sum", name):
        value = known(counters, spelling)
        if value is not None:
            return value
    channels = [v for n, v in counters.items() if n.startswith(f"{name}[") and v >= 0]
    return sum(channels) if channels else None


def _l2(counters: Counters) -> list[Entry]:
    kinds: tuple[tuple[str, Access], ...] = (
        ("TCP_TCC_READ_REQ", "read"), ("TCP_TCC_WRITE_REQ", "write"),
        ("TCP_TCC_ATOMIC_WITH_RET_REQ", "write"),
        ("TCP_TCC_ATOMIC_WITHOUT_RET_REQ", "write"),
    )  # fmt: skip
    found = [
        Entry(L2, round(value * 64), f"{name} x 64", access)
        for name, access in kinds
        if (value := _total(counters, name)) is not None
    ]
    return found if {e.access for e in found} == {"read", "write"} else []


def _lds(counters: Counters) -> list[Entry]:
    active, conflicts = (
        known(counters, name) for name in ("SQ_LDS_IDX_ACTIVE", "SQ_LDS_BANK_CONFLICT")
    )
    if active is None or conflicts is None or conflicts > active:
        return []
    why = "(SQ_LDS_IDX_ACTIVE - SQ_LDS_BANK_CONFLICT) x 128"
    return [Entry(SHARED, round((active - conflicts) * 128), why)]
