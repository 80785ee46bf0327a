"""PyTorch profiler (Kineto) traces, 2021 to today, of CUDA, HIP and CPU.

Reads: operators with shapes, types, strides and values; kernels with their launch configuration;
copies and memsets; runtime and driver calls; steps, optimizer steps, modules.  Skips flow arrows
(they repeat the correlation ids), counters, Python frames that are no module, CUDA events.
Units: ``ts`` and ``dur`` are microseconds, whatever ``displayTimeUnit`` says (that is for viewers).
Specification: Trace Event Format (Chromium); pytorch/kineto, ``libkineto/src/output_json.cpp``.

What a file becomes, one folder after the other; `trace` goes all the way:

read        event, stream, mend: the file -> batches of typed events, whatever state it is in;
            columns: one array a field, equal calls folded by their text
stretches   divide, times: stretches of time that fit in memory; survey, devices: a look at the
            whole before, the device with most kernel time; overlong, doubt, outside: times that
            cannot be
join        names, nesting, repeated: what a span is by its name, which operator it belongs to;
            launched, owners: which launch and which operator started what ran on the device;
            answers, phases: forward and backward, by autograd's numbers; steps, overhead: where a
            repetition ends, and the profiler's own work; walked: the first way through a trace
account     arguments, lists: recorded text -> `Call`; signatures, compiled, configuration:
            distinct calls and kernels, accounted for
convert     rows, assemble: the rows of a run, on the second way; about, notes, gaps: device,
            versions, rank; what was repaired, skipped or is missing; whole: all of it together
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
    from roofline.importers.kineto.trace import read

    return read(one(sources, "trace"), options)


FORMAT = Format(name="kineto", title="PyTorch profiler trace", recognises=recognises, load=load)
