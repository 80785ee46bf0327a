"""The boundary that the data of each call crossed: as memory was recorded, or within bounds."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import tee
from typing import TYPE_CHECKING

from roofline.device import HIERARCHY
from roofline.placement import ABOVE
from roofline.program.boundary.residency import reaches
from roofline.program.boundary.unnamed import OPEN, Range, ranges
from roofline.program.columns import batches, storages
from roofline.program.placed import Placed
from roofline.runfile import Run

if TYPE_CHECKING:
    import pyarrow as pa

Between = Callable[[int, Range], tuple[int, int]]  # signature and reach -> near, far

_DEPTH = {boundary: at for at, boundary in enumerate(HIERARCHY)}


def levels(
    run: Run, placed: Placed, events: "pa.Table", means_s: Mapping[int, float]
) -> tuple["pa.Array", "pa.Array"]:
    """For each of `events` the nearest and the farthest boundary that its data may have crossed.

    Positions in HIERARCHY; equal where the recording leaves nothing open.  `events` have the
    columns row, signature and step; `means_s` are seconds of a call by signature.
    """
    import pyarrow as pa

    signatures = events["signature"]
    if not placed.warm:
        each = pa.array([_DEPTH[placed.level(at, None)] for at in range(len(placed.signatures))])
        known = each.cast(pa.int8()).take(signatures)
        return known, known

    @cache
    def between(signature: int, reach: Range) -> tuple[int, int]:
        return _between(placed, signature, reach, means_s.get(signature))

    if not storages(run):
        return _bounded(placed, events, between)
    found = _recorded(run, placed, events)
    return _columns(map(between, signatures.to_pylist(), found))


def _between(placed: Placed, signature: int, reach: Range, mean_s: float | None) -> tuple[int, int]:
    """The levels of one reach; the farther one is not possible where it would be above its roof."""
    near, far = (placed.level(signature, side) for side in reach)
    least_s = placed.at(signature, far).roof_s if far != near else None
    if mean_s is not None and least_s is not None and least_s > ABOVE * mean_s:
        far = near
    return _DEPTH[near], _DEPTH[far]


def _recorded(run: Run, placed: Placed, events: "pa.Table") -> list[Range]:
    """As the recorder saw which memory each call used."""
    calls = [None if placed.free(at) else s.call for at, s in enumerate(placed.signatures)]
    named, reads, writes = (
        run.events[name].to_pylist() for name in ("signature", "reads", "writes")
    )
    each = [*reaches(zip(named, reads, writes, strict=True), calls)]
    return [Range(each[row], each[row]) for row in events["row"].to_pylist()]


def _bounded(placed: Placed, events: "pa.Table", between: Between) -> tuple["pa.Array", "pa.Array"]:
    """As shapes alone allow: once for steps that are alike."""
    import pyarrow as pa
    import pyarrow.compute as pc

    free = [placed.free(at) or s.call is None for at, s in enumerate(placed.signatures)]
    busy = pa.array([not each for each in free], pa.bool_()).take(events["signature"])
    unfollowed = _columns(between(at, OPEN) if each else (0, 0) for at, each in enumerate(free))
    caches = {c.capacity for c in placed.roof.ceilings if c.resource in HIERARCHY and c.capacity}
    before: Sequence[Range] | None = None
    step: list[tuple[int, int]] = []
    followed: list[pa.Array] = []
    calls, again = tee(_steps(events, busy))
    for signatures, found in zip(again, ranges(calls, placed.signatures, caches), strict=True):
        if found is not before:
            before, step = found, list(map(between, signatures, found))
            columns = _columns(step)
        followed.append(columns)
    near, far = (
        pc.replace_with_mask(
            own.take(events["signature"]).combine_chunks(),
            busy.combine_chunks(),
            pa.concat_arrays([pa.array([], pa.int8()), *(each[side] for each in followed)]),
        )
        for side, own in enumerate(unfollowed)
    )
    return near, far


def _steps(events: "pa.Table", chosen: "pa.ChunkedArray") -> Iterator[Sequence[int]]:
    """The signatures of the `chosen` events, step by step."""
    import pyarrow.compute as pc

    calls, current = array("i"), None
    for at, batch in batches(events, ["signature", "step"]):
        some = batch.filter(chosen.slice(at, len(batch)).combine_chunks())
        signatures, begin = some["signature"].to_pylist(), 0
        runs = pc.run_end_encode(some["step"])
        for step, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            if step != current and calls:
                yield calls
                calls = array("i")
            current = step
            calls.extend(signatures[begin:end])
            begin = end
    if calls:
        yield calls


def _columns(levels: Iterable[tuple[int, int]]) -> tuple["pa.Array", "pa.Array"]:
    """Pairs of positions as two columns."""
    import pyarrow as pa

    pairs = [*levels]
    near, far = (pa.array(bytes(pair[side] for pair in pairs), pa.int8()) for side in (0, 1))
    return near, far
