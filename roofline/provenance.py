"""Where a number came from.  No number enters the library without one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from roofline.errors import BadInput


class Basis(StrEnum):
    """How a number was obtained, from the firmest ground to the softest."""

    MEASURED = "measured"  # timed on the machine being modelled
    COUNTER = "counter"  # read from a hardware counter
    DATASHEET = "datasheet"  # printed by the vendor
    DERIVED = "derived"  # computed from other numbers by a stated formula
    STATED = "stated"  # the user said so
    ASSUMED = "assumed"  # nobody checked


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The distribution behind a measured number, in that number's unit.

    `low` and `high` are a distribution-free 95 % interval of the median (order statistics of the
    binomial distribution); with fewer than six samples none exists and both are None.
    """

    n: int
    median: float
    q1: float
    q3: float
    best: float
    low: float | None = None
    high: float | None = None
    dropped: int = 0  # samples that were taken and left out because they were disturbed
    unstable: str = ""  # why no one number stands for these samples; "" is stable


def spread(
    samples: Sequence[float], *, best: str = "max", dropped: int = 0, unstable: str = ""
) -> Spread:
    """Median, quartiles and the interval of the median of `samples` (any order, at least one).

    `best` is ``"max"`` for rates and ``"min"`` for durations; `dropped` counts samples that were
    left out as disturbed, and `unstable` says what is wrong with the rest.

    Source of the interval: Conover, Practical Nonparametric Statistics, section 3.2.

    >>> spread([3.0, 1.0, 2.0], best="min")
    Spread(n=3, median=2.0, q1=1.5, q3=2.5, best=1.0, low=None, high=None, dropped=0, unstable='')
    """
    if not samples or not all(math.isfinite(x) for x in samples):
        raise BadInput(f"a spread needs finite samples, at least one; got {list(samples)[:5]}")
    ordered = sorted(samples)
    rank = _interval_rank(len(ordered))
    return Spread(
        n=len(ordered),
        median=_quantile(ordered, 0.5),
        q1=_quantile(ordered, 0.25),
        q3=_quantile(ordered, 0.75),
        best=ordered[-1] if best == "max" else ordered[0],
        low=None if rank is None else ordered[rank],
        high=None if rank is None else ordered[-1 - rank],
        dropped=dropped,
        unstable=unstable,
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    # The difference form is exact when both neighbours are equal; a weighted sum is not.
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


_MANY = 1000  # samples from which on the exact sum takes longer than it is worth


def _interval_rank(n: int, outside: float = 0.05) -> int | None:
    """Index r so that [x_r, x_(n-1-r)] covers the median with probability 1 - `outside`."""
    if n > _MANY:
        # The normal approximation with continuity correction, rounded outwards.
        from statistics import NormalDist

        return math.floor((n - 1 + NormalDist().inv_cdf(outside / 2) * math.sqrt(n)) / 2)
    below, tail, rank = 0, 0.0, None
    while below < n // 2:
        tail += math.comb(n, below) / 2**n
        if 2 * tail > outside:
            break
        rank = below
        below += 1
    return rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Enough to find the number again, and to notice when it no longer holds."""

    basis: Basis
    source: str  # a document and page, a command line, a method, or a formula
    as_of: date
    conditions: str = ""  # clocks, power cap, ECC, sparsity, compiler, versions
    confidence: str = ""  # A read in the vendor's document, B transcribed, C third party
    spread: Spread | None = None  # of a measured number
