"""Which events of a run count, how long each took, and how busy the device was.

Columns throughout: a run can hold millions of events.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from roofline.kept import Kept, column
from roofline.program.boundary.levels import levels
from roofline.program.columns import batches, in_steps, is_kind, total_ns, union_ns
from roofline.program.device.host import one_by_one
from roofline.program.placed import Placed
from roofline.runfile import Run

if TYPE_CHECKING:
    import pyarrow as pa

_CALLS = ("op", "region")
_ON_DEVICE = ("kernel", "memcpy")
_ALL = "events"
_UNKNOWN = -1


def timed(run: Run, placed: Placed, *, by_time: bool = True) -> "pa.Table":
    """The events of measured steps that stand for themselves, in order.

    Columns: row (position in Run.events), signature, level (position in device.HIERARCHY of the
    boundary that its data crossed), perhaps (the same of the boundary that it may have crossed
    instead, where the recording leaves it open), kind, step, phase, module, page_faults, time_ns,
    starts (of a call on a CPU itself; else what it started on the device, one by one).
    Where anything ran on a device, an operator takes the time of what it caused there (nothing is a
    known zero: it was a view); what no operator caused stands for itself.  With `by_time` a level
    that a call's mean time rules out is not left open.
    """
    table = _standing(run)
    near, far = levels(run, placed, table, means_s(table) if by_time else {})
    return table.append_column("level", near).append_column("perhaps", far)


def _standing(run: Run) -> "pa.Table":
    """The events that stand for themselves, in columns that need no memory where they are many."""
    import pyarrow as pa
    import pyarrow.compute as pc

    events = run.events
    calls, device = is_kind(events, _CALLS), is_kind(events, _ON_DEVICE)
    caused = pc.and_(device, pc.fill_null(calls.take(events["parent"]), False))
    chosen = pc.and_(pc.or_(calls, pc.and_not(device, caused)), in_steps(run))
    total = starts = None
    if pc.any(device).as_py():
        total, starts = _caused_ns(events, caused), _starts(run, caused)
    kept, names = Kept(), ("signature", "kind", "step", "phase", "module", "page_faults")
    schema = events.schema
    kept.add(_ALL, pa.schema([
        *((name, pa.int64()) for name in ("row", "time_ns", "starts")),
        *(schema.field(name) for name in names),
    ]).empty_table())  # fmt: skip
    for at, batch in batches(events, [*names, "duration_ns"]):
        rows = pc.indices_nonzero(chosen.slice(at, len(batch)))
        times = batch["duration_ns"]
        if total is not None:
            on_device = device.slice(at, len(batch)).combine_chunks()
            times = pc.if_else(on_device, times, _known(total[at : at + len(batch)]))
        here = None if starts is None else starts[at : at + len(batch)]
        kept.add(_ALL, pa.table({
            "row": pc.add(rows.cast(pa.int64()), at), "time_ns": times.take(rows),
            "starts": pa.array([1] * len(rows), pa.int64()) if here is None
            else _whole(here).take(rows),
            **{name: batch[name].take(rows) for name in names},
        }))  # fmt: skip
    return kept.take(_ALL)


def means_s(events: "pa.Table") -> dict[int, float]:
    """Mean time of a call by signature, of `timed` events whose time is known and not zero."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sums: dict[int, list[int]] = {}
    for _, batch in batches(events, ["signature", "time_ns"]):
        known = pa.table(batch.filter(pc.greater(batch["time_ns"], 0)))
        by = known.group_by("signature").aggregate([("time_ns", "sum"), ("time_ns", "count")])
        for signature, ns, count in zip(*(each.to_pylist() for each in by.columns), strict=True):
            total = sums.setdefault(signature, [0, 0])
            total[0] += ns
            total[1] += count
    return {signature: ns / count / 1e9 for signature, (ns, count) in sums.items()}


