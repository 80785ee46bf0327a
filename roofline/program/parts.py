"""Timed events -> parts: equal calls of one phase and module, their times together."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from roofline.device import HIERARCHY
from roofline.kept import column
from roofline.program.columns import batches
from roofline.program.item import Part
from roofline.program.placed import Placed

if TYPE_CHECKING:
    import pyarrow as pa

_KEYS = ["signature", "level", "perhaps", "phase", "module"]


@dataclass(slots=True)
class _Group:
    """What becomes a part."""

    kind: str
    calls: int = 0
    starts: int = 0
    timed: int = 0  # calls whose time is known
    page_faults: int | None = None
    step_ns: dict[int, int] = field(default_factory=dict)
    times: memoryview = field(default_factory=lambda: memoryview(b""))
    written: int = 0  # of `times`


def parts_of(events: "pa.Table", placed: Placed) -> tuple[Part, ...]:
    """The parts of `timing.timed` events, in order of the first of each."""
    groups = _groups(events)
    times, at = column(sum(group.timed for group in groups.values())), 0
    for group in groups.values():
        group.times = times[at : at + group.timed]
        at += group.timed
    _write(events, groups)
    return tuple(
        Part(
            signature=key[0],
            name=placed.signatures[key[0]].name,
            shapes=placed.shapes(key[0]),
            phase=key[3],
            module=key[4],
            kind=group.kind,
            once=placed.at(key[0], HIERARCHY[key[1]], HIERARCHY[key[2]]),
            calls=group.calls,
            starts=group.starts,
            times_ns=group.times,
            step_ns=group.step_ns,
            page_faults=group.page_faults,
        )
        for key, group in groups.items()
    )


def _groups(events: "pa.Table") -> dict[tuple[Any, ...], _Group]:
    """Everything of each part but the times of its calls one by one."""
    found: dict[tuple[Any, ...], _Group] = {}
    names = [*_KEYS, "step", "kind", "page_faults", "time_ns", "starts"]
    for _, batch in batches(events, names):
        keys = [*_KEYS, "step", "kind"]
        sums = _table(batch).group_by(keys, use_threads=False).aggregate([
            ([], "count_all"), ("time_ns", "count"), ("time_ns", "sum"), ("page_faults", "sum"),
            ("starts", "sum"),
        ])  # fmt: skip
        columns = (
            *keys,
            "count_all",
            "time_ns_count",
            "time_ns_sum",
            "page_faults_sum",
            "starts_sum",
        )
        rows = zip(*(sums[name].to_pylist() for name in columns), strict=True)
        for *key, step, kind, calls, timed, ns, faults, starts in rows:
            group = found.setdefault(tuple(key), _Group(kind))
            group.calls += calls
            group.starts += starts
            group.timed += timed
            if timed:
                group.step_ns[step] = group.step_ns.get(step, 0) + ns
            if faults is not None:
                group.page_faults = (group.page_faults or 0) + faults
    return found


def _write(events: "pa.Table", groups: dict[tuple[Any, ...], _Group]) -> None:
    """The known times of each part, in order."""
    for _, batch in batches(events, [*_KEYS, "time_ns"]):
        known = _table(batch.filter(batch["time_ns"].is_valid()))
        lists = known.group_by(_KEYS, use_threads=False).aggregate([("time_ns", "list")])
        keys = zip(*(lists[name].to_pylist() for name in _KEYS), strict=True)
        each = (
            chunk[i].values for chunk in lists["time_ns_list"].chunks for i in range(len(chunk))
        )
        for key, values in zip(keys, each, strict=True):
            group, octets = groups[key], memoryview(values.buffers()[1])
            own = octets.cast("q")[values.offset : values.offset + len(values)]
            group.times[group.written : group.written + len(own)] = own
            group.written += len(own)


def _table(batch: "pa.RecordBatch") -> "pa.Table":
    import pyarrow as pa

    return pa.Table.from_batches([batch])
