"""RF107: a program that does one thing over and over on data that a cache holds: a benchmark."""

from collections.abc import Iterator
from dataclasses import dataclass

from roofline.device import DRAM, L2
from roofline.diagnosis.rule import Finding
from roofline.measurement import CacheState
from roofline.program import Item, Program
from roofline.units import number_of, show

MOST = 0.8  # share of busy time from which one repeated call is what the program is about
REPEATS = 3  # calls from which it is repeated
CROSSED = 0.3  # assumed: the first of few calls fetches all of its bytes, the others none


@dataclass(frozen=True, slots=True)
class _Held:
    """Where one call's data was met, how that is known, and what it would take from DRAM."""

    level: str
    why: str
    least_s: float | None


def from_cache(program: Program) -> Iterator[Finding]:
    """RF107: one call, repeated, whose data never leaves a cache."""
    busy_s = program.whole.busy_s
    for item in program.by("call"):
        share = (item.measured_s or 0.0) / item.steps / busy_s if busy_s else 0.0
        if share < MOST or item.calls < REPEATS:
            continue
        held = _by_counters(item, program) or _by_formula(item, program)
        if held is None:
            continue
        once = show((item.measured_s or 0.0) / item.calls, "s")
        yield Finding(
            code="RF107",
            item=item.name,
            claim=(
                f"{item.name} ran {number_of(item.calls, 'time')} on data that stays in the "
                f"{held.level}: its {once} say nothing of memory"
            ),
            evidence=(
                held.why,
                *(
                    (f"from dram the same bytes take {show(held.least_s, 's')} at least",)
                    if held.least_s is not None
                    else ()
                ),
            ),
            next_step=(
                "to time it as a program meets it, let several sets of operands take turns, "
                "together some times what the cache holds, or empty the cache between calls; if "
                "the program finds its data there too, this is its time"
            ),
            saves_s=0.0,
            wrong_if="with operands that take turns it takes as long",
        )


def _by_counters(item: Item, program: Program) -> _Held | None:
    """Every byte asked of the L2, however often, fits into it, and few crossed DRAM.

    A profiler that runs a launch several times without emptying the caches makes this itself.
    """
    seen, recorder = item.placement.work.achieved, program.recorder
    if seen is None or recorder is None or recorder.cache is CacheState.FLUSHED:
        return None
    both = [seen.crossed(at) for at in (L2, DRAM)]
    if None in both or not both[0]:
        return None
    asked, crossed = ((amount or 0) / item.calls for amount in both)
    if crossed > CROSSED * asked:
        return None
    if program.roof.innermost(round(asked)) == DRAM:
        return None
    passes = program.facts.get(item.signatures[0], {}).get("replay_passes")
    if passes is not None and passes.value > 1:
        return None
    ceiling = program.roof.ceiling(DRAM, seen.read_share(L2))
    return _Held(
        L2.name,
        f"of {show(asked, 'B')} asked of the l2 a launch, {show(crossed, 'B')} crossed dram",
        None if ceiling is None else asked / ceiling.rate,
    )


def _by_formula(item: Item, program: Program) -> _Held | None:
    """Its footprint fits into a cache that was measured, and was met there."""
    ledger = item.ledger
    if ledger is None or not ledger.entries or item.placed_at == DRAM:
        return None
    if len(item.crossed) != 1 or ledger.footprint is None:
        return None
    moved = sum(e.amount for e in ledger.entries if e.resource == item.placed_at) / item.calls
    ceiling = program.roof.ceiling(DRAM, ledger.read_share(item.placed_at))
    return _Held(
        item.placed_at.name,
        f"its {show(ledger.footprint, 'B')} fit into the {item.placed_at.name}, and the calls take "
        "most of the time there is",
        None if ceiling is None else moved / ceiling.rate,
    )
