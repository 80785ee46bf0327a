"""The shape of a finding.  A rule is a function from a program to the findings it supports."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One claim, the numbers behind it, the next thing to try, and what would refute it."""

    code: str  # "RF101"; its page is docs/findings/RF101.md
    item: str  # the line it speaks of; "" is the whole program or several lines
    claim: str
    evidence: tuple[str, ...]
    next_step: str
    wrong_if: str  # the observation that would refute the claim
    saves_s: float | None = None  # a step, at most; None is not known
    now_s: float | None = None  # a step's measured time of what the advice would change
    then_s: tuple[float, float] | None = None  # the same afterwards, least and most, by the model
    items: tuple[str, ...] = ()  # the lines, where it speaks of several
    # What of the evidence holds measured times: lines, or parts of them.
    timed: tuple[str, ...] = ()
    # Of a sanity finding: a step's measured time that it puts in doubt.
    doubt_s: float | None = None
