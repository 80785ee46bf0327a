"""The boundary that the data of each call crossed: as memory was recorded, or within bounds."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from roofline.device import HIERARCHY
from roofline.placement import ABOVE
from roofline.program.columns import batches, storages
from roofline.program.placed import Placed
from roofline.program.residency import reaches
from roofline.program.unnamed import OPEN, Range, ranges
from roofline.runfile import Run

if TYPE_CHECKING:
    import pyarrow as pa

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
    found = _recorded(run, placed, events) if storages(run) else _bounded(placed, events)
    known_at: dict[tuple[int, Range], tuple[int, int]] = {}
    near, far = bytearray(len(signatures)), bytearray(len(signatures))
    for row, ((at, _), reach) in enumerate(zip(_calls(events), found, strict=True)):
        if (at, reach) not in known_at:
            known_at[at, reach] = _between(placed, at, reach, means_s.get(at))
        near[row], far[row] = known_at[at, reach]
    one, other = (
        pa.Array.from_buffers(pa.int8(), len(side), [None, pa.py_buffer(side)])
        for side in (near, far)
    )
    return one, other


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


def _bounded(placed: Placed, events: "pa.Table") -> Iterator[Range]:
    """As shapes alone allow."""
    free = [placed.free(at) or s.call is None for at, s in enumerate(placed.signatures)]
    caches = {c.capacity for c in placed.roof.ceilings if c.resource in HIERARCHY and c.capacity}
    busy = (call for call in _calls(events) if not free[call[0]])
    found = ranges(busy, placed.signatures, caches)
    return (OPEN if free[signature] else next(found) for signature, _ in _calls(events))


def _calls(events: "pa.Table") -> Iterator[tuple[int, int]]:
    """Signature and step of each of `events`."""
    for _, batch in batches(events, ["signature", "step"]):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
