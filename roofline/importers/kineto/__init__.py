"""PyTorch profiler (Kineto) traces, 2021 to today, of CUDA, HIP and CPU.

Reads: operators with shapes, types, strides and values; kernels with their launch configuration;
copies and memsets; runtime and driver calls; steps, optimizer steps, modules.  Skips flow arrows
(they repeat the correlation ids), counters, Python frames that are no module, CUDA events.
Units: ``ts`` and ``dur`` are microseconds, whatever ``displayTimeUnit`` says (that is for viewers).
Specification: Trace Event Format (Chromium); pytorch/kineto, ``libkineto/src/output_json.cpp``.

event           the typed form of one event
stream, mend    file -> batches of events, whatever state the file is in
columns         batches -> columns; equal calls fold by their text
times, doubt    microseconds -> nanoseconds; order in time; durations that cannot be
names           which spans are operators, composites, wrappers
nesting, launched, join   which operator an event belongs to, and what is counted
steps, overhead where a repetition ends; the profiler's own work
arguments, lists recorded text -> `Call`
signatures, compiled, copies, configuration   distinct calls and kernels, accounted for
rows, assemble, convert, read                 all of it as a run
about, notes    device, versions, rank; what was repaired, skipped or is missing
"""

import re
from collections.abc import Sequence

from roofline.importers.format import BOM, Format, Options, Source, one
from roofline.runfile import Run

_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_BARE = re.compile(rb'\s*\[\s*\{[^{}]*"ph"\s*:')


def recognises(head: bytes) -> bool:
    """Whether a file that begins like this is a list of trace events."""
    if not head.removeprefix(BOM).lstrip().startswith((b"{", b"[")):
        return False
    return (
        _EVENTS.search(head) is not None
        or _BARE.match(head.removeprefix(BOM)) is not None
        or (b'"schemaVersion"' in head and b'"deviceProperties"' in head)
    )


def load(sources: Sequence[Source], options: Options) -> Run:
    """Read one trace into a run."""
    from roofline.importers.kineto.read import read

    return read(one(sources, "trace"), options)


FORMAT = Format(name="kineto", title="PyTorch profiler trace", recognises=recognises, load=load)
