"""Timed events -> parts: equal calls of one phase and module, their times together."""

from array import array
from typing import TYPE_CHECKING, Any

from roofline.device import HIERARCHY
from roofline.program.item import Part
from roofline.program.placed import Placed

if TYPE_CHECKING:
    import pyarrow as pa

_KEYS = ["signature", "level", "perhaps", "phase", "module"]


def parts_of(events: "pa.Table", placed: Placed) -> tuple[Part, ...]:
    """The parts of `timing.timed` events, in order of the first of each."""
    import pyarrow as pa

    numbered = events.append_column("first", pa.array(range(events.num_rows), pa.int64()))
    groups = numbered.group_by(_KEYS, use_threads=False).aggregate([
        ("first", "min"), ("first", "count"), ("time_ns", "list"), ("page_faults", "sum"),
    ])  # fmt: skip
    kinds = events["kind"].take(groups["first_min"]).to_pylist()
    keys = zip(*(groups[name].to_pylist() for name in _KEYS), strict=True)
    totals = zip(
        groups["first_count"].to_pylist(), groups["page_faults_sum"].to_pylist(), strict=True
    )
    times = (
        chunk[at].values for chunk in groups["time_ns_list"].chunks for at in range(len(chunk))
    )
    steps = _by_step(events)
    return tuple(
        Part(
            signature=key[0],
            name=placed.signatures[key[0]].name,
            shapes=placed.shapes(key[0]),
            phase=key[3],
            module=key[4],
            kind=kind,
            once=placed.at(key[0], HIERARCHY[key[1]], HIERARCHY[key[2]]),
            calls=calls,
            times_ns=array("q", known.drop_null().to_pylist()),
            step_ns=steps.get(key, {}),
            page_faults=faults,
        )
        for key, kind, (calls, faults), known in zip(keys, kinds, totals, times, strict=True)
    )


def _by_step(events: "pa.Table") -> dict[tuple[Any, ...], dict[int, int]]:
    """Known time of each part in each step."""
    known = events.filter(events["time_ns"].is_valid())
    sums = known.group_by([*_KEYS, "step"], use_threads=False).aggregate([("time_ns", "sum")])
    found: dict[tuple[Any, ...], dict[int, int]] = {}
    for *key, step, ns in zip(*(column.to_pylist() for column in sums.columns), strict=True):
        found.setdefault(tuple(key), {})[step] = ns
    return found
