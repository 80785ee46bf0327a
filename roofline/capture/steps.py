"""Where one repetition of the program's work ends, and which repetitions are warm-up."""

from dataclasses import dataclass

import numpy as np

from roofline.capture.columns import BACKWARD, Columns
from roofline.runfile import Gap, Step

OUTSIDE = -1


@dataclass(frozen=True, slots=True)
class End:
    """The moment a repetition ended."""

    time: int  # ns, perf_counter
    bookkeeping: int  # ns the recorder had spent by then, as far as it sees itself
    ignored: int  # calls it had let through unrecorded
    name: str = ""
    asked: bool = False  # the program called run.step(); else an optimizer stepped


@dataclass(frozen=True, slots=True)
class Cut:
    """The steps of a run, the step of every event, and how that was decided, in words."""

    steps: tuple[Step, ...]
    of_event: np.ndarray
    how: str
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A recording that ended, before it is divided."""

    columns: Columns
    origin: int  # ns, perf_counter
    ends: list[End]  # of repetitions
    total: End  # of the recording
    device_end: int  # when the last kernel ended; 0 without a device
    # Nanoseconds a call costs beside its duration and the bookkeeping that sees itself.
    around: float
    around_backward: float  # the same where the autograd engine calls


def cut(recorded: Recorded, warmup: int | None) -> Cut:
    """Divide the events among steps.

    Steps end where the program said so; if it never did, at every optimizer step; if there was
    none (or only one), the recording is one step.  Of several steps the first `warmup` are marked
    as warm-up (1 when None), of one step the first `warmup` calls of each signature, as far as
    calls remain.  Work after the last end belongs to no step.
    """
    warmup = 1 if warmup is None else warmup
    asked = [end for end in recorded.ends if end.asked]
    ends = asked or recorded.ends
    if not len(recorded.columns):
        return Cut((), np.zeros(0, dtype=np.int32), "no operator was called")
    if len(ends) > 1:
        return _several(recorded, ends, warmup)
    return _one(recorded, ends[0] if asked else recorded.total, warmup)


def _several(recorded: Recorded, ends: list[End], warmup: int) -> Cut:
    starts = np.frombuffer(recorded.columns.start, dtype=np.int64)
    times = np.array([end.time for end in ends], dtype=np.int64)
    of_event = np.searchsorted(times, starts, side="right").astype(np.int32)
    of_event[of_event == len(ends)] = OUTSIDE
    warmup = min(warmup, len(ends) - 1)
    begin = End(min(int(starts[0]), ends[0].time), 0, 0)
    steps = []
    for index, (before, end) in enumerate(zip([begin, *ends], ends, strict=False)):
        duration = end.time - before.time
        step = Step(
            start_ns=before.time - recorded.origin,
            duration_ns=duration,
            bookkeeping_ns=_bookkeeping(recorded, of_event == index, duration, before, end),
            warmup=index < warmup,
            name=end.name,
        )
        steps.append(step)
    said = "at run.step()" if ends[0].asked else "at each Optimizer.step"
    how = f"{len(ends)} steps, ending {said}; warm-up is the first {warmup}"
    return Cut(tuple(steps), of_event, how, _after(recorded.columns, of_event))


def _one(recorded: Recorded, end: End, warmup: int) -> Cut:
    starts = np.frombuffer(recorded.columns.start, dtype=np.int64)
    durations = np.frombuffer(recorded.columns.duration, dtype=np.int64)
    cold = _first_calls(np.frombuffer(recorded.columns.signature, dtype=np.intc), warmup)
    finish = end.time if end.asked else max(int((starts + durations).max()), recorded.device_end)
    of_event = np.where(cold, 0, 1) if cold.any() else np.zeros(len(starts))
    of_event[starts > finish] = OUTSIDE
    begin, cold_ns = int(starts[0]), int(durations[cold].sum())
    duration = finish - begin - cold_ns
    whole = Step(
        start_ns=begin - recorded.origin,
        duration_ns=duration,
        bookkeeping_ns=_bookkeeping(recorded, ~cold, duration, End(begin, 0, 0), end),
        name=end.name,
    )
    of_event = of_event.astype(np.int32)
    after = _after(recorded.columns, of_event)
    if not cold.any():
        return Cut((whole,), of_event, "one step, no warm-up", after)
    warm = Step(start_ns=whole.start_ns, duration_ns=cold_ns, warmup=True, name="first calls")
    calls = "first call" if warmup == 1 else f"first {warmup} calls"
    how = f"one step; warm-up is the {calls} of each signature, where more follow"
    return Cut((warm, whole), of_event, how, after)


def _bookkeeping(
    recorded: Recorded, events: np.ndarray, duration: int, before: End, end: End
) -> int:
    """What the recorder spent in a step: what it saw itself, and what each call cost around it.

    The second is an estimate and can't be more than the time in which nothing else ran.
    """
    durations = np.frombuffer(recorded.columns.duration, dtype=np.int64)
    backward = np.frombuffer(recorded.columns.phase, dtype=np.int8)[events] == BACKWARD
    around = float(np.where(backward, recorded.around_backward, recorded.around).sum())
    around += recorded.around * (end.ignored - before.ignored)
    kept = end.bookkeeping - before.bookkeeping
    idle = duration - kept - int(durations[events].sum())
    return kept + max(0, min(round(around), idle))


def _after(columns: Columns, of_event: np.ndarray) -> tuple[Gap, ...]:
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


def _first_calls(signatures: np.ndarray, warmup: int) -> np.ndarray:
    """Which events are among the first `warmup` of their signature; the last is never one."""
    order = np.argsort(signatures, kind="stable")
    grouped = signatures[order]
    begins = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]])
    sizes = np.diff(np.r_[begins, len(grouped)])
    rank = np.arange(len(grouped)) - np.repeat(begins, sizes)
    chosen = np.zeros(len(grouped), dtype=bool)
    chosen[order] = rank < np.minimum(warmup, np.repeat(sizes, sizes) - 1)
    return chosen
