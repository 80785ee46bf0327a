"""Batches of events -> columns: one array a field, so that millions of events stay small.

Equal calls and equal kernels are folded by the text that describes them; all that is done for a
call later (reading its arguments, counting its work) is done once for each distinct text.
Times are kept as microseconds since the first event, where a float holds every nanosecond.
"""

from array import array
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from itertools import compress
from math import isnan, nan
from typing import Any

from msgspec import Raw

from roofline.importers.kineto.read.event import Args, Event, number, whole

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
RECORD = "Trace"
MODULE = "nn.Module: "
_ID = 2**63  # beyond it there are none
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
        self.device = array("q")
        self.process = array("i")  # number of the pid that stands with it

    def __len__(self) -> int:
        return len(self.kind)

    def where(self, mask: Sequence[bool]) -> "Activities":
        """Some of them, without their times where those have been given up."""
        some = Activities()
        for name, values in vars(self).items():
            setattr(some, name, array(values.typecode, compress(values, mask)))
        return some


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
        self.recorded: list[tuple[float, float]] = []  # the same of its records, as it says itself
        self.skipped: dict[str, int] = {}  # category -> events that are not read
        self.frames = 0  # Python frames, which are not read
        self.untimed = 0  # events without a usable start
        self.negative = 0  # durations below zero or not a number
        self.absent = 0  # durations that are not recorded
        self.first_us: int | None = None  # the moment times count from, as the trace writes it
        self._thread_of: dict[Any, int] = {}
        self._process_of: dict[Any, int] = {}
        # Of calls by their text in one piece, which is made in half the time of four.
        self._call_of: dict[tuple[str, bytes, bytes], int] = {}

    def add(self, events: Iterable[Event]) -> None:
        """Take in one batch."""
        categories = CATEGORIES
        spans: list[Event] = []
        kinds: list[int] = []  # of the spans
        activities: list[Event] = []
        what: list[int] = []  # are the activities
        for event in events:
            kind = categories.get(event.cat)
            if kind is None or event.ph != "X":
                if event.ph == "X":
                    if event.cat == RECORD and self.first_us is not None:
                        self._beside(event, self.recorded)
                    self.skipped[event.cat] = self.skipped.get(event.cat, 0) + 1
                continue
            if self.first_us is None:
                self._begin(event.ts)
            if kind == PYTHON and event.name.startswith(MODULE):
                kind = RANGE
            if kind <= RANGE:
                spans.append(event)
                kinds.append(kind)
            elif kind <= COPY:
                activities.append(event)
                what.append(kind)
            elif kind == OVERHEAD:
                self._beside(event, self.overhead)
            else:
                self.frames += 1
        self._spans(spans, kinds)
        self._activities(activities, what)

    def _spans(self, events: list[Event], kinds: list[int]) -> None:
        # There may be millions: what is usual is done here, and what is not in functions.
        base, names, threads = self.first_us or 0, self.names.of, self._thread_of
        spans, calls = self.spans, self._call_of
        put_kind, put_start = spans.kind.append, spans.start.append
        put_duration, put_thread = spans.duration.append, spans.thread.append
        put_key, put_external, put_link = spans.key.append, spans.external.append, spans.link.append
        for event, kind in zip(events, kinds, strict=True):
            ts, dur, args = event.ts, event.dur, event.args or _NO_ARGS
            start = ts - base if type(ts) is float and 0 < ts < _LATEST_US else self._start(ts)
            if start is None:
                continue
            place = (event.pid, event.tid)
            thread = threads.get(place)
            if thread is None:
                thread = self._thread(place)
            if kind == OP:
                text = (args.dims or args.dims_old, args.types, args.strides, args.values)
                call = (event.name, b"\0".join(text), _compiled(args) if args.backend else b"")
                number = calls.get(call)
                key = self._call(call, text) if number is None else number
                link = args.sequence
            else:
                key, link = names.setdefault(event.name, len(names)), args.correlation
                if (size := args.bytes or args.size) is not None:
                    self._copy(_id(link), _id(size), self.process_of[thread])
            external = args.external
            put_kind(kind)
            put_start(start)
            put_duration(
                dur if type(dur) is float and 0 <= dur < _LONGEST_US else self._duration(dur)
            )
            put_thread(thread)
            put_key(key)
            put_external(
                external if type(external) is int and -_ID <= external < _ID else _id(external)
            )
            put_link(NONE if link is None else _id(link))

    def _call(self, call: tuple[str, bytes, bytes], text: Iterable[Raw]) -> int:
        name, _, compiled = call
        number = self.calls.number((name, *map(bytes, text), compiled))
        self._call_of[call] = number
        return number

    def _activities(self, events: list[Event], kinds: list[int]) -> None:
        kernels, ran = self.kernels.of, self.activities
        put_kind, put_start, put_duration = ran.kind.append, ran.start.append, ran.duration.append
        put_key, put_correlation = ran.key.append, ran.correlation.append
        put_external, put_stream = ran.external.append, ran.stream.append
        put_device, put_process = ran.device.append, ran.process.append
        for event, kind in zip(events, kinds, strict=True):
            start = self._start(event.ts)
            if start is None:
                continue
            args = event.args or _NO_ARGS
            correlation, size = _id(args.correlation), args.bytes
            stream, device = args.stream, args.device
            if kind == COPY and size is None and correlation in self.copied:
                size = self.copied[correlation][0]
            text = (
                event.name, bytes(args.grid), bytes(args.block), args.registers, args.shared,
                args.blocks_per_sm, args.warps_per_sm, args.occupancy, size,
            )  # fmt: skip
            external = args.external if args.external is not None else args.external_old
            put_kind(kind)
            put_start(start)
            put_duration(self._duration(event.dur))
            put_key(kernels.setdefault(text, len(kernels)))
            put_correlation(correlation)
            put_external(_id(external))
            put_stream(_id(event.tid if stream is None else stream))
            put_device(_id(event.pid if device is None else device))
            put_process(self._process(event.pid))

    def _begin(self, ts: Any) -> None:
        """Count time from the first event that has one."""
        exact = _decimal(ts)
        if exact is not None and exact > 0:
            self.first_us = int(exact)

    def _copy(self, link: int, size: int, process: int) -> None:
        before = self.copied.get(link, (size, process))
        # Of two processes with this number nobody knows whose the copy is.
        self.copied[link] = (size if before[1] == process else NONE, process)

    def _beside(self, event: Event, into: list[tuple[float, float]]) -> None:
        start, duration = self._start(event.ts), self._duration(event.dur)
        if start is not None and not isnan(duration):
            into.append((start, duration))

    def _start(self, ts: Any) -> float | None:
        """Microseconds since the first event; None when there is no usable time."""
        base = self.first_us
        if type(ts) is float and base is not None and 0 < ts < _LATEST_US:
            return ts - base
        exact = _decimal(ts)
        if base is None or exact is None or (exact <= 0 and base > 1e6):
            self.untimed += 1
            return None
        return float(exact - base)

    def _duration(self, dur: Any) -> float:
        if type(dur) is float and 0 <= dur < _LONGEST_US:
            return dur
        if dur is None:
            self.absent += 1
            return nan
        found = number(dur)
        if found is None or not 0 <= found < _LONGEST_US:
            self.negative += 1
            return nan
        return found

    def _process(self, pid: Any) -> int:
        number = self._process_of.get(pid)
        if number is None:
            number = self._process_of[pid] = self.processes.number(str(pid))
        return number

    def _thread(self, place: tuple[Any, Any]) -> int:
        # Some dialects write the same thread as text here and as a number there.
        found = self._thread_of[place] = self.threads.number(f"{place[0]} {place[1]}")
        if found == len(self.process_of):
            self.process_of.append(self._process(place[0]))
        return found


def _compiled(args: Args) -> bytes:
    """How a compiled kernel was built, as one text."""
    parts = {b"warps": args.warps, b"stages": args.stages, b"constants": args.constants}
    said = [name + b"=" + bytes(raw).strip(b'"') for name, raw in parts.items() if raw]
    return b" ".join([bytes(args.backend).strip(b'"'), *said])


def _id(value: Any) -> int:
    if type(value) is int and -_ID <= value < _ID:
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
