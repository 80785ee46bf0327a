"""Different calls together: what each resource needs for all of them, and what they share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from roofline.device import Resource, Variant
from roofline.placement import Bound
from roofline.work import Count


def summed(parts: Iterable[tuple[Sequence[Bound], int]]) -> tuple[Bound, ...]:
    """The bounds of `parts`, each so many calls, as one per resource and count, slowest first.

    Each part meets the ceiling of its own mix of reads and writes, so the least times are added,
    and the rate is what they come to.
    """
    alike: dict[tuple[Resource, Count], list[tuple[Bound, int]]] = {}
    for some, calls in parts:
        for bound in some:
            alike.setdefault((bound.demanded, bound.count), []).append((bound, calls))
    made = (_sum(each) for each in alike.values())
    return tuple(sorted(made, key=lambda bound: bound.least_s, reverse=True))


def crossed(demands: Iterable[Mapping[Resource, int]]) -> frozenset[Resource]:
    """The boundaries that stand in every one of `demands` that needs anything at all."""
    each = [{r for r in demand if r.is_boundary} for demand in demands if demand]
    return frozenset(set.intersection(*each)) if each else frozenset()


def _sum(each: Sequence[tuple[Bound, int]]) -> Bound:
    longest = max((bound for bound, _ in each), key=lambda bound: bound.least_s)
    amount = sum(bound.amount * calls for bound, calls in each)
    ceilings = dict.fromkeys(bound.ceiling for bound, _ in each)
    if len(ceilings) == 1:
        return replace(longest, amount=amount)
    least_s = sum(bound.least_s * calls for bound, calls in each)
    variant = Variant(way=f"mean of {len(ceilings)} ceilings")
    mean = replace(longest.ceiling, rate=amount / least_s, variant=variant)
    return replace(longest, amount=amount, ceiling=mean)
