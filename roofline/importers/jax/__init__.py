"""JAX profiler traces: ``trace.json.gz`` of `jax.profiler`, on GPU, TPU and CPU.

Reads    device operations of one device: on a GPU the kernels and copies of its streams with
         their launch configuration, on a TPU the thread of XLA operations, on a CPU the operations
         of the executor's threads; the scopes of ``jax.named_scope`` as modules;
         ``StepTraceAnnotation`` as steps; the bytes that XLA says a TPU operation accesses.
Skips    host events without an operation, repeated views of the same device (modules, framework
         operations, source lines), and flop of XLA's cost model, which name no type.
Units    ``ts`` and ``dur`` are microseconds.
Samples cannot be recorded here: written by hand.
Spec     Trace Event Format; OpenXLA, ``xla/tsl/profiler`` (trace event export).
"""

from collections.abc import Sequence

import msgspec

from roofline.devices import resolve
from roofline.errors import BadInput
from roofline.importers import believed, torn
from roofline.importers.format import Format, Options, Source, one
from roofline.importers.jax.details import launched, ledger, nbytes, scope
from roofline.importers.jax.operations import Ran, Trace, TraceEvent, divided, operations
from roofline.importers.lines import whole
from roofline.importers.private import called
from roofline.runfile import Event, Gap, Recorder, Run, Signature, Step, table
from roofline.units import number_of

_COPY = {"memcpyh2d": "HtoD", "memcpyd2h": "DtoH", "memcpyd2d": "DtoD", "memcpyp2p": "PtoP"}


def recognises(head: bytes) -> bool:
    """Trace events whose processes are named as XLA names them."""
    return (
        b'"traceEvents"' in head
        and b'"deviceProperties"' not in head
        and any(word in head for word in (b"/device:GPU:", b"/device:TPU:", b'"/host:CPU"'))
    )


def load(sources: Sequence[Source], options: Options) -> Run:
    """One trace -> one run, of the device that did most."""
    source = one(sources, "JAX trace")
    recorded, warnings = _events(source)
    by_device, undated = operations(recorded)
    warnings += believed.said(undated, 0)
    for name, found in by_device.items():
        by_device[name], said = _believed(found, serial="GPU" in name)
        warnings += said
    by_device = {name: found for name, found in by_device.items() if found}
    if not by_device:
        raise BadInput(f"{source.name} holds no operation of a device")
    spent = {d: sum(r.duration_ns or 0 for r in ran) for d, ran in by_device.items()}
    device = max(spent, key=lambda name: spent[name])
    ran = sorted(by_device.pop(device), key=lambda r: r.start_ns)
    steps = divided(recorded, ran)
    if options.device is None:
        warnings.append(f"the trace does not say what {device} is; --device NAME does")
    signatures, events = _rows(ran, steps, options.keep_private)
    return Run(
        recorder=Recorder(
            tool="JAX profiler",
            program=source.name,
            recorded_at="",
            timer="device operations as the profiler timed them; "
            + (f"{len(steps)} steps as annotated" if len(steps) > 1 else "one step"),
            warnings=tuple(warnings),
        ),
        device=None if options.device is None else resolve(options.device),
        signatures=signatures,
        steps=steps,
        gaps=tuple(
            Gap(
                name=name,
                what="a run is of one device: what ran on this one is not in it",
                seconds=None if any(r.duration_ns is None for r in others) else spent[name] / 1e9,
                count=len(others),
            )
            for name, others in by_device.items()
        ),
        events=table(events),
    )


def _events(source: Source) -> tuple[list[TraceEvent], list[str]]:
    """The events that can be read, and what is to be said of the file."""
    raw, early = whole(source)
    try:
        events = msgspec.json.decode(raw, type=Trace, strict=False).traceEvents
        return events, [early] * bool(early)
    except (msgspec.MsgspecError, RecursionError):
        pass
    document, said = torn.plain(raw, early, source.name, ("traceEvents",))
    listed = document.get("traceEvents") if isinstance(document, dict) else None
    events, lost = [], 0
    for each in listed if isinstance(listed, list) else []:
        try:
            events.append(msgspec.convert(each, TraceEvent, strict=False))
        except msgspec.ValidationError:
            lost += 1
    if lost:
        said.append(f"left out, since not to be read: {number_of(lost, 'event')}")
    return events, said


def _believed(ran: list[Ran], serial: bool) -> tuple[list[Ran], list[str]]:
    """Those with a start that can be; durations that later ones contradict are unknown.

    Where operations may stand inside others (a loop of a TPU), streams are not `serial`.
    """
    apart, long = believed.doubtful(
        [r.start_ns for r in ran],
        [r.duration_ns for r in ran],
        [r.stream if serial else None for r in ran],
    )
    for at in long:
        ran[at].duration_ns = None
    kept = [r for at, r in enumerate(ran) if at not in apart]
    return kept, believed.said(len(apart), len(long))


def _rows(
    ran: Sequence[Ran], steps: Sequence[Step], keep_private: bool
) -> tuple[tuple[Signature, ...], list[Event]]:
    origin = ran[0].start_ns
    signatures: dict[tuple[str, int | None], int] = {}
    events = []
    for one_ran in ran:
        copied = _COPY.get(one_ran.name.lower())
        name = f"Memcpy {copied}" if copied else called(one_ran.name, keep_private)
        key = (name, nbytes(one_ran.args, copied is not None))
        start = one_ran.start_ns - origin
        events.append(
            Event(
                signature=signatures.setdefault(key, len(signatures)),
                kind="memcpy" if copied else "kernel",
                step=_step_of(start, steps),
                start_ns=start,
                duration_ns=one_ran.duration_ns,
                module=scope(one_ran.args, keep_private),
                stream=one_ran.stream,
                counters={} if copied else launched(one_ran.args),
            )
        )
    return tuple(Signature(name=name, ledger=ledger(name, n)) for name, n in signatures), events


def _step_of(start: int, steps: Sequence[Step]) -> int:
    if len(steps) == 1:
        return 0
    for at, step in enumerate(steps):
        if step.start_ns <= start < step.start_ns + step.duration_ns:
            return at
    return -1


FORMAT = Format(name="jax", title="JAX profiler trace", recognises=recognises, load=load)
