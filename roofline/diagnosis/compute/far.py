"""RF201: room below every roof, and nothing that explains it."""

from collections.abc import Iterator, Sequence

from roofline.device import PCIE
from roofline.diagnosis.compute.alignment import odd_sizes
from roofline.diagnosis.doubts.waiting import waiting
from roofline.diagnosis.kernels import small_grids
from roofline.diagnosis.memory.fresh import faults_s
from roofline.diagnosis.memory.passes import worth_chains
from roofline.diagnosis.memory.picked import picks
from roofline.diagnosis.memory.traffic import reread_s
from roofline.diagnosis.overhead.sizes import flat_sizes
from roofline.diagnosis.prediction import to_roof_s
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.units import number_of, show, show_share

FAR = 0.5  # assumed: below half of its roof an operator is far from it
MUCH = 1.5  # assumed: executed over useful flop from which it is part of the answer
SMALL = 10.0  # assumed: work of fewer starts than this is a matter of overhead, not of the operator
STARTING = "starting it"
SAID = 0.05  # of what is lost, from which a part that is counted is said
WORTH = 0.05  # share of a step that must be lost before it is said


def far_below(program: Program) -> Iterator[Finding]:
    """RF201: an operator takes far longer than any resource explains; one finding an operator."""
    busy_s = program.whole.busy_s
    explained = {s for chain in worth_chains(program) for s in chain.signatures}
    # Sizes whose time is a floor (RF307) or that no wide load fits (RF208) have their reason.
    explained |= {i.signatures[0] for held in flat_sizes(program).values() for i in held}
    explained |= {i.signatures[0] for i in program.by("call") if odd_sizes(i, program)[0]}
    explained |= small_grids(program)
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in program.by("call"):
        if item.binding is not None and item.signatures[0] not in explained and _far(item, program):
            groups.setdefault((item.name, item.binding.demanded.name), []).append(item)
    for (name, resource), items in groups.items():
        lost_s = sum(item.lost_s or 0.0 for item in items) / program.conditions.steps
        if busy_s and lost_s >= WORTH * busy_s:
            yield _far_below(name, resource, items, lost_s, program)


def _far(item: Item, program: Program) -> bool:
    """Far from its roof, and nothing that has a finding of its own explains it.

    That is dispatch, fresh memory, bytes moved again, data picked by an index.
    """
    fraction, lost_s = item.roof_fraction, item.lost_s
    if fraction is None or lost_s is None or item.too_short or fraction >= FAR:
        return False
    if _uploads(item):  # RF304 speaks of them, and what they need is no other implementation
        return False
    # On a device starts hide behind kernels; on the host they are part of the operator's time.
    if program.roof.kind == "cpu" and (item.roof_s or 0.0) < SMALL * (item.overhead_s or 0.0):
        return False
    reads = item.ledger is not None and any(e.access == "read" for e in item.ledger.entries)
    # What reads nothing makes its data (random numbers): its arithmetic is on no pipe we count.
    by_index = picks(item) and item.binding is not None and item.binding.demanded.is_boundary
    return reads and not by_index and sum(_explained(item, program).values()) < FAR * lost_s


def _explained(item: Item, program: Program) -> dict[str, float]:
    """What is counted of its lost time, by reason [s]."""
    waited = waiting(program) if program.kernels is None else 0.0
    return {
        STARTING: item.overhead_s or 0.0,
        "clearing fresh memory (RF103)": faults_s(item, program) or 0.0,
        "moving bytes again (RF104)": reread_s(item, program) or 0.0,
        "waiting for a processor": waited * (item.measured_s or 0.0),
    }


def _over_link(item: Item) -> bool:
    return item.binding is not None and item.binding.demanded == PCIE


def _uploads(item: Item) -> bool:
    entries = item.ledger.entries if item.ledger else ()
    return _over_link(item) and any(e.resource == PCIE and e.access == "read" for e in entries)


def _far_below(
    name: str, resource: str, items: Sequence[Item], lost_s: float, program: Program
) -> Finding:
    roof_s = sum(item.roof_s or 0.0 for item in items)
    measured_s = sum(item.measured_s or 0.0 for item in items)
    first, steps = items[0], items[0].steps
    what = f" in {len(items)} sizes" if len(items) > 1 else f" ({first.shapes})"
    what = what if len(items) > 1 or first.shapes else ""
    parts = [_explained(item, program) for item in items]
    known = {why: sum(part[why] for part in parts) / steps for why in parts[0]}
    if program.roof.kind != "cpu":
        del known[STARTING]  # it is no part of a kernel's time
    said = {why: seconds for why, seconds in known.items() if seconds >= SAID * lost_s}
    share = sum(said.values()) / lost_s
    return Finding(
        code="RF201",
        item=name,
        claim=(
            f"{name}{what} reaches {show_share(roof_s / measured_s)} of its nearest roof, "
            f"{resource}, and "
            + (
                f"what is counted explains {share:.0%} of the rest"
                if said
                else "nothing that is counted explains the rest"
            )
        ),
        evidence=(
            *(_reached(item) for item in items[:3]),
            *_ran(first),
            *((f"and {number_of(len(items) - 3, 'more size')}",) if len(items) > 3 else ()),
            f"{show(lost_s, 's')} a step in "
            f"{number_of(sum(i.calls for i in items) / steps, 'call')}",
            *(f"of that {show(seconds, 's')} {why}" for why, seconds in said.items()),
        ),
        next_step=_next_step(first),
        saves_s=lost_s,
        now_s=measured_s / steps,
        then_s=to_roof_s(items, measured_s / steps),
        wrong_if="a better implementation of the same operator is no faster",
    )


def _reached(item: Item) -> str:
    bound = item.placement.bounds[0]
    unit = f"{bound.demanded.unit}/s"
    ceiling = bound.ceiling
    # Without shapes a name says no size: the amount of a call does.
    what = item.shapes or f"{show(bound.amount / item.calls, bound.demanded.unit)} a call"
    return (
        f"{what}: {show(bound.amount / (item.measured_s or 1.0), unit)} of "
        f"{show(ceiling.rate, unit)} ({ceiling.provenance.basis}"
        f"{f', {ceiling.variant}' if str(ceiling.variant) else ''})"
    )


def _ran(item: Item) -> Iterator[str]:
    """What it runs over its formula, by the rule of its kernels, and how far that explains it."""
    bound, ran = item.placement.bounds[0], item.placement.work.executed
    excess = (ran.demand().get(bound.demanded, 0) if ran else 0) / bound.amount
    if excess >= MUCH and item.measured_s:
        rate = excess * bound.amount / item.measured_s
        yield (
            f"it runs {excess:.1f} times the flop of its formula (estimated): "
            f"{show(rate, f'{bound.demanded.unit}/s')}, {rate / bound.ceiling.rate:.0%} of the roof"
        )


def _next_step(item: Item) -> str:
    binding = item.binding
    if _over_link(item):
        pinned = (
            "copy into pinned memory (copy_ into a tensor with pin_memory=True): pageable memory "
            "goes through a buffer of the driver; and "
        )
        return f"{pinned if 'Pageable' in item.name else ''}make fewer and larger copies"
    if binding is not None and binding.demanded.is_pipe:
        return (
            "try larger or better aligned sizes, contiguous operands, another data type, "
            "or a library built for this machine"
        )
    return (
        "look at its strides and its threads: non-contiguous operands, one thread where several "
        "could work, or a slow fallback path"
    )
