"""Kernels that move more than they use: sectors of global memory, banks of shared memory."""

from collections.abc import Iterator, Mapping

from roofline.device import DRAM, L2, SHARED, Resource
from roofline.diagnosis.kernels.evidence import moved
from roofline.diagnosis.kernels.launch_facts import (
    FED,
    Facts,
    fraction_text,
    kernel_finding,
    limit,
    near_roof,
    too_short,
)
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.units import show
from roofline.work import Access

WAVEFRONT = 128  # B that shared memory moves in one pass
SECTOR = 32  # B, the unit in which a GPU's caches fetch
COALESCED = 0.75  # share of each sector that is used
REUSED = 40.0  # % of L1 hits, from which the rest of a sector is used by a later request
NARROW = 4.5  # sectors a request: 4 are 32 threads with 4 B each
WIDE = 16  # 32 threads with 16 B each
OCCUPIED = 70.0  # % of the warps, from which more of them is no way
FELT = 0.3  # assumed: share of the time from which memory is what a kernel is about
CONFLICTS = 0.6  # useful share of the bytes that shared memory moved
UNEVEN = 1.5  # assumed: fullest over mean, from which a part of memory is camped on
WAYS: tuple[Access, ...] = ("read", "write")


def uncoalesced(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF401: requests use little of each 32-byte sector that is fetched for them."""
    used = {
        "loads": fact("bytes_used_per_sector_loaded"),
        "stores": fact("bytes_used_per_sector_stored"),
    }
    poor = {k: v for k, v in used.items() if v and _scattered(fact, k)}
    # What the L1 serves again is not fetched again.
    if not poor or (fact("l1_hit_rate") or 0.0) >= REUSED or near_roof(item, program):
        return
    requests = fact("sectors_per_request_load" if "loads" in poor else "sectors_per_request_store")
    yield kernel_finding(
        "RF401",
        item,
        f"uses {min(poor.values()):.0f} of every {SECTOR} B it moves: uncoalesced access",
        (
            *(f"{kind} use {value:.1f} of {SECTOR} B a sector" for kind, value in poor.items()),
            f"{requests or 0.0:.1f} sectors a request; 4 would serve 32 neighbouring fp32",
        ),
        "let neighbouring threads touch neighbouring addresses: transpose, or stage through "
        "shared memory",
        "with unit stride it runs no faster",
        best_s=_useful_s(item, used, program),
    )


def _scattered(fact: Facts, kind: str) -> bool:
    """Whether `kind`, loads or stores, touch more sectors than their bytes and one request need.

    One value for all threads of a warp fills no sector: up to one a request is no waste.
    """
    load = kind == "loads"
    used = fact("bytes_used_per_sector_loaded" if load else "bytes_used_per_sector_stored")
    sectors = fact("sectors_per_request_load" if load else "sectors_per_request_store")
    if not used or not sectors or used >= COALESCED * SECTOR:
        return False
    return sectors * (1 - used / SECTOR) > 1


def _useful_s(item: Item, used: Mapping[str, float | None], program: Program) -> float | None:
    """Time for the useful part of its DRAM bytes at the ceiling of their own mix.

    What the L1 asks for in vain the L2 may hold: no more is useless on DRAM than what is not asked.
    """
    achieved = item.placement.work.achieved
    if achieved is None or achieved.crossed(DRAM) is None:
        return None
    share = {"read": used["loads"] or SECTOR, "write": used["stores"] or SECTOR}
    useful: dict[str, float] = {}
    for way in WAYS:
        far, asked = achieved.traffic(DRAM, way), achieved.traffic(L2, way)
        useful[way] = min(far, (asked or far) * share[way] / SECTOR)
    total = sum(useful.values())
    ceiling = program.roof.ceiling(DRAM, useful["read"] / total if total else None)
    return total / ceiling.rate / item.steps if total and ceiling else None


def narrow_requests(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF409: whole sectors and enough warps, but little a request: too few bytes in flight."""
    loads, stores = fact("sectors_per_request_load"), fact("sectors_per_request_store")
    occupied = fact("occupancy_achieved")
    if not loads or not stores or max(loads, stores) > NARROW or (occupied or 0.0) < OCCUPIED:
        return
    if not _of_memory(item) or near_roof(item, program) or too_short(item, program):
        return
    used = [fact("bytes_used_per_sector_loaded"), fact("bytes_used_per_sector_stored")]
    if None in used or _scattered(fact, "loads") or _scattered(fact, "stores"):
        return
    yield kernel_finding(
        "RF409",
        item,
        f"asks memory for little at a time and reaches {fraction_text(item)}: "
        "too few bytes in flight",
        (
            f"{loads:.1f} sectors of {SECTOR} B a load, {stores:.1f} a store; "
            f"{WIDE} are possible with 16 B a thread",
            f"{occupied:.0f} % of the warps an SM can hold are there: more of them is no way",
            *_in_flight(item, max(loads, stores), occupied or 0.0, program),
        ),
        "more bytes a request: contiguous operands of equal shape take the vectorised kernel "
        "(16 B a thread); or fuse it into a neighbour",
        "a version with 16 B a thread is no faster",
    )


def _in_flight(item: Item, sectors: float, occupied: float, program: Program) -> Iterator[str]:
    """Little's law: bytes under way are rate times latency, with one request of each warp."""
    warps, sms = limit(program, "warps_per_sm_max"), limit(program, "sm_count")
    bound = item.binding
    if not warps or not sms or bound is None or not item.measured_s:
        return
    under_way = occupied / 100 * warps * sms * sectors * SECTOR
    rate = bound.amount / item.measured_s
    yield (
        f"one request of each warp is {show(under_way, 'B')} in flight: at {show(rate, 'B/s')} "
        f"each takes {show(under_way / rate, 's')}, and {show(bound.ceiling.rate, 'B/s')} need "
        f"{show(under_way * bound.ceiling.rate / rate, 'B')}"
    )


def _of_memory(item: Item) -> bool:
    """Whether DRAM binds it, and it is not lost below every roof for another reason."""
    fraction = item.roof_fraction
    at_dram = item.binding is not None and item.binding.demanded == DRAM
    return at_dram and fraction is not None and fraction >= FELT


def partitions(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF413: a few slices or channels of memory serve most of the requests."""
    parts = {"l2 slice": (L2, "l2_slice_load"), "dram channel": (DRAM, "dram_channel_load")}
    loads = {name: (level, fact(known) or 0.0) for name, (level, known) in parts.items()}
    uneven = {
        name: load
        for name, (level, load) in loads.items()
        if load >= UNEVEN and _at_work(item, level, load)
    }
    if not uneven or near_roof(item, program) or too_short(item, program):
        return
    if item.binding is None or not item.binding.demanded.is_boundary:
        return
    name, load = max(uneven.items(), key=lambda pair: pair[1])
    yield kernel_finding(
        "RF413",
        item,
        f"camps on a part of memory: its fullest {name} moves {load:.1f} times the mean",
        (
            *(f"fullest {each}: {value:.2f} times the mean" for each, value in uneven.items()),
            fraction_text(item),
        ),
        "spread the addresses: pad the leading size so that rows are no power of two apart, let "
        "blocks begin at different places, or keep what all of them read where each has its own "
        "(shared memory, registers, the L1)",
        "with the same bytes spread out it is no faster",
        best_s=_spread_s(item, load),
    )


def _at_work(item: Item, level: Resource, load: float) -> bool:
    """Whether the fullest part of `level` is at work for a share of the time, where that is known.

    Of a few kilobytes some part has always got most.
    """
    bound = next((b for b in item.placement.bounds if b.demanded == level), None)
    if bound is None or not item.measured_s:
        return True
    return load * bound.least_s >= FELT * item.measured_s


def _spread_s(item: Item, load: float) -> float | None:
    """A step's time when all parts serve what the fullest did alone; no roof is left behind."""
    if item.measured_s is None:
        return None
    return max(item.measured_s / load, item.roof_s or 0.0) / item.steps


def bank_conflicts(item: Item, fact: Facts, program: Program) -> Iterator[Finding]:
    """RF406: shared memory serves several threads of a warp one after the other."""
    conflicts, transported = fact("bank_conflicts"), moved(item, program, SHARED)
    if not conflicts or not transported:
        return
    useful = fact("shared_useful")
    share = useful / transported if useful else 1 - conflicts * WAVEFRONT / transported
    if share >= CONFLICTS or (fact("tensor_pipe") or 0.0) >= FED:
        return
    yield kernel_finding(
        "RF406",
        item,
        f"uses {share:.0%} of what shared memory moves: bank conflicts",
        (
            f"{conflicts:.3g} conflicts in {transported / WAVEFRONT:.3g} passes of {WAVEFRONT} B",
            f"{show(transported, 'B')} a launch",
        ),
        "pad or swizzle the shared array so that a warp's addresses fall into 32 banks",
        "a padded version is no faster",
        then=share,
    )
