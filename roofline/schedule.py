"""Stages with dependencies: the least time of a graph of work.

The bound is the larger of the critical path (each stage at its own roof time) and, for every
resource, the total demand over its ceiling.  Adding the ledgers first and placing the sum is valid
too, but looser: it lets a stage use memory while the stage it waits for still computes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from roofline.device import Resource, Roof
from roofline.errors import BadInput
from roofline.placement import Placement, place
from roofline.work import Ledger


@dataclass(frozen=True, slots=True)
class Stage:
    """One piece of work and the stages it needs done before."""

    name: str
    ledger: Ledger
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphBound:
    """The least time of a graph, with what made it."""

    critical_path: tuple[str, ...]  # stage names, first to last
    critical_path_s: float
    loose_roof_s: float  # the summed ledger's: the largest per-resource total
    least_s: Mapping[Resource, float]  # per resource, its total demand over its ceiling
    no_ceiling: tuple[Resource, ...]
    unaccounted: tuple[str, ...]

    @property
    def roof_s(self) -> float:
        """The tight bound."""
        return max(self.critical_path_s, self.loose_roof_s)


def bound(stages: Iterable[Stage], roof: Roof) -> GraphBound:
    """Bound a graph of stages under one roof."""
    by_name = _by_name(stages)
    placed = {name: place(stage.ledger, roof) for name, stage in by_name.items()}
    path, path_s = _critical_path(by_name, placed)
    least_s: dict[Resource, float] = {}
    for placement in placed.values():
        for b in placement.bounds:
            least_s[b.demanded] = least_s.get(b.demanded, 0.0) + b.least_s
    missing = {r for p in placed.values() for r in p.no_ceiling}
    return GraphBound(
        critical_path=path,
        critical_path_s=path_s,
        loose_roof_s=max(least_s.values(), default=0.0),
        least_s=least_s,
        no_ceiling=tuple(sorted(missing)),
        unaccounted=tuple(n for s in by_name.values() for n in s.ledger.unaccounted),
    )


def chain(parts: Sequence[tuple[str, Ledger]]) -> tuple[Stage, ...]:
    """Stages that run one after the other, as eager programs do."""
    return tuple(
        Stage(name, ledger, (parts[i - 1][0],) if i else ())
        for i, (name, ledger) in enumerate(parts)
    )


def _by_name(stages: Iterable[Stage]) -> dict[str, Stage]:
    by_name: dict[str, Stage] = {}
    for stage in stages:
        if stage.name in by_name:
            raise BadInput(f"two stages are named {stage.name!r}")
        by_name[stage.name] = stage
    for stage in by_name.values():
        if absent := [need for need in stage.needs if need not in by_name]:
            raise BadInput(f"{stage.name} needs {', '.join(absent)}; there is {', '.join(by_name)}")
    return by_name


def _critical_path(
    stages: Mapping[str, Stage], placed: Mapping[str, Placement]
) -> tuple[tuple[str, ...], float]:
    try:
        order = list(TopologicalSorter({n: s.needs for n, s in stages.items()}).static_order())
    except CycleError as cycle:
        raise BadInput(
            f"stages need each other in a circle: {' -> '.join(cycle.args[1])}"
        ) from None
    done_s: dict[str, float] = {}
    came_from: dict[str, str | None] = {}
    for name in order:
        latest = max(stages[name].needs, key=done_s.__getitem__, default=None)
        came_from[name] = latest
        done_s[name] = (done_s[latest] if latest else 0.0) + (placed[name].roof_s or 0.0)
    last = max(done_s, key=done_s.__getitem__, default=None)
    path, at = [], last
    while at is not None:
        path.append(at)
        at = came_from[at]
    return tuple(reversed(path)), done_s[last] if last else 0.0
