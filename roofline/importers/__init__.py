"""Foreign profiler files -> a run.  Formats are recognised by content, never by name.

Adding a format: write one file that states what it reads, what it skips, its units and its
specification, ends in a `Format`, and add one line to FORMATS.  Reading a file and converting its
events are separate functions; what was skipped, repaired or missing goes into `Recorder.warnings`
and `Run.gaps`.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from roofline.errors import BadInput
from roofline.importers import (
    ert,
    jax,
    kineto,
    likwid,
    ncu,
    nsys,
    proton,
    rocprof,
    rocprof_compute,
)
from roofline.importers.foreign import looks_like
from roofline.importers.format import DEFAULTS, Format, Options, Source, Tell, source
from roofline.importers.twice import refuse_twice
from roofline.runfile import Run

# The first that recognises a file reads it: the particular stand before the general.
FORMATS: tuple[Format, ...] = (
    ncu.FORMAT,
    nsys.DATABASE,
    nsys.STATS,
    rocprof_compute.FORMAT,
    rocprof.FORMAT,
    likwid.FORMAT,
    ert.FORMAT,
    proton.FORMAT,
    jax.FORMAT,
    kineto.FORMAT,
)

__all__ = ["FORMATS", "Format", "Options", "Source", "foreign_file", "load", "recognise"]


def load(paths: Iterable[Path | str], options: Options = DEFAULTS, tell: Tell | None = None) -> Run:
    """Read files of one format, which belong together, into one run.

    `tell` is told, as reading goes on, the share of the present file that has been read.
    """
    sources = [source(Path(path), tell) for path in paths]
    if not sources:
        raise BadInput(f"no file to import; there are readers for {_named(FORMATS)}")
    refuse_twice(sources)
    formats = [recognise(each) for each in sources]
    if len({each.name for each in formats}) > 1:
        kinds = "; ".join(f"{s.name} is a {f.title}" for s, f in zip(sources, formats, strict=True))
        raise BadInput(
            f"{kinds}: files of different formats are imported one at a time, since times of a "
            "running program and counters taken with flushed caches do not belong together"
        )
    return formats[0].load(sources, options)


def foreign_file(path: Path | str) -> bool:
    """Whether `path` is a file that is no saved run; false for what is not there."""
    try:
        with Path(path).open("rb") as file:
            return file.read(4) != b"PAR1"
    except OSError:
        return False


def recognise(source: Source) -> Format:
    """The format of a file; BadInput says what else it looks like."""
    for each in FORMATS:
        if each.recognises(source.head):
            return each
    raise BadInput(f"{source.name} {looks_like(source.head)}; imported are {_named(FORMATS)}")


def _named(formats: Sequence[Format]) -> str:
    return ", ".join(each.title for each in formats)
