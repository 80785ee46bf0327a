"""Ceilings that another tool measured -> a device, in a run without events.

Such a run shows its roof; its file (``-o``) is the device's for those who read it.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from roofline.device import Ceiling, Device, Resource
from roofline.devices import find
from roofline.importers.format import Options, Source
from roofline.importers.stated import stated
from roofline.provenance import Basis, Provenance
from roofline.runfile import Recorder, Run, Step, table


def measured(resource: Resource, rate: float, source: str, as_of: date) -> Ceiling:
    """One ceiling that `source` measured."""
    where = Provenance(basis=Basis.MEASURED, source=source, as_of=as_of)
    return Ceiling(resource=resource, rate=rate, provenance=where)


def dated(source: Source) -> date:
    """The day a file was last written: neither tool says when it measured."""
    return datetime.fromtimestamp(source.path.stat().st_mtime, UTC).date()


def run_of(
    ceilings: Sequence[Ceiling],
    source: Source,
    options: Options,
    *,
    tool: str,
    name: str,
    kind: str,
    warnings: Sequence[str],
) -> Run:
    """The run of a device with these ceilings: the stated device's facts, or only a name."""
    if options.device is not None:
        device = stated(options.device, source.name, [name])
        device = replace(find(device.id), ceilings=tuple(ceilings))
    else:
        device = Device(
            id="-".join(name.lower().split()),
            name=name,
            kind="cpu" if kind == "cpu" else "gpu",
            ceilings=tuple(ceilings),
        )
    return Run(
        recorder=Recorder(
            tool=tool,
            program=source.name,
            recorded_at="",
            timer="ceilings only: nothing was profiled",
            warnings=tuple(warnings),
        ),
        device=device,
        signatures=(),
        steps=(Step(start_ns=0, duration_ns=0),),
        gaps=(),
        events=table([]),
    )
