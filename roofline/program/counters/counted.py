"""What a profiler's counters say of each signature: work and facts, the mean of its launches.

Counters belong to the launches they were taken in; they meet the durations of the same launches
only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from roofline import counters
from roofline.counters import Reading
from roofline.program.columns import batches, is_kind
from roofline.program.counters import sampled
from roofline.runfile import Run
from roofline.work import Entry, Exactness, Ledger

if TYPE_CHECKING:
    import pyarrow as pa


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
    if run.recorder.counters:  # sampled while the program ran: of calls too, and with their times
        return {at: Counted(achieved=moved) for at, moved in sampled.of_signatures(run).items()}
    if not any(len(chunk.values) for chunk in run.events["counters"].chunks):
        return {}
    alone = _alone(run.events)
    means = _means(run.events, alone)
    launches: dict[int, list[dict[str, float]]] = {}
    names = dict.fromkeys((name for each in means.values() for name in each), 1.0)
    if counters.executed(names) or counters.achieved(names):
        for kernels in _kernels(run.events, alone):
            for signature, pairs in zip(*(each.to_pylist() for each in kernels), strict=True):
                if pairs:
                    launches.setdefault(signature, []).append(dict(pairs))
    return {
        signature: Counted(
            # A product of means is not the mean of products: each launch is counted by itself.
            executed=_mean_ledger([counters.executed(x) for x in launches.get(signature, ())]),
            achieved=_mean_ledger([counters.achieved(x) for x in launches.get(signature, ())]),
            facts=counters.facts(each),
        )
        for signature, each in means.items()
    }


def _alone(events: "pa.Table") -> "pa.ChunkedArray":
    """Which events are kernels that no operator caused, or regions."""
    import pyarrow.compute as pc

    by_call = is_kind(events, ("op", "region")).take(events["parent"])
    return pc.and_not(is_kind(events, ("kernel", "region")), pc.fill_null(by_call, False))


def _kernels(
    events: "pa.Table", chosen: "pa.ChunkedArray"
) -> "Iterator[tuple[pa.Array, pa.Array]]":
    """Signatures and counters of the chosen events, a part at a time."""
    for at, batch in batches(events, ["signature", "counters"]):
        some = batch.filter(chosen.slice(at, len(batch)).combine_chunks())
        if len(some):
            yield some["signature"], some["counters"]


def _means(events: "pa.Table", chosen: "pa.ChunkedArray") -> dict[int, dict[str, float]]:
    """Every counter's mean over the launches of a signature that have it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: dict[int, dict[str, list[float]]] = {}
    for signatures, held in _kernels(events, chosen):
        # Offsets point into all the pairs of the array that a filtered one may be a part of.
        first, last = held.offsets[0].as_py(), held.offsets[-1].as_py()
        rows = pc.list_parent_indices(pa.ListArray.from_arrays(held.offsets, held.keys))
        single = pa.table({
            "signature": signatures.take(rows),
            "name": held.keys[first:last].dictionary_encode(),
            "value": held.items[first:last],
        })  # fmt: skip
        sums = single.group_by(["signature", "name"]).aggregate([
            ("value", "sum"), ("value", "count"),
        ])  # fmt: skip
        for row in sums.to_pylist():
            total = found.setdefault(row["signature"], {}).setdefault(row["name"], [0.0, 0])
            total[0] += row["value_sum"]
            total[1] += row["value_count"]
    return {
        signature: {name: total / count for name, (total, count) in each.items()}
        for signature, each in found.items()
    }


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
