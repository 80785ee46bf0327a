"""Nsight Compute exports: ``ncu --csv`` of any page, and ``.ncu-rep`` through the user's ``ncu``.

Reads    raw page (one row a launch), details page and ``--print-summary`` (one row a metric);
         auto-scaled and base units; UTF-8 and UTF-16, BOM, any line ends; NVTX ranges as modules;
         several tables and several files of the same launches.
Skips    rules and metrics that mean nothing here (counted), the profiled program's own output.
Keeps    ==ERROR== lines: the kernels they name are gaps of the run.
Units    byte, second, hertz, counts in the run; Kbyte is 1000.
Unknown  what the caches held and how the clocks were governed, unless the user says so: the
         profiler flushes and locks by default and its export does not tell.
Spec     Nsight Compute CLI, "CSV and page output"; metric names by chip, "Metrics Reference".
"""

from collections.abc import Iterator, Sequence

from roofline.errors import BadInput
from roofline.importers.chosen import named
from roofline.importers.format import DAMAGE, Format, Options, Source
from roofline.importers.lines import decoded
from roofline.importers.ncu import report
from roofline.importers.ncu.convert import Notes, convert
from roofline.importers.ncu.device import device_of, of_one, together
from roofline.importers.ncu.number import decimal_mark
from roofline.importers.ncu.pages import Launches, wanted
from roofline.importers.ncu.private import scrubbed
from roofline.importers.ncu.text import Text, parse
from roofline.importers.private import pathless
from roofline.measurement import CacheState, ClockState
from roofline.runfile import Gap, Recorder, Run
from roofline.units import number_of

NAMED = 2  # files that a run is called after
PERMISSION = "ERR_NVGPUCTRPERM"
CURE = (
    "this user may not read GPU counters: run as root, in a container with "
    "--cap-add=SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0 "
    "(https://developer.nvidia.com/ERR_NVGPUCTRPERM)"
)

# Beside a kernel's name: a metric, or the column of metrics.
_WORDS = (
    b"Metric Name",
    b"gpu__",
    b"sm__",
    b"smsp__",
    b"dram__",
    b"lts__",
    b"l1tex__",
    b"launch__",
)


def recognises(head: bytes) -> bool:
    """By the column names of any page, the profiler's own lines, or a report's first bytes."""
    if report.recognises(head):
        return True
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.replace(b"\0", b"")
    if any(mark in head for mark in (b"==PROF==", b"==ERROR==", b"==WARNING== No kernels")):
        return True
    return b"Kernel Name" in head and any(word in head for word in _WORDS)


def load(sources: Sequence[Source], options: Options) -> Run:
    """One run from the pages of one profiling session, in one file or several."""
    launches = Launches(str if options.keep_private else pathless)
    notes = Notes()
    skipped: set[str] = set()  # several files leave out the same metrics
    noise = short = 0
    printed = False
    for source in sources:
        text = _read(source)
        for table in text.tables:
            launches.add(table)
            skipped |= table.left_out
        noise += text.noise
        short += text.short
        printed = printed or text.printed
        keep = (lambda line: line) if options.keep_private else scrubbed
        notes.errors += [keep(line) for line in text.errors]
        notes.warnings += [f"Nsight Compute: {keep(line)}" for line in text.warnings]
    if not launches.found and printed:
        raise BadInput(f"{sources[0].name} is the page for people: print it with `--csv`")
    if not launches.found:
        raise BadInput(_nothing([s.name for s in sources], notes))
    mark = options.decimal or decimal_mark(launches.cells(), sources[0].name)
    notes.unread += _unread(len(skipped), len(launches.unnamed), noise)
    if launches.twice:
        some = number_of(len(launches.twice), "metric")
        example = min(launches.twice)
        notes.warnings.append(f"two values of {some} for one launch, so unknown: {example}")
    if short:
        notes.warnings.append(f"{number_of(short, 'row')} cut short and left out")
    found, elsewhere, doubts = of_one(launches.found, options, mark, _program(sources))
    notes.elsewhere += elsewhere
    notes.warnings += doubts
    device, unnamed = device_of(found, named(options.device), mark, _program(sources))
    notes.warnings += [each for each in (unnamed, together(found)) if each]
    return convert(
        found,
        mark,
        recorder=Recorder(
            tool="Nsight Compute",
            program=_program(sources),
            recorded_at="",
            timer="gpu__time_duration of one pass of each launch",
            cache=options.ncu_cache or CacheState.UNKNOWN,
            clock=options.ncu_clock or ClockState.UNKNOWN,
        ),
        device=device,
        notes=notes,
    )


def _program(sources: Sequence[Source]) -> str:
    names = [source.name for source in sources]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _read(source: Source) -> Text:
    if report.recognises(source.head):
        return parse(report.exported(source.path), wanted)
    with source.open() as stream:
        try:
            return parse(decoded(stream, source.head), wanted)
        except DAMAGE as error:
            raise BadInput(f"{source.name} is damaged: {error}") from None


def _unread(columns: int, names: int, noise: int) -> Iterator[Gap]:
    if columns:
        what = f"{number_of(columns, 'column')} that nothing here uses"
        yield Gap(name="metrics", what=what)
    if names:
        what = f"{number_of(names, 'kind')} of rows that nothing here uses"
        yield Gap(name="details page", what=what)
    if noise:
        what = f"{number_of(noise, 'line')} of the program's own among the profiler's"
        yield Gap(name="output", what=what)


def _nothing(files: Sequence[str], notes: Notes) -> str:
    said = [*notes.errors, *(w.removeprefix("Nsight Compute: ") for w in notes.warnings)]
    name = ", ".join(files)
    if any(PERMISSION in line for line in said):
        return f"{name}: no kernel was profiled: {CURE}"
    reason = "; ".join(dict.fromkeys(said)) or "the export has no rows"
    return f"{name}: no kernel was profiled: {reason}"


FORMAT = Format(name="ncu", title="Nsight Compute export", recognises=recognises, load=load)
