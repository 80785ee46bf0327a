"""The critical path of a traced step on a device: what the step waited for, moment by moment.

Walked backwards from the end of the step: the kernel or copy that ended last, then the one that had
ended last when it began, and so on; between two of them the device waited for the host.  What ran
beside the path on another stream could have been slower without a longer step.  A trace names no
dependencies between streams, so that the path is one of times: what ended last is taken to be what
the next was waiting for.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.program.columns import batches, is_kind, measured_steps
from roofline.program.device.overlap import communicates
from roofline.runfile import Run

if TYPE_CHECKING:
    import pyarrow as pa

_WHAT = ("kernel", "communication", "memcpy")
TOUCHING_NS = 1_000  # assumed: kernels that overlap by less follow each other


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalPath:
    """All measured steps together [s]; the parts of the path add up to their length."""

    kernels_s: float
    communication_s: float
    copies_s: float
    others_s: float  # in which only work of no measured step ran
    waiting_s: float  # for the host to start something
    beside_s: float  # what ran off the path, beside it
    longest: tuple[tuple[str, float], ...]  # names of kernels on it, most time first


def critical_path(run: Run, others_ns: int = 0) -> CriticalPath | None:
    """None where nothing ran on a device, or steps have no length.

    In `others_ns` of what would be waiting the device worked on what belongs to no measured step.
    """
    steps = [i for i in measured_steps(run) if run.steps[i].duration_ns]
    on_path, waiting_ns, beside_ns, some = Counter[int](), 0, 0, False
    for step, work in _by_step(run, steps):
        some |= bool(work.start)
        begin = run.steps[step].start_ns
        waited, beside = _walk(work, begin, begin + run.steps[step].duration_ns, on_path)
        # On a device the recorder's own work on the host may hide behind kernels.
        waiting_ns += max(waited - run.steps[step].bookkeeping_ns, 0)
        beside_ns += beside
    if not some:
        return None
    spent, names = dict.fromkeys(_WHAT, 0), Counter[str]()
    for key, ns in on_path.items():
        signature, what = divmod(key, len(_WHAT))
        spent[_WHAT[what]] += ns
        names[run.signatures[signature].name] += ns
    return CriticalPath(
        kernels_s=spent["kernel"] / 1e9,
        communication_s=spent["communication"] / 1e9,
        copies_s=spent["memcpy"] / 1e9,
        others_s=min(others_ns, waiting_ns) / 1e9,
        waiting_s=max(waiting_ns - others_ns, 0) / 1e9,
        beside_s=beside_ns / 1e9,
        longest=tuple((name, ns / 1e9) for name, ns in names.most_common()),
    )


class _Work:
    """What ran on the device for one step, column by column."""

    def __init__(self) -> None:
        self.end, self.start = array("q"), array("q")
        self.key = array("q")  # signature * len(_WHAT) + position in _WHAT


def _by_step(run: Run, steps: Sequence[int]) -> Iterator[tuple[int, _Work]]:
    """Each of `steps` with its work, in turn; held is only what is not yet whole."""
    left = _counts(run)
    wanted, works = set(steps), dict[int, _Work]()
    for batch in _timed(run, ["signature", "kind", "step", "start_ns", "duration_ns", "parent"]):
        step_of, *columns = _columns(run, batch)
        for step, at, until in _stretches(step_of):
            if step not in wanted:
                continue
            work = works.setdefault(step, _Work())
            for kept, column in zip((work.start, work.end, work.key), columns, strict=True):
                kept.frombytes(column[at:until].cast("B"))
        for step in [step for step, work in works.items() if len(work.start) == left[step]]:
            yield step, works.pop(step)
    yield from ((step, _Work()) for step in steps if not left[step])


def _columns(run: Run, rows: "pa.Table") -> tuple["pa.Array", memoryview, memoryview, memoryview]:
    """Step, start, end and key of some rows, those of one step together in their order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    what = pc.if_else(communicates(run, rows), 1, pc.if_else(is_kind(rows, ("memcpy",)), 2, 0))
    table = pa.table({
        "step": rows["step"],
        "start": rows["start_ns"],
        "end": pc.add(rows["start_ns"], rows["duration_ns"]),
        "key": pc.add(pc.multiply(rows["signature"].cast(pa.int64()), len(_WHAT)), what),
    })  # fmt: skip
    ordered = table.take(pc.array_sort_indices(table["step"])).combine_chunks()
    step, *columns = (column.combine_chunks() for column in ordered.columns)
    start, end, key = (
        memoryview(each.buffers()[1]).cast("q")[each.offset : each.offset + len(each)]
        for each in columns
    )
    return step, start, end, key


