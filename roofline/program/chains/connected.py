"""Which of neighbouring calls pass data on to each other.

First the calls are cut where one reads nothing of those just before it.  Parts that begin apart may
meet later: an update scales a parameter, then moves its moments, and reads both at its end.  What
reads from an earlier part is one with it where both pass over equally much in one phase.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from roofline.program.boundary.following import FOLLOWED
from roofline.program.chains.chain import Link


class _Part(NamedTuple):
    """Neighbours that pass data on, from `start` up to `end`."""

    start: int
    end: int
    enters: frozenset[int]  # storages that it reads as they were before it
    writes: frozenset[int]
    widest: int  # B of its largest tensor


def connected(
    links: Sequence[Link], phases: Sequence[str], *, follow: bool
) -> Iterator[Sequence[int]]:
    """Positions of the calls of each chain of two or more, by their first.

    Parts meet only where `follow`: guessed by size, what is of one size has met already.  Between
    them lie calls as wide as they are, and scalars such as a step's number, of any number; neither
    belongs to the chain unless it is read from or reads.
    """
    parts = list(_apart(links))
    first = _met(parts, phases) if follow else range(len(parts))
    together: dict[int, list[int]] = {}
    for part, its in zip(parts, first, strict=True):
        together.setdefault(its, []).extend(range(part.start, part.end))
    return (calls for calls in together.values() if len(calls) > 1)


def _met(parts: Sequence[_Part], phases: Sequence[str]) -> list[int]:
    """For each part the first of those that are one with it."""
    first = list(range(len(parts)))

    def find(at: int) -> int:
        while first[at] != at:
            first[at] = first[first[at]]  # shorter for the next one who asks
            at = first[at]
        return at

    wrote: dict[int, int] = {}  # storage -> the latest part that wrote it, of those alike in a row
    phase, width = "", 0
    for at, part in enumerate(parts):
        wide = part.widest >= FOLLOWED
        if phases[part.start] != phase or (wide and width not in (0, part.widest)):
            phase, width = phases[part.start], 0
            wrote = {}
        width = part.widest if wide else width
        for storage in part.enters:
            other = wrote.get(storage)
            if other is not None and parts[other].widest == part.widest:
                one, two = sorted((find(other), find(at)))
                first[two] = one
        wrote.update(dict.fromkeys(part.writes, at))
    return [find(at) for at in range(len(parts))]


def _apart(links: Sequence[Link]) -> Iterator[_Part]:
    """Parts whose first call reads nothing of the part before, singles among them."""
    start, written = 0, set[int]()
    for at, link in enumerate(links):
        if at > start and not written & {storage for storage, _ in link.reads}:
            yield _part(links, start, at)
            start, written = at, set()
        written |= {storage for storage, _ in link.writes}
    if links:
        yield _part(links, start, len(links))


def _part(links: Sequence[Link], start: int, end: int) -> _Part:
    enters, writes, widest = set[int](), set[int](), 0
    for link in links[start:end]:
        enters |= {storage for storage, _ in link.reads} - writes
        writes |= {storage for storage, _ in link.writes}
        widest = max(widest, *(nbytes for _, nbytes in (*link.reads, *link.writes)), 0)
    return _Part(start, end, frozenset(enters), frozenset(writes), widest)
