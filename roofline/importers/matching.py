"""Which kernel of a timeline each replayed launch is: by name, launch configuration and order.

A launch whose name and configuration only one call site has is that call site's wherever it stands.
The others (a library's product kernels look alike at many sizes) are told by the launches around
them: runs of launches that follow each other in both recordings.  A run that would fit at several
places with different meanings fits at none, and neither does a short one, which launches that were
picked here and there also make by chance.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST = 100_000_000  # pairs of equal launches up to which order is looked at
LONG = 1 / 3  # of what can be aligned, from which a run is none by chance
FITTING = 0.9  # of a run's launches that must fit their kernels
Fits = Callable[[int, int], bool]


@dataclass(frozen=True, slots=True)
class Matched:
    """For each launch the position of its kernel; None is not known."""

    kernels: tuple[int | None, ...]
    absent: frozenset[int]  # launches that no kernel is like; others without one fit several


def match(
    kernels: Sequence[Hashable],
    meanings: Sequence[Hashable],
    launches: Sequence[Hashable],
    fits: Fits = lambda launch, kernel: True,
) -> Matched:
    """Find the kernel of every launch.

    kernels, launches   what each is like, equal where they are alike, in order of time
    meanings            what each kernel is for: equal ones may stand for each other
    fits                whether a launch can be a kernel, by what else is known of both
    """
    places: dict[Hashable, list[int]] = {}
    for at, key in enumerate(kernels):
        places.setdefault(key, []).append(at)
    found: list[int | None] = [None] * len(launches)
    _by_order(kernels, meanings, launches, places, fits, found)
    turns: dict[Hashable, int] = {}
    for at, key in enumerate(launches):
        here = places.get(key, [])
        if found[at] is None and here and len({meanings[place] for place in here}) == 1:
            turn = turns[key] = turns.get(key, -1) + 1
            kernel = here[turn % len(here)]
            found[at] = kernel if fits(at, kernel) else None
    absent = frozenset(at for at, key in enumerate(launches) if key not in places)
    return Matched(tuple(found), absent)


def _by_order(
    kernels: Sequence[Hashable],
    meanings: Sequence[Hashable],
    launches: Sequence[Hashable],
    places: dict[Hashable, list[int]],
    fits: Fits,
    found: list[int | None],
) -> None:
    """Align runs of launches with runs of kernels, what is left over again from the start."""
    ours = [at for at, key in enumerate(launches) if key in places]
    if sum(len(places[launches[at]]) for at in ours) > MOST:
        return
    wanted = {launches[at] for at in ours}
    theirs = [at for at, key in enumerate(kernels) if key in wanted]
    line = [kernels[at] for at in theirs]
    means = [meanings[at] for at in theirs]
    starts: dict[Hashable, list[int]] = {}
    for at, key in enumerate(line):
        starts.setdefault(key, []).append(at)
    segments = [ours] if ours else []
    while segments:
        segment = segments.pop()
        keys = [launches[at] for at in segment]
        blocks = SequenceMatcher(None, keys, line, autojunk=False).get_matching_blocks()
        left: list[list[int]] = [[]]
        done, least = 0, LONG * min(len(segment), len(line))
        for i, j, n in blocks:
            left[-1] += segment[done:i]
            pairs = [*zip(segment[i : i + n], theirs[j : j + n], strict=True)]
            good = [pair for pair in pairs if fits(*pair)]
            if (
                n >= max(least, 1)
                and len(good) >= FITTING * n
                and _one_meaning(line, means, starts, j, n)
            ):
                for at, kernel in good:
                    found[at] = kernel
                left.append([])
            else:
                left[-1] += segment[i : i + n]
            done = i + n
        if len(left) > 1:  # something was found, so that what is left is shorter
            segments += [part for part in left if part]


def _one_meaning(
    line: Sequence[Hashable],
    means: Sequence[Hashable],
    starts: dict[Hashable, list[int]],
    first: int,
    count: int,
) -> bool:
    """Whether every run like the one from `first` on means the same."""
    run, meaning = line[first : first + count], means[first : first + count]
    return all(
        means[at : at + count] == meaning for at in starts[run[0]] if line[at : at + count] == run
    )
