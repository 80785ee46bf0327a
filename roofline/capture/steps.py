"""Where one repetition of the program's work ends, and which repetitions are warm-up."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.capture.columns import Columns
from roofline.runfile import Gap, Step

if TYPE_CHECKING:
    import numpy as np

OUTSIDE = -1


@dataclass(frozen=True, slots=True)
class End:
    """The moment a repetition ended."""

    time: int  # ns, perf_counter
    bookkeeping: int  # ns the recorder had spent by then
    name: str = ""
    asked: bool = False  # the program called run.step(); else an optimizer stepped


@dataclass(frozen=True, slots=True)
class Cut:
    """The steps of a run, the step of every event, and how that was decided, in words."""

    steps: tuple[Step, ...]
    of_event: "np.ndarray"
    how: str
    gaps: tuple[Gap, ...] = ()


def cut(columns: Columns, ends: list[End], total: End, warmup: int | None, origin: int) -> Cut:
    """Divide the events among steps.

    Steps end where the program said so; if it never did, at every optimizer step; if there was
    none (or only one), the recording is one step.  `total` is its end.  Of several steps the first
    `warmup` are marked as warm-up (1 when None), of one step the first `warmup` calls of each
    signature, as far as calls remain.  Work after the last end belongs to no step.
    """
    asked = [end for end in ends if end.asked]
    ends = asked or ends
    if len(ends) > 1:
        return _several(columns, ends, 1 if warmup is None else warmup, origin)
    return _one(columns, ends[0] if asked else total, 1 if warmup is None else warmup, origin)


def _several(columns: Columns, ends: list[End], warmup: int, origin: int) -> Cut:
    import numpy as np

    starts = np.frombuffer(columns.start, dtype=np.int64)
    times = np.array([end.time for end in ends], dtype=np.int64)
    of_event = np.searchsorted(times, starts, side="right").astype(np.int32)
    of_event[of_event == len(ends)] = OUTSIDE
    warmup = min(warmup, len(ends) - 1)
    begin = End(int(starts[0]) if len(starts) else origin, 0)
    steps = []
    for index, (before, end) in enumerate(zip([begin, *ends], ends, strict=False)):
        steps.append(
            Step(
                start_ns=before.time - origin,
                duration_ns=end.time - before.time,
                bookkeeping_ns=end.bookkeeping - before.bookkeeping,
                warmup=index < warmup,
                name=end.name,
            )
        )
    said = "at run.step()" if ends[0].asked else "at each Optimizer.step"
    how = f"{len(ends)} steps, ending {said}; the first {warmup} are warm-up"
    return Cut(tuple(steps), of_event, how, _after(columns, of_event))


def _after(columns: Columns, of_event: "np.ndarray") -> tuple[Gap, ...]:
    import numpy as np

    outside = of_event == OUTSIDE
    if not outside.any():
        return ()
    durations = np.frombuffer(columns.duration, dtype=np.int64)
    gap = Gap(
        name="after the last step",
        what="what the program did after its last step belongs to no step",
        seconds=float(durations[outside].sum()) * 1e-9,
        count=int(outside.sum()),
    )
    return (gap,)


def _one(columns: Columns, end: End, warmup: int, origin: int) -> Cut:
    import numpy as np

    starts = np.frombuffer(columns.start, dtype=np.int64)
    durations = np.frombuffer(columns.duration, dtype=np.int64)
    if not len(starts):
        return Cut((), np.zeros(0, dtype=np.int32), "no operator was called")
    first = _first_calls(np.frombuffer(columns.signature, dtype=np.intc), warmup)
    finish = max(int(starts[-1] + durations[-1]), origin) if not end.asked else end.time
    cold = int(durations[first].sum())
    begin = int(starts[0])
    whole = Step(
        start_ns=begin - origin,
        duration_ns=finish - begin - cold,
        bookkeeping_ns=end.bookkeeping,
        name=end.name,
    )
    if not first.any():
        return Cut((whole,), np.zeros(len(starts), dtype=np.int32), "one step, no warm-up")
    warm = Step(start_ns=begin - origin, duration_ns=cold, warmup=True, name="first calls")
    return Cut(
        (warm, whole),
        np.where(first, 0, 1).astype(np.int32),
        f"one step; the first {warmup} calls of each signature are warm-up where more follow",
    )


def _first_calls(signatures: "np.ndarray", warmup: int) -> "np.ndarray":
    """Which events are among the first `warmup` of their signature; the last is never one."""
    import numpy as np

    order = np.argsort(signatures, kind="stable")
    grouped = signatures[order]
    begins = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]])
    sizes = np.diff(np.r_[begins, len(grouped)])
    rank = np.arange(len(grouped)) - np.repeat(begins, sizes)
    chosen = np.zeros(len(grouped), dtype=bool)
    chosen[order] = rank < np.minimum(warmup, np.repeat(sizes, sizes) - 1)
    return chosen