def _stretches(steps: "pa.Array") -> Iterator[tuple[int, int, int]]:
    """Each step with the first of its rows and the one after the last."""
    import pyarrow.compute as pc

    runs = pc.run_end_encode(steps)
    at = 0
    for step, until in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield step, at, until
        at = until


def _counts(run: Run) -> Counter[int]:
    """How much there is for each step."""
    found = Counter[int]()
    for batch in _timed(run, ["kind", "step", "duration_ns"]):
        for each in batch["step"].value_counts().to_pylist():
            found[each["values"]] += each["counts"]
    return found


def _timed(run: Run, names: Sequence[str]) -> "Iterator[pa.Table]":
    """What ran on the device for a known time, a part at a time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for _, batch in batches(run.events, names):
        table = pa.Table.from_batches([batch])
        ran = pc.and_(is_kind(table, ("kernel", "memcpy")), table["duration_ns"].is_valid())
        yield table.filter(ran)


def _walk(work: _Work, begin: int, end: int, on_path: Counter[int]) -> tuple[int, int]:
    """Time of nothing, and of work that is not on the path [ns]; what is on it goes to `on_path`,
    by the key of the work.
    """
    waited = _one_by_one(work, begin, end, on_path)
    if waited is not None:
        return waited, 0
    starts, ends, keys = work.start.tolist(), work.end.tolist(), work.key.tolist()
    order = sorted(range(len(ends)), key=starts.__getitem__)
    order.sort(key=ends.__getitem__)
    last = [ends[place] for place in order]
    now, at, waited, beside = end, len(order) - 1, 0, sum(ends) - sum(starts)
    while at >= 0:
        place = order[at]
        start, reached = starts[place], ends[place]
        beside -= reached - start
        reached, start = min(reached, now), max(start, begin)
        waited += now - reached
        if reached > start:
            on_path[keys[place]] += reached - start
        now = start
        # Mostly what ended last before it is the one before it.
        if at and last[at - 1] <= now + TOUCHING_NS:
            at -= 1
        else:
            at = min(bisect_right(last, now + TOUCHING_NS), at) - 1
    return waited + max(now - begin, 0), beside


def _one_by_one(work: _Work, begin: int, end: int, on_path: Counter[int]) -> int | None:
    """The time of nothing where all work is on the path; None where some may run beside other.

    The same as the walk from one to the next, for all of them at once.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    start, ends, keys = (
        pa.Array.from_buffers(pa.int64(), len(column), [None, pa.py_buffer(column)])
        for column in (work.start, work.end, work.key)
    )
    begun = pc.max_element_wise(start, begin)
    follows = (
        pc.less_equal(start[:-1], start[1:]),
        pc.less_equal(ends[:-1], ends[1:]),
        pc.less_equal(ends[:-1], pc.add(begun[1:], TOUCHING_NS)),
    )
    if not len(start) or any(pc.all(each).as_py() is False for each in follows):
        return None
    until = pa.concat_arrays([begun[1:], pa.array([end], pa.int64())])
    reached = pc.min_element_wise(ends, until)
    spent = pa.table({"key": keys, "ns": pc.subtract(reached, begun)})
    for each in (
        spent.filter(pc.field("ns") > 0).group_by("key").aggregate([("ns", "sum")]).to_pylist()
    ):
        on_path[each["key"]] += each["ns_sum"]
    waited = int(pc.sum(pc.subtract(until, reached)).as_py())
    return waited + int(begun[0].as_py()) - begin
