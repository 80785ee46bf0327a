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
from roofline.program.overlap import communicates
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
    waiting_s: float  # for the host to start something
    beside_s: float  # what ran off the path, beside it
    longest: tuple[tuple[str, float], ...]  # names of kernels on it, most time first


def critical_path(run: Run) -> CriticalPath | None:
    """None where nothing ran on a device, or steps have no length."""
    steps = [i for i in measured_steps(run) if run.steps[i].duration_ns]
    spent, beside_ns, names, some = dict.fromkeys((*_WHAT, "waiting"), 0), 0, Counter[str](), False
    for step, work in _by_step(run, steps):
        some |= bool(work.start)
        begin = run.steps[step].start_ns
        waited, path = _walk(work, begin, begin + run.steps[step].duration_ns)
        # On a device the recorder's own work on the host may hide behind kernels.
        spent["waiting"] += max(waited - run.steps[step].bookkeeping_ns, 0)
        beside_ns += sum(work.end) - sum(work.start)
        for ns, at in path:
            beside_ns -= work.end[at] - work.start[at]
            spent[_WHAT[work.what[at]]] += ns
            names[run.signatures[work.signature[at]].name] += ns
    if not some:
        return None
    return CriticalPath(
        kernels_s=spent["kernel"] / 1e9,
        communication_s=spent["communication"] / 1e9,
        copies_s=spent["memcpy"] / 1e9,
        waiting_s=spent["waiting"] / 1e9,
        beside_s=beside_ns / 1e9,
        longest=tuple((name, ns / 1e9) for name, ns in names.most_common()),
    )


class _Work:
    """What ran on the device for one step, column by column."""

    def __init__(self) -> None:
        self.end, self.start = array("q"), array("q")
        self.signature, self.what = array("i"), array("b")  # the latter in _WHAT


def _by_step(run: Run, steps: Sequence[int]) -> Iterator[tuple[int, _Work]]:
    """Each of `steps` with its work, in turn; held is only what is not yet whole."""
    left = _counts(run)
    wanted, works = set(steps), dict[int, _Work]()
    for batch in _timed(run, ["signature", "kind", "step", "start_ns", "duration_ns", "parent"]):
        names = ("signature", "step", "start_ns", "duration_ns")
        talks, copies = communicates(run, batch), is_kind(batch, ("memcpy",))
        columns = (batch[name].to_pylist() for name in names)
        for signature, step, start, ns, talk, copy in zip(
            *columns, talks.to_pylist(), copies.to_pylist(), strict=True
        ):
            if step not in wanted:
                continue
            work = works.get(step)
            if work is None:
                work = works[step] = _Work()
            work.start.append(start)
            work.end.append(start + ns)
            work.signature.append(signature)
            work.what.append(1 if talk else 2 if copy else 0)
        for step in [step for step, work in works.items() if len(work.start) == left[step]]:
            yield step, works.pop(step)
    yield from ((step, _Work()) for step in steps if not left[step])


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


def _walk(work: _Work, begin: int, end: int) -> tuple[int, Iterator[tuple[int, int]]]:
    """Time of nothing, and (ns on the path, place in `work`) of what is on it, last first."""
    order = sorted(range(len(work.end)), key=lambda at: (work.end[at], work.start[at]))
    ends = array("q", (work.end[at] for at in order))
    lasted, places = array("q"), array("q")
    now, at, waited = end, len(order) - 1, 0
    while at >= 0:
        place = order[at]
        start, reached = work.start[place], min(work.end[place], now)
        waited += now - reached
        lasted.append(max(reached - max(start, begin), 0))
        places.append(place)
        now = max(start, begin)
        at = min(bisect_right(ends, now + TOUCHING_NS), at) - 1
    return waited + max(now - begin, 0), zip(lasted, places, strict=True)
