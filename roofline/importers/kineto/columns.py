"""Batches of events -> columns: one array a field, so that millions of events stay small.

Equal calls and equal kernels are folded by the text that describes them; all that is done for a
call later (reading its arguments, counting its work) is done once for each distinct text.
Times are kept as microseconds since the first event, where a float holds every nanosecond.
"""

from array import array
from collections.abc import Hashable, Iterable
from decimal import Decimal, InvalidOperation
from math import isnan, nan
from typing import Any

from msgspec import Raw

from roofline.importers.kineto.event import Args, Event, number, whole

OP, LAUNCH, RANGE, KERNEL, COPY, PYTHON, OVERHEAD = range(7)
# Categories of every dialect, 2021 to today.
CATEGORIES = {
    "cpu_op": OP, "Operator": OP, "operator": OP,
    "kernel": KERNEL, "Kernel": KERNEL,
    "gpu_memcpy": COPY, "gpu_memset": COPY, "Memcpy": COPY, "Memset": COPY,
    "cuda_runtime": LAUNCH, "cuda_driver": LAUNCH, "Runtime": LAUNCH, "hip_runtime": LAUNCH,
    "xpu_runtime": LAUNCH, "privateuse1_runtime": LAUNCH,
    "user_annotation": RANGE, "python_function": PYTHON, "overhead": OVERHEAD,
}  # fmt: skip
MODULE = "nn.Module: "
_LATEST_US = 4e15  # the year 2096: twice that in nanoseconds still is an int64
_LONGEST_US = 1e12  # eleven days
NONE = -1
_NO_ARGS = Args()


class Numbers:
    """Distinct values as small numbers, in order of first appearance."""

    def __init__(self) -> None:
        self.of: dict[Any, int] = {}

    def number(self, value: Hashable) -> int:
        """The number of `value`."""
        return self.of.setdefault(value, len(self.of))

    def values(self) -> list[Any]:
        """Every value, at the place its number says."""
        return list(self.of)


class Spans:
    """What happened on the host: operators, launches, annotations and modules."""

    def __init__(self) -> None:
        self.kind = array("b")
        self.start = array("d")
        self.duration = array("d")  # NaN is not recorded
        self.thread = array("i")
        self.key = array("i")  # operators: number of the call; else number of the name
        self.external = array("q")
        self.link = array("q")  # operators: sequence number; launches: correlation; NONE is none

    def __len__(self) -> int:
        return len(self.kind)


class Activities:
    """What happened on devices: kernels, copies and memsets."""

    def __init__(self) -> None:
        self.kind = array("b")
        self.start = array("d")
        self.duration = array("d")
        self.key = array("i")  # number of the kernel with its launch configuration
        self.correlation = array("q")
        self.external = array("q")
        self.stream = array("q")
        self.device = array("i")
        self.process = array("i")  # number of the pid that stands with it

    def __len__(self) -> int:
        return len(self.kind)


