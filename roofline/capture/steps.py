"""Where one repetition of the program's work ends, and which repetitions are warm-up."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from roofline.capture.columns import BACKWARD, Columns
from roofline.runfile import Gap, Step, waited_share
from roofline.units import number_of

OUTSIDE = -1
_DISTURBED = 0.05  # from this share of waiting on, times are said to be too long


@dataclass(frozen=True, slots=True)
class End:
    """The moment a repetition ended."""

    time: int  # ns, perf_counter
    bookkeeping: int  # ns the recorder had spent by then, as far as it sees itself
    ignored: int  # calls it had let through unrecorded
    waited: int | None = None  # ns this thread had waited for a processor by then
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
    begin: End  # when its first operator came by: not when the program began to import
    ends: list[End]  # of repetitions
    total: End  # of the recording
    device_end: int  # when the last kernel ended; 0 without a device
    # Nanoseconds a call costs beside its duration and the bookkeeping that sees itself.
    around: float
    around_backward: float  # the same where the autograd engine calls


def disturbed(steps: Sequence[Step]) -> str | None:
    """A sentence when other programs held the processors for long; None when not, or not known."""
    share = waited_share(steps)
    if share is None or share < _DISTURBED:
        return None
    return (
        f"the program waited for a processor during {share:.0%} of the measured time "
        "because other programs were running: its times are too long"
    )


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
    starts = recorded.columns.start
    times = np.array([end.time for end in ends], dtype=np.int64)
    of_event = np.searchsorted(times, starts, side="right").astype(np.int32)
    of_event[of_event == len(ends)] = OUTSIDE
    warmup = min(warmup, len(ends) - 1)
    begin = replace(recorded.begin, time=min(recorded.begin.time, ends[0].time))
    busy, around = _sums(recorded, of_event, len(ends))
    steps = []
    for index, (before, end) in enumerate(zip([begin, *ends], ends, strict=False)):
        step = _step(recorded, before, end, busy[index], around[index])
        steps.append(replace(step, warmup=index < warmup))
    said = "at run.step()" if ends[0].asked else "at each Optimizer.step"
    how = f"{number_of(len(ends), 'step')}, ending {said}; warm-up is the first {warmup}"
    return Cut(tuple(steps), of_event, how, _after(recorded.columns, of_event))


def _one(recorded: Recorded, end: End, warmup: int) -> Cut:
    starts = recorded.columns.start
    durations = recorded.columns.duration
    cold = _first_calls(recorded.columns.signature, warmup)
    finish = end.time if end.asked else max(int((starts + durations).max()), recorded.device_end)
    of_event = np.where(starts > finish, OUTSIDE, ~cold).astype(np.int32)
    (cold_ns, busy), (_, around) = _sums(recorded, of_event, 2)
    begin = replace(recorded.begin, time=recorded.begin.time + cold_ns)
    whole = _step(recorded, begin, replace(end, time=finish), busy, around)
    start_ns = recorded.begin.time - recorded.origin
    warm = Step(start_ns=start_ns, duration_ns=cold_ns, warmup=True, name="first calls")
    if whole.waited_ns is not None:
        # Waiting is known for both together: shared out by time.
        share = whole.duration_ns / (whole.duration_ns + cold_ns)
        whole = replace(whole, waited_ns=round(share * whole.waited_ns))
    whole = replace(whole, start_ns=start_ns)
    after = _after(recorded.columns, of_event)
    if not cold.any():
        of_event = np.where(of_event == OUTSIDE, OUTSIDE, 0).astype(np.int32)
        return Cut((whole,), of_event, "one step, no warm-up", after)
    calls = "first call" if warmup == 1 else f"first {warmup} calls"
    how = f"one step; warm-up is the {calls} of each signature, where more follow"
    return Cut((warm, whole), of_event, how, after)


def _sums(recorded: Recorded, of_event: np.ndarray, steps: int) -> tuple[list[int], list[float]]:
    """For each step: time in its events, and what its events cost around them (estimated)."""
    columns = recorded.columns
    inside = of_event != OUTSIDE
    durations = columns.duration[inside]
    backward = columns.phase[inside] == BACKWARD
    cost = np.where(backward, recorded.around_backward, recorded.around)
    busy = np.bincount(of_event[inside], weights=durations, minlength=steps)
    around = np.bincount(of_event[inside], weights=cost, minlength=steps)
    return busy.astype(np.int64).tolist(), around.tolist()


def _step(recorded: Recorded, begin: End, end: End, busy: int, around: float) -> Step:
    duration = end.time - begin.time
    kept = end.bookkeeping - begin.bookkeeping
    around += recorded.around * (end.ignored - begin.ignored)
    # The estimate can't be more than the time in which nothing else ran.
    kept += max(0, min(round(around), duration - kept - busy))
    waited = None
    if end.waited is not None and begin.waited is not None:
        waited = end.waited - begin.waited
    return Step(
        start_ns=begin.time - recorded.origin,
        duration_ns=duration,
        bookkeeping_ns=kept,
        waited_ns=waited,
        name=end.name,
    )


def _after(columns: Columns, of_event: np.ndarray) -> tuple[Gap, ...]:
    outside = of_event == OUTSIDE
    if not outside.any():
        return ()
    durations = columns.duration
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
