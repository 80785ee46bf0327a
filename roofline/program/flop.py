"""Arithmetic of one step, by pipe: what the formulas ask for, and what ran.

They differ by what is computed again for a backward pass (activation checkpointing), and by tiles
that are not full and scores computed again, where the rule for them is known or a counter saw them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from roofline.device import Resource
from roofline.program.item import Part
from roofline.program.reading import Program

Amounts = dict[Resource, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flop:
    """Mean over the measured steps; integer operations on their own pipes."""

    useful: Amounts  # by the formulas, nothing twice
    recomputed: Amounts  # by the formulas, the second time
    executed: Amounts  # what is known to have run, both times

    @property
    def again(self) -> float:
        """Share of the executed flop that is computed a second time; 0 where nothing is."""
        whole = sum(n for r, n in self.executed.items() if r.unit == "flop")
        second = sum(n for r, n in self.recomputed.items() if r.unit == "flop")
        return second / whole if whole else 0.0


def flop(program: Program) -> Flop:
    """Of every part that is accounted for; the others are in no amount."""
    steps = program.conditions.steps

    def total(of: Callable[[Part], dict[Resource, int]], recomputed: bool | None) -> Amounts:
        sums: Amounts = {}
        for part in program.parts:
            if recomputed is None or part.recomputed is recomputed:
                for resource, amount in of(part).items():
                    sums[resource] = sums.get(resource, 0) + amount * part.calls / steps
        return {resource: sums[resource] for resource in sums if sums[resource]}

    return Flop(
        useful=total(_asked, False), recomputed=total(_asked, True), executed=total(ran, None)
    )


def _asked(part: Part) -> dict[Resource, int]:
    ledger = part.once.work.algorithmic
    demand = {} if ledger is None else ledger.demand()
    return {resource: amount for resource, amount in demand.items() if resource.is_pipe}


def ran(part: Part) -> dict[Resource, int]:
    """What one call ran by pipe: the formula where nothing else is known."""
    known = part.once.work.executed
    more = {} if known is None else known.demand()
    return _asked(part) | {r: amount for r, amount in more.items() if r.is_pipe}