def times_s(events: "pa.Table", signatures: Sequence[int]) -> dict[int, Counter[float]]:
    """How many calls of some signatures took which time, of `timed` events; 0 is not known."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: dict[int, Counter[float]] = {}
    if not signatures:
        return found
    wanted = pa.array(signatures, events.schema.field("signature").type)
    for _, batch in batches(events, ["signature", "time_ns"]):
        here = pc.is_in(batch["signature"], value_set=wanted)
        some = pa.table(batch.filter(pc.and_(here, pc.greater(batch["time_ns"], 0))))
        by = some.group_by(["signature", "time_ns"]).aggregate([([], "count_all")])
        for signature, ns, count in zip(*(each.to_pylist() for each in by.columns), strict=True):
            found.setdefault(signature, Counter())[ns / 1e9] += count
    return found


def busy_ns(run: Run) -> int | None:
    """Time covered by at least one event of a measured step: of the device where there are any."""
    import pyarrow.compute as pc

    events = run.events
    device = pc.and_(in_steps(run), is_kind(events, _ON_DEVICE))
    chosen = device if pc.any(device).as_py() else pc.and_(in_steps(run), is_kind(events, _CALLS))
    known = pc.and_(chosen, events["duration_ns"].is_valid())
    return union_ns(events, chosen) if pc.any(known).as_py() else None


def others_ns(run: Run) -> int:
    """Time within measured steps that only work of no measured step covers.

    Kernels from before the recording or from the warm-up keep a device busy as well as its own do.
    On a CPU the first calls of a run of one step are not among it: they were taken out of the
    step's length.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    events, ours = run.events, in_steps(run)
    device = is_kind(events, _ON_DEVICE)
    chosen = device
    if not pc.any(pc.and_(ours, device)).as_py():
        first_calls = pc.is_in(events["step"], pa.array(_taken_out(run), events["step"].type))
        chosen = pc.and_not(is_kind(events, _CALLS), first_calls)
    own = pc.and_(chosen, ours)
    if pc.all(pc.or_(ours, pc.invert(chosen))).as_py() is not False:
        return 0
    # The part of any intervals that lies within the steps is theirs and the steps' together, less
    # what either covers beside the other.
    steps = [step for step in run.steps if not step.warmup]
    window = pa.table({
        "start_ns": pa.array([step.start_ns for step in steps], pa.int64()),
        "duration_ns": pa.array([step.duration_ns for step in steps], pa.int64()),
    })  # fmt: skip
    both = pa.concat_tables([window, events.select(["start_ns", "duration_ns"])])
    within = pa.array([True] * len(steps))

    def beyond(some: "pa.ChunkedArray") -> int:
        """Time of what is chosen outside of every step."""
        beside = pa.chunked_array([within, *some.chunks])
        nothing = pa.chunked_array([within, pa.nulls(len(some), pa.bool_()).fill_null(False)])
        return union_ns(both, beside) - union_ns(both, nothing)

    busy, with_others = union_ns(events, own), union_ns(events, chosen)
    return (with_others - beyond(chosen)) - (busy - beyond(own))


def _taken_out(run: Run) -> list[int]:
    """Steps of warm-up that begin with a measured one: their time is out of its length."""
    begun = {step.start_ns for step in run.steps if not step.warmup}
    return [at for at, s in enumerate(run.steps) if s.warmup and s.start_ns in begun]


def outside_ns(run: Run) -> int:
    """Known time of what belongs to no step: of the device where anything ran on one."""
    import pyarrow.compute as pc

    events = run.events
    device = is_kind(events, _ON_DEVICE)
    chosen = device if pc.any(device).as_py() else is_kind(events, _CALLS)
    return total_ns(events, pc.and_(chosen, pc.less(events["step"], 0)))


def _caused_ns(events: "pa.Table", caused: "pa.ChunkedArray") -> memoryview:
    """Per row of the run, the time of what it caused; _UNKNOWN where part of it is not known."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total = column(events.num_rows)
    for at, batch in batches(events, ["parent", "duration_ns"]):
        ours = pa.table(batch.filter(caused.slice(at, len(batch)).combine_chunks()))
        sums = ours.group_by("parent").aggregate(
            [("duration_ns", "sum", pc.ScalarAggregateOptions(skip_nulls=False))]
        )
        for parent, ns in zip(*(each.to_pylist() for each in sums.columns), strict=True):
            if ns is None or total[parent] == _UNKNOWN:
                total[parent] = _UNKNOWN
            else:
                total[parent] += ns
    return total


def _starts(run: Run, caused: "pa.ChunkedArray") -> memoryview:
    """Per row of the run, what it started on the device; what no call caused is its own start."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total, started = column(run.events.num_rows), one_by_one(run)
    for at, batch in batches(run.events, ["parent"]):
        here, own = (each.slice(at, len(batch)).combine_chunks() for each in (started, caused))
        ours = pa.table(batch.filter(pc.and_(here, own)))
        sums = ours.group_by("parent").aggregate([([], "count_all")])
        for parent, count in zip(*(each.to_pylist() for each in sums.columns), strict=True):
            total[parent] += count
        for row in pc.indices_nonzero(pc.and_not(here, own)).to_pylist():
            total[at + row] += 1
    return total


def _whole(numbers: memoryview) -> "pa.Array":
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def _known(times: memoryview) -> "pa.Array":
    """A column of times, null where they are not known."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = _whole(times)
    return pc.if_else(pc.equal(whole, _UNKNOWN), pa.scalar(None, pa.int64()), whole)
