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
from roofline.importers.cells import number
from roofline.importers.format import DAMAGE, Format, Options, Source
from roofline.importers.limits import duration_ns
from roofline.importers.lines import decoded, rows
from roofline.runfile import Event, Recorder, Run, Signature, Step, table
from roofline.work import unknown

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


def recognises(head: bytes) -> bool:
    """By the heads of its tables."""
    return b"TABLE," in head and (
        b" Raw," in head or b" Metric," in head or b"Metric STAT," in head
    )


def load(sources: Sequence[Source], options: Options) -> Run:
    """One run of the groups that were counted of one program; a group a file is usual."""
    found = _Found()
    for source in sources:
        try:
            with source.open() as stream:
                _read(rows(decoded(stream, source.head)), found)
        except DAMAGE as error:
            raise BadInput(f"{source.name} is damaged: {error}") from None
    if not found.regions:
        raise BadInput(f"{sources[0].name} holds no table of metrics")
    warnings: list[str] = []
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


def _read(table_rows: Iterable[list[str]], found: _Found) -> None:
    region, of_metrics, statistics, summed = WHOLE, False, False, set[str]()
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
            found.groups += cells[cells.index(kind) + 1 :][:1] if kind else []
        elif first == "Metric":
            found.threads = found.threads if statistics else sum(bool(c) for c in cells[1:])
        elif of_metrics and first:
            metrics = found.regions.setdefault(region, {})
            _metric(first.removesuffix(" STAT"), cells[1:], statistics, metrics, summed)


def _metric(
    name: str, cells: Sequence[str], statistics: bool, into: dict[str, float], summed: set[str]
) -> None:
    """Sum over threads, or the longest time; the table of statistics has them ready."""
    values = [value for cell in cells if (value := number(cell, ".")) is not None]
    if not values:
        return
    if statistics:  # sum, least, most, mean
        most = values[2] if len(values) > 2 else values[0]
        into[name] = most if _NO_SUM.search(name) else values[0]
        summed.add(name)
    elif name not in summed:
        into[name] = max(values) if _NO_SUM.search(name) else sum(values)


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
