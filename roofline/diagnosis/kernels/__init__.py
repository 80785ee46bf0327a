"""RF4xx: what a kernel's own counters say about why it is below its roof.

These rules read the facts that a profiler recorded beside a launch, of a call those of the kernel
that takes most of its time; without facts they are silent.  Thresholds are assumed unless a
comment says where they come from.
"""

from collections.abc import Iterator
from dataclasses import replace

from roofline.diagnosis.kernels.evidence import readings_of
from roofline.diagnosis.kernels.full import fills_memory
from roofline.diagnosis.kernels.launch_facts import reader
from roofline.diagnosis.kernels.memory import (
    bank_conflicts,
    narrow_requests,
    partitions,
    uncoalesced,
)
from roofline.diagnosis.kernels.occupancy import few_blocks, low_occupancy, spills, tail
from roofline.diagnosis.kernels.own_view import IN_MEMORY, busy_part
from roofline.diagnosis.kernels.pipes import no_fma, special_functions, wrong_pipe
from roofline.diagnosis.kernels.shape import square_tile
from roofline.diagnosis.kernels.stalls import nothing_busy
from roofline.diagnosis.kernels.tiles import empty_tiles
from roofline.diagnosis.memory.traffic import copies
from roofline.diagnosis.prediction import added
from roofline.diagnosis.rule import Finding
from roofline.program import Program
from roofline.program.device.overlap import talks
from roofline.units import number_of

WORTH = 0.02  # share of device time below which a kernel is not worth a line
RULES = (
    uncoalesced, few_blocks, tail, low_occupancy, spills, bank_conflicts, square_tile, wrong_pipe,
    special_functions, busy_part, narrow_requests, empty_tiles, no_fma, partitions,
    fills_memory,
)  # fmt: skip


def from_counters(program: Program) -> Iterator[Finding]:
    """RF202, RF401 to RF414: kernels that take a visible share of the time, one finding a cause."""
    causes: dict[tuple[str, bool], list[Finding]] = {}
    for finding in _each(program):
        kind = (finding.code, IN_MEMORY in finding.claim)
        causes.setdefault(kind, []).append(finding)
    for findings in causes.values():
        yield _merged(sorted(findings, key=lambda f: f.saves_s or 0.0, reverse=True), program)


def small_grids(program: Program) -> frozenset[int]:
    """Signatures of calls that leave SMs without a block, which is why they are slow (RF402)."""
    return frozenset(
        item.signatures[0]
        for item in program.by("call")
        if (readings := readings_of(item, program)[0])
        and any(few_blocks(item, reader(readings), program))
    )


def _each(program: Program) -> Iterator[Finding]:
    busy_s = program.whole.busy_s
    # What should not run at all needs no better launch.
    needless = {name for finding in copies(program) for name in finding.items}
    for item in program.by("call"):
        # A library's collective takes the few SMs that fill a link, and waits for other ranks.
        if item.name in needless or talks(item.name):
            continue
        readings, whence = readings_of(item, program)
        share = (item.measured_s or 0.0) / item.steps / busy_s if busy_s else 0.0
        if not readings or share < WORTH:
            continue
        fact = reader(readings)
        found = [finding for rule in RULES for finding in rule(item, fact, program)]
        # What no other rule explains may be told by what its warps wait for.
        for finding in found or nothing_busy(item, readings, program):
            yield replace(
                finding,
                claim=f"{program.short(item.name)} {finding.claim}",
                evidence=(*finding.evidence, *whence),
            )


def _merged(findings: list[Finding], program: Program) -> Finding:
    """The worst, with the others named, their savings and predictions added."""
    worst, others = findings[0], findings[1:]
    if not others:
        return worst
    saves = [f.saves_s for f in findings if f.saves_s is not None]
    names = dict.fromkeys(program.short(f.item) for f in others)
    then_s = added(f.then_s for f in findings)
    return replace(
        worst,
        claim=f"{worst.claim}; {number_of(len(others), 'more kernel')} likewise",
        evidence=(*worst.evidence, f"likewise: {', '.join([*names][:4])}"),
        items=tuple(f.item for f in findings),
        item="",
        saves_s=sum(saves) if saves else None,
        now_s=sum(f.now_s or 0.0 for f in findings) if then_s else None,
        then_s=then_s,
    )
