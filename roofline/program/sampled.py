"""Counters sampled while the program ran -> bytes that each call moved, and each step.

They are of the caches, clocks and times of the run itself.  A call's are the sum over what it
caused on the device, and known where all of that was counted; what no call caused stands for
itself.  A signature's are the mean of its calls that are known, wherever in the program they were.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

from roofline import counters
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


def of_step(run: Run) -> Ledger | None:
    """Achieved bytes of one measured step, the mean of those that were counted; None: none was."""
    steps = [run.steps[at] for at in measured_steps(run)]
    counted = [step.counters for step in steps if step.counters]
    if not counted:
        return None
    n = len(counted)
    means = {name: sum(step[name] for step in counted) / n for name in counted[0]}
    few = n < len(steps)
    return _achieved(means, f"{TOOL}, mean of {n} of {len(steps)} steps" if few else TOOL)


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
