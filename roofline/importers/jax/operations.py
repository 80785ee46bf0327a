"""Which events of a JAX trace are operations of a device, and where its steps end."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from roofline.importers.jax.details import number
from roofline.importers.limits import duration_ns, identifier, moment_ns
from roofline.runfile import Step

_DEVICE = re.compile(r"/device:(?P<kind>GPU|TPU):(?P<number>\d+)")
_HOST = "/host:CPU"
# Threads of a device that show once more what ran, by other names.
_VIEWS = ("XLA Modules", "XLA Ops", "Framework", "TensorFlow", "Source", "Steps", "XLA TraceMe")


class TraceEvent(msgspec.Struct):
    """One event, times in microseconds."""

    ph: str = ""
    name: str | None = None
    pid: int | str | None = None
    tid: int | str | None = None
    ts: float | None = None
    dur: float | None = None
    args: dict[str, Any] | None = None


class Trace(msgspec.Struct):
    """The part of a trace that is read."""

    traceEvents: list[TraceEvent] = []


@dataclass(slots=True)
class Ran:
    """One device operation."""

    name: str
    start_ns: int
    duration_ns: int | None
    stream: int | None
    args: Mapping[str, Any] = field(default_factory=dict)


def operations(events: Sequence[TraceEvent]) -> tuple[dict[str, list[Ran]], int]:
    """The operations of every device; those of the host where there is no other.

    And how many have no start that can be.
    """
    processes = {e.pid: _named(e) for e in events if e.ph == "M" and e.name == "process_name"}
    threads = {(e.pid, e.tid): _named(e) for e in events if e.ph == "M" and e.name == "thread_name"}
    found: dict[str, list[Ran]] = {}
    undated = dict[str, int]()
    for event in events:
        if event.ph != "X":
            continue
        process = processes.get(event.pid, "")
        thread = threads.get((event.pid, event.tid), "")
        match = _DEVICE.fullmatch(process)
        on_device = match is not None and _is_operations(match["kind"], thread, event)
        on_host = process == _HOST and "hlo_op" in (event.args or {})
        if not (on_device or on_host):
            continue
        start = _ns(event.ts)
        if start is None:
            undated[process] = undated.get(process, 0) + 1
        else:
            stream = identifier(event.tid) if on_device else None
            found.setdefault(process, []).append(_ran(event, start, stream))
    devices = {name: ran for name, ran in found.items() if name != _HOST}
    return devices or found, sum(n for name, n in undated.items() if name != _HOST or not devices)


def _ns(us: float | None) -> int | None:
    """A start; the whole microseconds apart, which as nanoseconds a float does not hold."""
    if us is None or moment_ns(us * 1e3) is None:
        return None
    return int(us) * 1000 + round((us - int(us)) * 1e3)


def _named(event: TraceEvent) -> str:
    return str((event.args or {}).get("name", ""))


def _is_operations(kind: str, thread: str, event: TraceEvent) -> bool:
    """Whether a thread of a device shows what ran, and not another view of it."""
    if kind == "TPU":
        return thread == "XLA Ops"
    return thread.startswith("Stream") or not thread.startswith(_VIEWS)


def _ran(event: TraceEvent, start_ns: int, stream: int | None) -> Ran:
    args = event.args or {}
    exact_ps = number(args.get("device_duration_ps"))
    ns = exact_ps / 1e3 if exact_ps else None if event.dur is None else event.dur * 1e3
    return Ran(
        event.name or str(args.get("hlo_op", "unnamed")),
        start_ns,
        duration_ns(ns),
        stream,
        args,
    )


def divided(events: Sequence[TraceEvent], ran: Sequence[Ran]) -> tuple[Step, ...]:
    """The host's annotated steps, the last until the device is done; else the whole."""
    origin, end = ran[0].start_ns, max(r.start_ns + (r.duration_ns or 0) for r in ran)
    marked = sorted(
        (start, lasted, f"{e.name} {(e.args or {})['step_num']}")
        for e in events
        if e.ph == "X" and e.dur and "step_num" in (e.args or {})
        and (start := _ns(e.ts)) is not None and (lasted := duration_ns(e.dur * 1e3)) is not None
    )  # fmt: skip
    if len(marked) < 2:
        return (Step(start_ns=0, duration_ns=end - origin),)
    # A step lasts until the next begins: the device works on it meanwhile.
    starts = [start for start, _, _ in marked]
    ends = [*starts[1:], max(end, starts[-1] + marked[-1][1])]
    return tuple(
        Step(start_ns=start - origin, duration_ns=max(stop - start, 0), name=name)
        for (start, _, name), stop in zip(marked, ends, strict=True)
    )
