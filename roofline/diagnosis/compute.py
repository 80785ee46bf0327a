"""RF2xx: room below every roof."""

from collections.abc import Iterator, Sequence

from roofline.diagnosis.memory import faults_s, worth_chains
from roofline.diagnosis.rule import Finding
from roofline.program import Item, Program
from roofline.units import show

FAR = 0.5  # assumed: below half of its roof an operator is far from it
WORTH = 0.05  # share of a step that must be lost before it is said


def far_below(program: Program) -> Iterator[Finding]:
    """RF201: an operator takes far longer than any resource explains; one finding an operator."""
    busy_s = program.whole.busy_s
    chained = {s for chain in worth_chains(program) for s in chain.signatures}
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in program.by("call"):
        if item.binding is not None and item.signatures[0] not in chained and _far(item, program):
            groups.setdefault((item.name, item.binding.demanded.name), []).append(item)
    for (name, resource), items in groups.items():
        lost_s = sum(item.lost_s or 0.0 for item in items) / program.conditions.steps
        if busy_s and lost_s >= WORTH * busy_s:
            yield _far_below(name, resource, items, lost_s)


def _far(item: Item, program: Program) -> bool:
    """Far from its roof, and neither dispatch nor fresh memory nor missing inputs explain it."""
    fraction, lost_s = item.roof_fraction, item.lost_s
    if fraction is None or lost_s is None or item.too_short or fraction >= FAR:
        return False
    explained_s = (item.overhead_s or 0.0) + (faults_s(item, program) or 0.0)
    reads = item.ledger is not None and any(e.access == "read" for e in item.ledger.entries)
    # What reads nothing makes its data (random numbers): its arithmetic is on no pipe we count.
    return reads and explained_s < FAR * lost_s


def _far_below(name: str, resource: str, items: Sequence[Item], lost_s: float) -> Finding:
    roof_s = sum(item.roof_s or 0.0 for item in items)
    measured_s = sum(item.measured_s or 0.0 for item in items)
    first, steps = items[0], items[0].steps
    what = f"({first.shapes})" if len(items) == 1 else f"in {len(items)} sizes"
    return Finding(
        code="RF201",
        item=name,
        claim=(
            f"{name} {what} reaches {roof_s / measured_s:.0%} of its nearest roof, {resource}, "
            "and nothing that is counted explains the rest"
        ),
        evidence=(
            *(_reached(item) for item in items[:3]),
            *((f"and {len(items) - 3} more sizes",) if len(items) > 3 else ()),
            f"{show(lost_s, 's')} a step in {sum(i.calls for i in items) / steps:g} calls",
        ),
        next_step=_next_step(first),
        saves_s=lost_s,
        now_s=measured_s / steps,
        then_s=(roof_s / steps, measured_s / steps),
        wrong_if="a better implementation of the same operator is no faster",
    )


def _reached(item: Item) -> str:
    bound = item.placement.bounds[0]
    unit = f"{bound.demanded.unit}/s"
    ceiling = bound.ceiling
    return (
        f"{item.shapes}: {show(bound.amount / (item.measured_s or 1.0), unit)} of "
        f"{show(ceiling.rate, unit)} ({ceiling.provenance.basis}"
        f"{f', {ceiling.variant}' if str(ceiling.variant) else ''})"
    )


def _next_step(item: Item) -> str:
    binding = item.binding
    if binding is not None and binding.demanded.is_pipe:
        return (
            "try larger or better aligned sizes, contiguous operands, another data type, "
            "or a library built for this machine"
        )
    return (
        "look at its strides and its threads: non-contiguous operands, one thread where several "
        "could work, or a slow fallback path"
    )
