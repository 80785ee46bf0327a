"""RF102: one operator fills its memory boundary with the bytes that it needs."""

from collections.abc import Iterator

from roofline.device import DRAM, NETWORK, NVLINK
from roofline.diagnosis.doubts.counted import BELOW
from roofline.diagnosis.rule import Finding
from roofline.diagnosis.worth import visible
from roofline.program import Item, Program
from roofline.program.chains import NEAR
from roofline.units import show
from roofline.work import Count

MIXED = 0.95  # share of the highest ceiling, below which the mix is worth a word


def at_the_roof(program: Program) -> Iterator[Finding]:
    """RF102: one operator, alone, fills its memory boundary with its compulsory bytes."""
    chained = {s for chain in program.chains for s in chain.signatures}
    for item in program.by("call"):
        bound, fraction = item.binding, item.roof_fraction
        if bound is None or fraction is None or item.too_short or item.signatures[0] in chained:
            continue
        if not bound.demanded.is_boundary or fraction < NEAR or not visible(program, item):
            continue
        if bound.demanded in (NVLINK, NETWORK):
            continue  # RF502 speaks of links
        if item.placement.count is not Count.ALGORITHMIC:
            continue  # bytes that a counter saw may be more than the work needs
        yield Finding(
            code="RF102",
            item=item.name,
            claim=(
                f"{item.name} ({item.shapes}) is at {_fraction(item, program)} with no byte more "
                "than its formula needs: nothing to gain by tuning it"
            ),
            evidence=(
                f"{show(bound.amount / item.calls, 'B')} a call in "
                f"{show((item.measured_s or 0) / item.calls, 's')}",
                f"{bound.demanded.name} ceiling {show(bound.ceiling.rate, 'B/s')}, "
                f"{bound.ceiling.provenance.basis}"
                f"{f', {bound.ceiling.variant}' if str(bound.ceiling.variant) else ''}",
                *_mix(item, program),
                *_counted(item, program),
            ),
            next_step="stop here, or change the algorithm or the data type",
            saves_s=0.0,
            wrong_if="a version that moves the same bytes runs clearly faster",
        )


def _mix(item: Item, program: Program) -> Iterator[str]:
    """What its mix of reads and writes costs against the best mix of that boundary."""
    bound = item.placement.bounds[0]
    highest = program.roof.highest(bound.demanded)
    if highest and bound.ceiling.rate < MIXED * highest:
        yield (
            f"its mix of reads and writes has a ceiling of its own: {show(highest, 'B/s')} are "
            "reached with another mix"
        )


def _fraction(item: Item, program: Program) -> str:
    """By the formula's bytes; where those are above the roof, by what a replay counted as well."""
    bound, replay = item.placement.bounds[0], program.replays.get(item.signatures[0])
    roof, by_formula = f"of its {bound.demanded.name} roof", f"{item.roof_fraction:.0%}"
    if (item.roof_fraction or 0.0) <= 1 or replay is None or replay.roof_fraction is None:
        return f"{by_formula} {roof}"
    counted = f"{replay.roof_fraction:.0%} {roof} by what its replay counted"
    return f"{counted}, {by_formula} by its formula,"


def _counted(item: Item, program: Program) -> Iterator[str]:
    """What crossed DRAM in its replay, where that is less than the formula's bytes."""
    replay, needed = program.replays.get(item.signatures[0]), item.ledger
    seen = replay.achieved if replay else None
    if replay is None or seen is None or needed is None or seen.unaccounted:
        return
    crossed, asked = seen.crossed(DRAM), needed.demand().get(DRAM)
    if crossed is None or not asked or crossed * item.calls >= BELOW * asked:
        return
    reads_there = seen.traffic(DRAM, "read") * item.calls >= BELOW * needed.traffic(DRAM, "read")
    yield (
        f"{show(crossed, 'B')} of {show(asked / item.calls, 'B')} crossed dram in its replay: "
        + (
            "the missing writes were still dirty in the L2"
            if reads_there
            else "the L2 held the rest"
        )
    )
