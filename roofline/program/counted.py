"""What a profiler's counters say of each signature: work and facts, the mean of its launches.

Counters belong to the launches they were taken in; they meet the durations of the same launches
only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from roofline import counters
from roofline.counters import Reading
from roofline.program.columns import is_kind
from roofline.runfile import Run
from roofline.work import Entry, Exactness, Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """One launch of a signature, as its counters saw it on average."""

    executed: Ledger | None = None
    achieved: Ledger | None = None
    facts: Mapping[str, Reading] = field(default_factory=dict)

    @property
    def shape(self) -> str:
        """Grid and block in words; "" where they were not recorded."""
        named = [
            f"{word} {reading.value:.0f}"
            for fact, word in (("grid_size", "grid"), ("block_size", "block"))
            if (reading := self.facts.get(fact)) is not None
        ]
        return ", ".join(named)


def counted(run: Run) -> dict[int, Counted]:
    """By position in Run.signatures; signatures without counters are absent."""
    launches: dict[int, list[dict[str, float]]] = {}
    if not _any(run):
        return {}
    import pyarrow.compute as pc

    alone = pc.and_(is_kind(run.events, ("kernel",)), pc.is_null(run.events["parent"]))
    kernels = run.events.select(["signature", "counters"]).filter(alone)
    for batch in kernels.to_batches():
        named, pairs = (batch.column(at).to_pylist() for at in range(2))
        for signature, counters_of_one in zip(named, pairs, strict=True):
            if counters_of_one:
                launches.setdefault(signature, []).append(dict(counters_of_one))
    return {signature: mean(each) for signature, each in launches.items()}


def mean(launches: Sequence[Mapping[str, float]]) -> Counted:
    """The mean of several launches of one kernel: each counted by itself first."""
    return Counted(
        executed=_mean_ledger([counters.executed(each) for each in launches]),
        achieved=_mean_ledger([counters.achieved(each) for each in launches]),
        facts=_mean_facts([counters.facts(each) for each in launches]),
    )


def _any(run: Run) -> bool:
    return any(len(chunk.values) for chunk in run.events.column("counters").chunks)


def _mean_ledger(ledgers: Sequence[Ledger | None]) -> Ledger | None:
    """Line by line, over the launches that have the count; the others are named."""
    known = [ledger for ledger in ledgers if ledger is not None]
    if not known:
        return None
    if len(ledgers) == 1:
        return known[0]
    lines: dict[tuple[str, str, str | None], list[Entry]] = {}
    for ledger in known:
        for entry in ledger.entries:
            lines.setdefault((entry.resource.name, entry.why, entry.access), []).append(entry)
    unaccounted = [text for ledger in known for text in ledger.unaccounted]
    if len(known) < len(ledgers):
        unaccounted.append(f"{len(ledgers) - len(known)} of {len(ledgers)} launches: not counted")
    return replace(
        known[0],
        entries=tuple(_mean_entry(entries, len(known)) for entries in lines.values()),
        unaccounted=tuple(dict.fromkeys(unaccounted)),
        conventions=tuple(dict.fromkeys(text for x in known for text in x.conventions)),
    )


def _mean_entry(entries: Sequence[Entry], launches: int) -> Entry:
    first, order = entries[0], list(Exactness)
    exactness = max((entry.exactness for entry in entries), key=order.index)
    bounded = exactness is Exactness.BOUNDED
    return replace(
        first,
        amount=round(sum(e.amount for e in entries) / launches),
        exactness=exactness,
        low=round(sum(_or(e.low, e.amount) for e in entries) / launches) if bounded else None,
        high=round(sum(_or(e.high, e.amount) for e in entries) / launches) if bounded else None,
    )


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _mean_facts(each: Sequence[Mapping[str, Reading]]) -> dict[str, Reading]:
    found: dict[str, list[Reading]] = {}
    for facts in each:
        for name, reading in facts.items():
            found.setdefault(name, []).append(reading)
    return {
        name: replace(readings[0], value=sum(r.value for r in readings) / len(readings))
        if len(readings) > 1
        else readings[0]
        for name, readings in found.items()
    }
