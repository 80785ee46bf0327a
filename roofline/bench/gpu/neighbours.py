"""Who else computes on a card: nobody, so many others, or not known and why.

The driver lists the processes of a card by number.  In a container it may list none, or numbers of
the host, under which a process does not find itself; then it cannot tell itself from others.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from roofline.bench.gpu.card import Driver


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Other processes on a card at one moment, as far as its driver knows."""

    count: int | None  # so many at least; None is not known
    exact: bool = True
    why_not: str = ""  # known

    def __str__(self) -> str:
        if self.count is None:
            return "not known"
        least = "" if self.exact else "at least "
        return f"{least}{self.count or 'no'} other process{'es' if self.count > 1 else ''}"

    def on(self, where: str) -> str:
        """The same of a card that is named."""
        if self.count is None:
            return f"whether other processes use {where} is not known ({self.why_not})"
        return f"{self} on {where}"


NOBODY = Neighbours(0)


def neighbours(driver: Driver) -> Neighbours:
    """Asked while this process computes on the card, so that the driver should list it too."""
    listed = driver.ask("nvmlDeviceGetComputeRunningProcesses")
    if listed is None:
        return Neighbours(None, why_not=driver.why_not or "the driver does not list processes")
    if os.getpid() in [one.pid for one in listed]:
        return Neighbours(len(listed) - 1)
    if len(listed) > 1:  # one of them may be this one by another number
        return Neighbours(len(listed) - 1, exact=False)
    return Neighbours(None, why_not="the driver does not list this process by its number")


@dataclass(slots=True)
class Watch:
    """What was seen of other processes on this card in the course of a measurement."""

    seen: list[tuple[str, Neighbours]] = field(default_factory=list)  # since when, and who
    busy: int | None = None  # percent, before this process gave the card anything to do

    def begin(self, driver: Driver) -> None:
        """Before the first work: afterwards whose use it is cannot be told."""
        use = driver.ask("nvmlDeviceGetUtilizationRates")
        self.busy = None if use is None else int(use.gpu)

    def look(self, driver: Driver, since: str) -> None:
        """Ask now; `since` says when that is."""
        self.seen.append((since, neighbours(driver)))

    def note(self) -> str:
        """In one sentence; "" is nobody from first to last, or never asked."""
        changes = _changes(self.seen)
        if [who for _, who in changes] in ([], [NOBODY]):
            return ""
        (_, first), *later = changes
        if later:
            told = [f"{first} at first", *(f"{who} {since}" for since, who in later)]
            text = f"beside this one on this GPU: {', '.join(told)}"
        else:
            text = first.on("this GPU")
        if first.count and self.busy is not None:
            text += f"; the GPU was {self.busy} % busy before this measurement began"
        return text


def _changes(seen: Sequence[tuple[str, Neighbours]]) -> list[tuple[str, Neighbours]]:
    """The first, and every one that differs from the one before it."""
    before = [None, *(who for _, who in seen)]
    return [one for one, last in zip(seen, before, strict=False) if one[1] != last]
