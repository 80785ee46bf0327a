"""Neighbouring operators that pass over the same data: what one fused kernel could save at most.

A chain is of one run of consecutive calls that stream over their data (pointwise, reductions,
normalisations, copies): those where every call reads something that an earlier one of the chain
wrote, or writes something that a later one reads with it.  A call of the run that shares nothing
with them is no part of it.
Free calls (views) do not break a run; everything else does, what is unaccounted included.
"""

import itertools
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from roofline import ops
from roofline.device import HIERARCHY
from roofline.program.boundary.following import by_size, by_storage
from roofline.program.boundary.residency import read
from roofline.program.chains.chain import NEAR, Alike, Chain, Link, build
from roofline.program.chains.connected import connected
from roofline.program.columns import storages, values
from roofline.program.placed import Placed
from roofline.runfile import Run

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NEAR", "Chain", "chains"]

_BATCH = 65_536  # events that are looked at together


class Row(NamedTuple):
    """One event of a run of streaming calls."""

    row: int
    signature: int
    level: int  # position in HIERARCHY
    step: int
    phase: str
    module: str
    time_ns: int | None
    reads: Sequence[int]
    writes: Sequence[int]


def chains(run: Run, events: "pa.Table", placed: Placed) -> tuple[Chain, ...]:
    """Every chain of two calls or more, equal ones together, most bytes saved first.

    `events` are those of `timing.timed`.  Live recordings say which memory each call used; in
    others data is followed by the size of tensors, and the chain says so.
    """
    recorded = storages(run)
    last_read: dict[int, int] = {}
    known: dict[tuple[tuple[int, int], ...], Sequence[Link]] = {}
    found: dict[tuple[object, ...], Alike] = {}
    runs = _streaming(_rows(run, events, placed, recorded, last_read), placed)
    for calls in runs if recorded else itertools.chain.from_iterable(map(_repeats, runs)):
        pattern = tuple((call.signature, call.level) for call in calls)
        if recorded:
            links = _linked(calls, placed, recorded)
        elif (links := known.get(pattern, ())) == ():
            links = known[pattern] = _linked(calls, placed, recorded)
        for chosen in connected(links, [call.phase for call in calls], follow=recorded):
            own = [calls[at] for at in chosen]
            phase = own[0].phase
            module = reduce(_around, (call.module for call in own))
            key = (tuple(call.signature for call in own), phase)
            if key not in found:
                found[key] = Alike([links[at] for at in chosen], module=module, phase=phase)
            alike = found[key]
            alike.module = _around(alike.module, module)
            alike.add([call.time_ns for call in own])
    made = [build(placed, alike, last_read if recorded else None) for alike in found.values()]
    return tuple(sorted(made, key=lambda c: (c.moved - c.least) * c.count, reverse=True))


def _around(one: str, other: str) -> str:
    """The innermost module around both; of two layers any: h.0.mlp and h.1.mlp are h.*.mlp."""
    if one == other:
        return one
    shared: list[str] = []
    for mine, its in zip(one.split("."), other.split("."), strict=False):
        if mine != its and not (_layer(mine) and _layer(its)):
            break
        shared.append(mine if mine == its else "*")
    return ".".join(shared)


def _layer(name: str) -> bool:
    return name == "*" or name.isdigit()


def _rows(
    run: Run, events: "pa.Table", placed: Placed, recorded: bool, last_read: dict[int, int]
) -> Iterator[Row]:
    """Every event, noting on the way which row reads a storage last."""
    names = ["row", "signature", "level", "step", "phase", "module", "time_ns"]
    memory = run.events.select(["reads", "writes"])
    for batch in events.select(names).to_batches(max_chunksize=_BATCH):
        if not recorded:
            some = _neighbours(batch, placed)
            nothing = [()] * some.num_rows
            yield from map(Row, *map(values, some.columns), nothing, nothing)
            continue
        columns = [values(column) for column in batch.columns]
        used = memory.take(batch.column("row"))
        for row in map(Row, *columns, used["reads"].to_pylist(), used["writes"].to_pylist()):
            call = placed.signatures[row.signature].call
            given = row.reads or ()
            for storage in given if call is None else read(call, given, row.writes or ()):
                last_read[storage] = row.row
            yield row


def _neighbours(batch: "pa.RecordBatch", placed: Placed) -> "pa.RecordBatch":
    """Without views, without what streams alone among others, and of those only the first.

    What stands before and after the batch may stream.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    free = [placed.free(at) for at in range(len(placed.signatures))]
    batch = batch.filter(pc.invert(pa.array(free, pa.bool_()).take(batch["signature"])))
    streams = pa.array([s.name in ops.STREAMING for s in placed.signatures], pa.bool_())
    unknown = pa.array([True])

    def before(rows: "pa.Array") -> "pa.Array":
        return pa.concat_arrays([unknown, rows])[:-1]

    own = streams.take(batch["signature"])
    beside = pc.or_(before(own), pa.concat_arrays([own, unknown])[1:])
    batch = batch.filter(pc.or_(pc.invert(own), beside))
    own = streams.take(batch["signature"])
    return batch.filter(pc.or_(own, before(own)))


def _streaming(rows: Iterator[Row], placed: Placed) -> Iterator[Sequence[Row]]:
    """Longest runs of consecutive streaming calls within one step, views left out."""
    free = [placed.free(at) for at in range(len(placed.signatures))]
    streams = [signature.name in ops.STREAMING for signature in placed.signatures]
    group: list[Row] = []
    for row in rows:
        if free[row.signature]:
            continue
        if group and not (streams[row.signature] and row.step == group[0].step):
            if len(group) > 1:
                yield group
            group = []
        if streams[row.signature]:
            group.append(row)
    if len(group) > 1:
        yield group


def _repeats(calls: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """The repetitions that a run of calls consists of, where it does.

    By size alone the second repetition would seem to read the results of the first.
    """
    pattern = [call.signature for call in calls]
    count = len(calls)
    lengths = (n for n in range(2, count // 2 + 1) if count % n == 0)
    period = next((n for n in lengths if pattern == pattern[:n] * (count // n)), count)
    for start in range(0, count, period):
        yield calls[start : start + period]


def _linked(calls: Sequence[Row], placed: Placed, recorded: bool) -> Sequence[Link]:
    """The calls with the memory that each read and wrote."""
    signatures = [placed.signatures[call.signature] for call in calls]
    if recorded:
        memory = [by_storage(s, c.reads, c.writes) for s, c in zip(signatures, calls, strict=True)]
    else:
        memory = list(by_size(signatures))
    return [
        Link(call.row, call.signature, HIERARCHY[call.level], reads, writes)
        for call, (reads, writes) in zip(calls, memory, strict=True)
    ]
