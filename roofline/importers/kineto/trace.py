"""One trace file -> a run, with everything that was repaired, skipped or is missing said in it."""

from collections.abc import Sequence

from roofline.errors import BadInput
from roofline.importers.chosen import of_several
from roofline.importers.format import Options, Source
from roofline.importers.kineto.convert import about, notes
from roofline.importers.kineto.convert.whole import convert
from roofline.importers.kineto.read.columns import Columns
from roofline.importers.kineto.read.stream import Reader
from roofline.importers.kineto.stretches.divide import Stretches
from roofline.runfile import Recorder, Run


def read(source: Source, options: Options) -> Run:
    """Read, join, account."""
    columns, reader = Columns(), Reader(source)

    def choose(devices: Sequence[int]) -> int:
        return of_several(options.device, about.gpus(reader.about, devices), source.name)

    stretches = Stretches(columns, choose=choose)
    for batch in reader.batches():
        columns.add(batch)
        stretches.move()
    if not columns.kernels.of and not columns.calls.of:
        raise BadInput(f"{source.name} {about.nothing(columns, reader, stretches.spans)}")
    made = convert(columns, stretches, options.keep_private, reader.about)
    warnings = [*notes.of_file(reader, columns), *made.warnings]
    device = about.device(reader.about, made.device, options, warnings, source.name)
    return Run(
        recorder=Recorder(
            tool="PyTorch profiler",
            program=source.name,
            recorded_at=about.recorded_at(reader.about, columns.first_us),
            versions=about.versions(reader.about, source.name, options),
            timer=f"device activities and operators as the profiler timed them; {made.how}",
            warnings=tuple(warnings),
        ),
        device=device,
        signatures=made.signatures,
        steps=made.steps,
        gaps=made.gaps,
        events=made.events,
    )