class Columns:
    """Everything that is kept of a trace."""

    def __init__(self) -> None:
        self.spans = Spans()
        self.activities = Activities()
        self.calls = Numbers()  # (name, dims, types, strides, values, compiled) of operators
        self.names = Numbers()  # of launches and ranges
        self.kernels = Numbers()  # (name, grid, block, registers, ...) of kernels and copies
        self.threads = Numbers()  # (pid, tid) as text
        self.processes = Numbers()  # pid as text
        self.process_of: list[int] = []  # number of each thread's process
        # correlation -> bytes that the launch of a copy names, and the process that launched it
        self.copied: dict[int, tuple[int, int]] = {}
        self.overhead: list[tuple[float, float]] = []  # start and duration of the profiler's work
        self.skipped: dict[str, int] = {}  # category -> events that are not read
        self.frames = 0  # Python frames, which are not read
        self.untimed = 0  # events without a usable start
        self.negative = 0  # durations below zero or not a number
        self.first_us: int | None = None  # the moment times count from, as the trace writes it
        self._thread_of: dict[Any, int] = {}

    def add(self, events: Iterable[Event]) -> None:
        """Take in one batch."""
        categories, span, activity = CATEGORIES, self._span, self._activity
        for event in events:
            kind = categories.get(event.cat)
            if kind is None or event.ph != "X":
                if event.ph == "X":
                    self.skipped[event.cat] = self.skipped.get(event.cat, 0) + 1
                continue
            if kind <= RANGE:
                span(event, kind)
            elif kind <= COPY:
                activity(event, kind)
            elif kind == OVERHEAD:
                self._overhead(event)
            elif event.name.startswith(MODULE):
                span(event, RANGE)
            else:
                self.frames += 1

    def _span(self, event: Event, kind: int) -> None:
        start = self._start(event.ts)
        if start is None:
            return
        args = event.args or _NO_ARGS
        key: int
        if kind == OP:
            text = (
                event.name, bytes(args.dims or args.dims_old), bytes(args.types),
                bytes(args.strides), bytes(args.values), _compiled(args) if args.backend else b"",
            )  # fmt: skip
            key = self.calls.of.setdefault(text, len(self.calls.of))
            link = args.sequence
        else:
            key = self.names.of.setdefault(event.name, len(self.names.of))
            link = args.correlation
        place = (event.pid, event.tid)
        thread = self._thread_of.get(place)
        if thread is None:
            thread = self._thread(place)
        if kind != OP and (size := args.bytes or args.size) is not None:
            self._copy(_id(link), _id(size), self.process_of[thread])
        spans = self.spans
        spans.kind.append(kind)
        spans.start.append(start)
        spans.duration.append(self._duration(event.dur))
        spans.thread.append(thread)
        spans.key.append(key)
        spans.external.append(_id(args.external))
        spans.link.append(_id(link))

    def _activity(self, event: Event, kind: int) -> None:
        start = self._start(event.ts)
        if start is None:
            return
        args = event.args or _NO_ARGS
        text = (
            event.name, bytes(args.grid), bytes(args.block), args.registers, args.shared,
            args.blocks_per_sm, args.warps_per_sm, args.occupancy, args.bytes,
        )  # fmt: skip
        external = args.external if args.external is not None else args.external_old
        if kind == COPY and args.bytes is None and _id(args.correlation) in self.copied:
            text = (*text[:-1], self.copied[_id(args.correlation)][0])
        activities = self.activities
        activities.kind.append(kind)
        activities.start.append(start)
        activities.duration.append(self._duration(event.dur))
        activities.key.append(self.kernels.of.setdefault(text, len(self.kernels.of)))
        activities.correlation.append(_id(args.correlation))
        activities.external.append(_id(external))
        activities.stream.append(_id(args.stream if args.stream is not None else event.tid))
        activities.device.append(_id(args.device if args.device is not None else event.pid))
        activities.process.append(self.processes.number(str(event.pid)))

    def _copy(self, link: int, size: int, process: int) -> None:
        before = self.copied.get(link, (size, process))
        # Of two processes with this number nobody knows whose the copy is.
        self.copied[link] = (size if before[1] == process else NONE, process)

    def _overhead(self, event: Event) -> None:
        start, duration = self._start(event.ts), self._duration(event.dur)
        if start is not None and not isnan(duration):
            self.overhead.append((start, duration))

    def _start(self, ts: Any) -> float | None:
        """Microseconds since the first event; None when there is no usable time."""
        base = self.first_us
        if type(ts) is float and base is not None and 0 < ts < _LATEST_US:
            return ts - base
        exact = _decimal(ts)
        if exact is None or (exact <= 0 and (base is None or base > 1e6)):
            self.untimed += 1
            return None
        if base is None:
            base = self.first_us = int(exact)
        return float(exact - base)

    def _duration(self, dur: Any) -> float:
        if type(dur) is float and 0 <= dur < _LONGEST_US:
            return dur
        if dur is None:
            return nan
        found = number(dur)
        if found is None or not 0 <= found < _LONGEST_US:
            self.negative += 1
            return nan
        return found

    def _thread(self, place: tuple[Any, Any]) -> int:
        # Some dialects write the same thread as text here and as a number there.
        found = self._thread_of[place] = self.threads.number(f"{place[0]} {place[1]}")
        if found == len(self.process_of):
            self.process_of.append(self.processes.number(str(place[0])))
        return found


def _compiled(args: Args) -> bytes:
    """How a compiled kernel was built, as one text."""
    parts = {b"warps": args.warps, b"stages": args.stages, b"constants": args.constants}
    said = [name + b"=" + bytes(raw).strip(b'"') for name, raw in parts.items() if raw]
    return b" ".join([bytes(args.backend).strip(b'"'), *said])


def _id(value: Any) -> int:
    if type(value) is int and -(2**63) <= value < 2**63:
        return value
    found = None if value is None else whole(value)
    return NONE if found is None else found


def _decimal(ts: Any) -> Decimal | int | None:
    """A time as it was written, exactly."""
    if type(ts) is int:
        return ts if abs(ts) < _LATEST_US else None
    try:
        text = bytes(ts).decode().strip('"') if isinstance(ts, Raw) else str(ts)
        found = Decimal(text)
    except (InvalidOperation, UnicodeDecodeError):
        return None
    return found if found.is_finite() and abs(found) < _LATEST_US else None
