"""likwid-perfctr's CSV (``-O``, or ``-o FILE.csv``): regions of a program on a CPU.

Reads    the metrics of every region and group: summed over threads where the table of statistics
         is there, else the sum of its columns; the region's runtime is its longest thread's; the
         processor's name.
Skips    raw events; what the metrics mean is in `roofline.counters.likwid`.
Units    in the metrics' names, kept.
Samples cannot be recorded here: written by hand.
Spec     likwid wiki, "likwid-perfctr", CSV output.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from roofline.counters.likwid import RUNTIME
from roofline.device import Device
from roofline.devices import resolve
from roofline.errors import BadInput, NotFound
from roofline.importers.cells import Mark, number
from roofline.importers.format import Format, Options, Source
from roofline.importers.limits import duration_ns
from roofline.importers.lines import Lines, rows
from roofline.importers.marks import mark_of
from roofline.runfile import Event, Recorder, Run, Signature, Step, table
from roofline.work import unknown

_STATISTICS = ("Sum", "Min", "Max", "Avg")  # of a table that does not head them
WHOLE = "program"  # without the marker interface there is one region
# Adding these over threads says nothing: a time, a ratio, a clock.
_NO_SUM = re.compile(r"\[s\]|\bCPI\b|intensity|ratio|\[%\]|\[MHz\]|clock|\brate\b", re.IGNORECASE)


@dataclass(slots=True)
class _Found:
    """What the tables of some files hold."""

    processor: str = ""
    threads: int = 0
    groups: list[str] = field(default_factory=list)
    regions: dict[str, dict[str, float]] = field(default_factory=dict)  # metrics, summed
    unknown: set[str] = field(default_factory=set)  # metrics with a cell that is no number


def recognises(head: bytes) -> bool:
    """By the heads of its tables."""
    return b"TABLE," in head and (
        b" Raw," in head or b" Metric," in head or b"Metric STAT," in head
    )


def load(sources: Sequence[Source], options: Options) -> Run:
    """One run of the groups that were counted of one program; a group a file is usual."""
    found = _Found()
    warnings: list[str] = []
    for source in sources:
        lines = Lines(source)
        mark, table_rows = mark_of(rows(lines), options, source.name)
        _read(table_rows, mark, found)
        warnings += [lines.early] * bool(lines.early)
    if not found.regions:
        raise BadInput(f"{sources[0].name} holds no table of metrics")
    if found.unknown:
        warnings.append(
            f"unknown, since not a number in every cell: {', '.join(sorted(found.unknown))}"
        )
    device = _device(found.processor, options, warnings)
    events, now = [], 0
    for at, metrics in enumerate(found.regions.values()):
        seconds = metrics.get(RUNTIME)
        duration = None if seconds is None else duration_ns(seconds * 1e9)
        events.append(
            Event(
                signature=at, kind="region", step=0, start_ns=now, duration_ns=duration,
                counters=metrics,
            )
        )  # fmt: skip
        now += duration or 0
    return Run(
        recorder=Recorder(
            tool="likwid-perfctr",
            program=sources[0].name,
            recorded_at="",
            threads=found.threads or None,
            timer=f"runtime of each region; groups {', '.join(dict.fromkeys(found.groups))}",
            warnings=tuple(warnings),
        ),
        device=device,
        signatures=tuple(Signature(name=name, ledger=unknown(name)) for name in found.regions),
        steps=(Step(start_ns=0, duration_ns=0, name="profiled regions"),),
        gaps=(),
        events=table(events),
    )


def _read(table_rows: Iterable[list[str]], mark: Mark, found: _Found) -> None:
    region, of_metrics, statistics, summed = WHOLE, False, False, set[str]()
    columns: Sequence[str] = _STATISTICS
    for row in table_rows:
        cells = [cell.strip() for cell in row]
        first = cells[0] if cells else ""
        if first == "CPU name:" and len(cells) > 1:
            found.processor = cells[1]
        elif first == "TABLE" and len(cells) > 2:
            names = [cell for cell in cells if cell.startswith("Region ")]
            region = names[0].removeprefix("Region ") if names else WHOLE
            kind = next((cell for cell in cells if cell.startswith("Group ")), "")
            of_metrics = " Metric" in kind
            statistics = kind.endswith("STAT")
            columns = _STATISTICS
            found.groups += cells[cells.index(kind) + 1 :][:1] if kind else []
        elif first == "Metric" and statistics:
            columns = tuple(cells[1:])
        elif first == "Metric":
            found.threads = sum(bool(c) for c in cells[1:])
        elif of_metrics and first:
            name = first.removesuffix(" STAT")
            metrics = found.regions.setdefault(region, {})
            if statistics:
                value = _statistic(name, cells[1:], columns, mark)
                summed.add(name)
            elif name in summed:
                continue
            else:
                value = _over_threads(name, [cell for cell in cells[1:] if cell], mark)
            if value is None:
                metrics.pop(name, None)
                found.unknown.add(name)
            else:
                metrics[name] = value


def _statistic(name: str, cells: Sequence[str], columns: Sequence[str], mark: Mark) -> float | None:
    """The sum over threads that the profiler made, or the most where a sum says nothing."""
    wanted = "Max" if _NO_SUM.search(name) else "Sum"
    at = columns.index(wanted) if wanted in columns else len(cells)
    return number(cells[at], mark) if at < len(cells) else None


def _over_threads(name: str, cells: Sequence[str], mark: Mark) -> float | None:
    """The sum over threads, or the most where a sum says nothing; None where one is not known."""
    values = [value for cell in cells if (value := number(cell, mark)) is not None]
    if not values or len(values) < len(cells):
        return None
    return max(values) if _NO_SUM.search(name) else sum(values)


def _device(processor: str, options: Options, warnings: list[str]) -> Device | None:
    name = options.device or processor
    if not name:
        warnings.append("the file does not name the processor; --device NAME does")
        return None
    try:
        return resolve(name)
    except NotFound as unknown_device:
        if options.device is not None:
            raise
        warnings.append(f"no ceilings for the processor of the recording: {unknown_device}")
        return None


FORMAT = Format(name="likwid", title="likwid-perfctr CSV", recognises=recognises, load=load)
