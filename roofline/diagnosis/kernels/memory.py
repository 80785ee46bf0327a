"""Kernels that move more than they use: sectors of global memory, banks of shared memory."""

from collections.abc import Iterator, Mapping

from roofline.device import DRAM, L2, SHARED
from roofline.diagnosis.kernels.launch_facts import FED, Facts, brief, kernel_finding, near_roof
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.units import show
from roofline.work import Access

WAVEFRONT = 128  # B that shared memory moves in one pass
SECTOR = 32  # B, the unit in which a GPU's caches fetch
COALESCED = 0.75  # share of each sector that is used
REUSED = 40.0  # % of L1 hits, from which the rest of a sector is used by a later request
CONFLICTS = 0.6  # useful share of the bytes that shared memory moved
WAYS: tuple[Access, ...] = ("read", "write")


def uncoalesced(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF401: requests use little of each 32-byte sector that is fetched for them."""
    used = {
        "loads": fact("bytes_used_per_sector_loaded"),
        "stores": fact("bytes_used_per_sector_stored"),
    }
    poor = {k: v for k, v in used.items() if v and v < COALESCED * SECTOR}
    requests = fact("sectors_per_request_load" if "loads" in poor else "sectors_per_request_store")
    # One sector a request is a scalar; what the L1 serves again is not fetched again.
    if not poor or not requests or requests <= 1 or (fact("l1_hit_rate") or 0.0) >= REUSED:
        return
    if near_roof(item, program):
        return
    yield kernel_finding(
        "RF401",
        item,
        f"{brief(item.name)} uses {min(poor.values()):.0f} of every {SECTOR} B it moves: "
        "uncoalesced access",
        (
            *(f"{kind} use {value:.1f} of {SECTOR} B a sector" for kind, value in poor.items()),
            f"{requests:.1f} sectors a request; 4 would serve 32 neighbouring fp32",
        ),
        "let neighbouring threads touch neighbouring addresses: transpose, or stage through "
        "shared memory",
        "with unit stride it runs no faster",
        best_s=_useful_s(item, used, program),
    )


def _useful_s(item: Item, used: Mapping[str, float | None], program: Program) -> float | None:
    """Time for the useful part of its DRAM bytes at the ceiling of their own mix.

    What the L1 asks for in vain the L2 may hold: no more is useless on DRAM than what is not asked.
    """
    achieved = item.placement.work.achieved
    if achieved is None:
        return None
    share = {"read": used["loads"] or SECTOR, "write": used["stores"] or SECTOR}
    useful: dict[str, float] = {}
    for way in WAYS:
        far, asked = achieved.traffic(DRAM, way), achieved.traffic(L2, way)
        useful[way] = min(far, (asked or far) * share[way] / SECTOR)
    total = sum(useful.values())
    ceiling = program.roof.ceiling(DRAM, useful["read"] / total if total else None)
    return total / ceiling.rate / item.steps if total and ceiling else None


def bank_conflicts(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF406: shared memory serves several threads of a warp one after the other."""
    conflicts = fact("bank_conflicts")
    achieved = item.placement.work.achieved
    entries = achieved.entries if achieved else ()
    moved = sum(e.amount for e in entries if e.resource == SHARED) / item.calls
    if not conflicts or not moved:
        return
    useful = fact("shared_useful")
    share = useful / moved if useful else 1 - conflicts * WAVEFRONT / moved
    if share >= CONFLICTS or (fact("tensor_pipe") or 0.0) >= FED:
        return
    yield kernel_finding(
        "RF406",
        item,
        f"{brief(item.name)} uses {share:.0%} of what shared memory moves: bank conflicts",
        (
            f"{conflicts:.3g} conflicts in {moved / WAVEFRONT:.3g} passes of {WAVEFRONT} B",
            f"{show(moved, 'B')} a launch",
        ),
        "pad or swizzle the shared array so that a warp's addresses fall into 32 banks",
        "a padded version is no faster",
        then=share,
    )
