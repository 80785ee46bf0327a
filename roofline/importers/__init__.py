"""Foreign profiler files -> a run.  Formats are recognised by content, never by name.

Adding a format: write one file that states what it reads, what it skips, its units and its
specification, ends in a `Format`, and add one line to FORMATS.  Reading a file and converting its
events are separate functions; what was skipped, repaired or missing goes into `Recorder.warnings`
and `Run.gaps`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
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
from roofline.importers.chosen import decided, named, numbered
from roofline.importers.foreign import looks_like
from roofline.importers.format import DEFAULTS, Format, Options, Source, Tell, said, source
from roofline.importers.legible import legible
from roofline.importers.replayed import joined
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
# Times of a running program, to which counters of the same kernels can be joined.
TIMELINES: tuple[Format, ...] = (kineto.FORMAT, nsys.DATABASE)

# Formats whose GPUs have numbers, by which the user may choose one.
NUMBERED: tuple[Format, ...] = (kineto.FORMAT, nsys.DATABASE, nsys.STATS, ncu.FORMAT)

# What the user may say of files of some formats -> the option, and the formats.
_OF: Mapping[str, tuple[str, tuple[Format, ...]]] = {
    "decimal": (
        "--decimal",
        (ncu.FORMAT, nsys.STATS, rocprof_compute.FORMAT, rocprof.FORMAT, likwid.FORMAT),
    ),
    "ncu_cache": ("--ncu-cache", (ncu.FORMAT,)),
    "ncu_clock": ("--ncu-clock", (ncu.FORMAT,)),
}

__all__ = ["FORMATS", "Format", "Options", "Source", "foreign_file", "load", "recognise", "said"]


def load(paths: Iterable[Path | str], options: Options = DEFAULTS, tell: Tell | None = None) -> Run:
    """Read files that belong together into one run.

    They are of one format; or a timeline and pages of Nsight Compute of the same program, whose
    launches then stand beside the kernels that they are (`replayed.joined`).

    `tell` is told, as reading goes on, the share of the present file that has been read.
    """
    sources = [source(Path(path), tell) for path in paths]
    if not sources:
        raise BadInput(f"no file to import; there are readers for {_named(FORMATS)}")
    refuse_twice(sources)
    by: dict[str, tuple[Format, list[Source]]] = {}
    for each in sources:
        found = recognise(each)
        by.setdefault(found.name, (found, []))[1].append(each)
    _refuse_idle(options, by)
    _refuse_number(options, by)
    if len(by) == 1:
        ((only, files),) = by.values()
        return legible(only.load(files, options))
    timeline = next((by[each.name] for each in TIMELINES if each.name in by), None)
    if len(by) == 2 and timeline is not None and ncu.FORMAT.name in by:
        return legible(_joined(*timeline, by[ncu.FORMAT.name][1], options))
    kinds = "; ".join(f"{s.name} is a {f.title}" for f, some in by.values() for s in some)
    raise BadInput(
        f"{kinds}: files of different formats are imported one at a time, but for a timeline "
        f"({_named(TIMELINES)}) with an {ncu.FORMAT.title} of the same program"
    )


def _joined(
    format: Format, files: Sequence[Source], pages: Sequence[Source], options: Options
) -> Run:
    """A timeline and the counters of its kernels: a GPU's number is one of the timeline's."""
    with decided() as gpus:
        timeline = format.load(files, options)
    of = replace(options, device=named(options.device), beside=gpus[-1] if gpus else None)
    return joined(timeline, ncu.FORMAT.load(pages, of))


def _refuse_idle(options: Options, by: Mapping[str, tuple[Format, Sequence[Source]]]) -> None:
    """Refuse what the user says of files that are not there."""
    for option, (word, formats) in _OF.items():
        if getattr(options, option) is not None and not by.keys() & {f.name for f in formats}:
            kinds = ", ".join(found.title for found, _ in by.values())
            raise BadInput(f"{word} says nothing of a {kinds}; it is for {_named(formats)}")


def _refuse_number(options: Options, by: Mapping[str, tuple[Format, Sequence[Source]]]) -> None:
    """Refuse a GPU by its number where the files do not count them."""
    if numbered(options.device) is not None and not by.keys() <= {f.name for f in NUMBERED}:
        kinds = ", ".join(found.title for found, _ in by.values())
        raise BadInput(
            f"--device {options.device} chooses a GPU of a {_named(NUMBERED)} by its number; "
            f"of a {kinds} --device NAME says what the GPU is"
        )


def foreign_file(path: Path | str) -> bool:
    """Whether `path` is a file that is no saved run; false for what is not there.

    A saved run is read from both its ends, so what comes through a pipe is none.
    """
    try:
        if Path(path).is_fifo():
            return True
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
