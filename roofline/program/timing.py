"""Which events of a run count, how long each took, and how busy the device was.

Columns throughout: a run can hold millions of events.
"""

from array import array
from typing import TYPE_CHECKING

from roofline.program.columns import in_steps, is_kind, union_ns
from roofline.program.levels import levels
from roofline.program.placed import Placed
from roofline.runfile import Run

if TYPE_CHECKING:
    import pyarrow as pa

_CALLS = ("op", "region")
_ON_DEVICE = ("kernel", "memcpy")
_BATCH = 65_536  # rows that are looked at together


def timed(run: Run, placed: Placed, *, by_time: bool = True) -> "pa.Table":
    """The events of measured steps that stand for themselves, in order.

    Columns: row (position in Run.events), signature, level (position in device.HIERARCHY of the
    boundary that its data crossed), perhaps (the same of the boundary that it may have crossed
    instead, where the recording leaves it open), kind, step, phase, module, page_faults, time_ns.
    Where anything ran on a device, an operator takes the time of what it caused there (nothing is a
    known zero: it was a view); what no operator caused stands for itself.  With `by_time` a level
    that a call's mean time rules out is not left open.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    events = run.events
    calls, device = is_kind(events, _CALLS), is_kind(events, _ON_DEVICE)
    caused = pc.and_(device, pc.fill_null(calls.take(events["parent"]), False))
    stands = pc.or_(calls, pc.and_not(device, caused))
    rows = pc.indices_nonzero(pc.and_(stands, in_steps(run))).cast(pa.int64())
    times = events["duration_ns"].take(rows)
    if pc.any(device).as_py():
        total = _caused_ns(events.filter(caused), events.num_rows).take(rows)
        times = pc.if_else(device.take(rows), times, total)
    names = ("signature", "kind", "step", "phase", "module", "page_faults")
    columns = {name: events[name].take(rows) for name in names}
    table = pa.table({"row": rows, "time_ns": times, **columns})
    near, far = levels(run, placed, table, means_s(table) if by_time else {})
    return table.append_column("level", near).append_column("perhaps", far)


def means_s(events: "pa.Table") -> dict[int, float]:
    """Mean time of a call by signature, of `timed` events whose time is known and not zero."""
    import pyarrow.compute as pc

    known = events.filter(pc.greater(events["time_ns"], 0)).group_by("signature")
    means = known.aggregate([("time_ns", "mean")])
    pairs = zip(means["signature"].to_pylist(), means["time_ns_mean"].to_pylist(), strict=True)
    return {signature: ns / 1e9 for signature, ns in pairs}


def busy_ns(run: Run) -> int | None:
    """Time covered by at least one event of a measured step: of the device where there are any."""
    import pyarrow.compute as pc

    events = run.events
    known = pc.and_(in_steps(run), pc.is_valid(events["duration_ns"]))
    device = pc.and_(known, is_kind(events, _ON_DEVICE))
    chosen = device if pc.any(device).as_py() else pc.and_(known, is_kind(events, _CALLS))
    events = events.select(["start_ns", "duration_ns"]).filter(chosen)
    if not events.num_rows:
        return None
    return union_ns(events["start_ns"], pc.add(events["start_ns"], events["duration_ns"]))


def outside_ns(run: Run) -> int:
    """Known time of what belongs to no step: of the device where anything ran on one."""
    import pyarrow.compute as pc

    events = run.events
    device = is_kind(events, _ON_DEVICE)
    chosen = device if pc.any(device).as_py() else is_kind(events, _CALLS)
    left = events["duration_ns"].filter(pc.and_(chosen, pc.less(events["step"], 0)))
    return int(pc.sum(left).as_py() or 0)


def _caused_ns(caused: "pa.Table", count: int) -> "pa.Array":
    """Per row of the run, the time of what it caused; null where a part of that is not known."""
    import pyarrow as pa
    import pyarrow.compute as pc

    by_cause = caused.select(["parent", "duration_ns"]).group_by("parent")
    sums = by_cause.aggregate([("duration_ns", "sum", pc.ScalarAggregateOptions(skip_nulls=False))])
    total, unknown = array("q", bytes(8 * count)), array("b", bytes(count))
    names = ["parent", "duration_ns_sum"]
    for batch in sums.select(names).to_batches(max_chunksize=_BATCH):
        for parent, ns in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if ns is None:
                unknown[parent] = 1
            else:
                total[parent] = ns
    return pa.array(total, pa.int64(), mask=pa.array(unknown, pa.int8()).cast(pa.bool_()))
