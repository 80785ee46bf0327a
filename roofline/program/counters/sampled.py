"""Counters sampled while the program ran -> bytes that each call moved, and each step.

They are of the caches, clocks and times of the run itself.  A call's are the sum over what it
caused on the device, and known where all of that was counted; what no call caused stands for
itself.  A signature's are the mean of its calls that are known, wherever in the program they were.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from roofline import counters
from roofline.device import DRAM
from roofline.program.columns import in_steps, is_kind, measured_steps
from roofline.runfile import Run
from roofline.work import Ledger

TOOL = "CUPTI PM sampling, this run"


def of_signatures(run: Run) -> dict[int, Ledger]:
    """Achieved bytes of one call, by position in Run.signatures."""
    owned = _owned(run)
    signatures = run.events["signature"].to_pylist()
    incomplete = {owner for owner, counted in owned if not counted}
    calls = Counter(signatures[owner] for owner in {owner for owner, _ in owned})
    lacking = Counter(signatures[owner] for owner in incomplete)
    sums: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for owner, counted in owned:
        for name, value in _with_bounds(counted) if owner not in incomplete else ():
            sums[signatures[owner]][name] += value
    found = {}
    for signature, summed in sums.items():
        of = calls[signature]
        n = of - lacking[signature]
        said = TOOL if n == of else f"{TOOL}, mean of {n} of {of} calls"
        ledger = _achieved({name: value / n for name, value in summed.items()}, said)
        if ledger is not None:
            found[signature] = ledger
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossed:
    """Bytes that crossed in one step, whatever ran in it: the mean of those that were counted."""

    ledger: Ledger
    # The part of the DRAM bytes that kernels and copies have as their own; the rest crossed in what
    # was too short to be told apart, or between.
    told: float | None


def of_step(run: Run) -> Crossed | None:
    """What crossed in a measured step; None: none was counted."""
    measured = measured_steps(run)
    counted = {at: run.steps[at].counters for at in measured if run.steps[at].counters}
    if not counted:
        return None
    n = len(counted)
    names = next(iter(counted.values()))
    means = {name: sum(step[name] for step in counted.values()) / n for name in names}
    few = f", mean of {n} of {len(measured)} steps" if n < len(measured) else ""
    ledger = _achieved(means, TOOL + few)
    if ledger is None:
        return None
    whole = ledger.demand().get(DRAM)
    own = counters.achieved(_own(run, list(counted)))
    told = own.demand().get(DRAM, 0) / n if own is not None else 0.0
    return Crossed(ledger=ledger, told=told / whole if whole else None)


def _own(run: Run, steps: list[int]) -> dict[str, float]:
    """What everything that ran in `steps` has as its own, together."""
    import pyarrow as pa
    import pyarrow.compute as pc

    inside = pc.is_in(run.events["step"], value_set=pa.array(steps, pa.int32()))
    device = pc.and_(inside, is_kind(run.events, ("kernel", "memcpy")))
    sums: dict[str, float] = defaultdict(float)
    for counted in run.events["counters"].filter(device).to_pylist():
        for name, value in counted:
            sums[name] += value
    return {name: v for name, v in sums.items() if not name.endswith((counters.LOW, counters.HIGH))}


def _owned(run: Run) -> list[tuple[int, list[tuple[str, float]]]]:
    """What ran on the device in measured steps: the row that it counts for, and its counters."""
    import pyarrow as pa
    import pyarrow.compute as pc

    events = run.events
    device = pc.and_(in_steps(run), is_kind(events, ("kernel", "memcpy")))
    rows = pc.indices_nonzero(device).cast(pa.int64())
    parents = events["parent"].take(rows)
    by_call = pc.fill_null(is_kind(events, ("op", "region")).take(parents), False)
    owners = pc.if_else(by_call, parents, rows)
    return [*zip(owners.to_pylist(), events["counters"].take(rows).to_pylist(), strict=True)]


def _with_bounds(counted: Iterable[tuple[str, float]]) -> Iterable[tuple[str, float]]:
    """Bounds beside every counter, its own value where it is exact: sums then have bounds too."""
    held = dict(counted)
    for name, value in held.items():
        yield name, value
        if not name.endswith((counters.LOW, counters.HIGH)):
            yield from (
                (name + bound, value)
                for bound in (counters.LOW, counters.HIGH)
                if name + bound not in held
            )


def _achieved(means: dict[str, float], said: str) -> Ledger | None:
    """The bytes, each line saying how they were counted."""
    ledger = counters.achieved(means)
    if ledger is None:
        return None
    entries = tuple(replace(e, why=f"{said}: {e.why}") for e in ledger.entries)
    return replace(ledger, entries=entries)
