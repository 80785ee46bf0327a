"""Tables of ``nsys stats --format csv``: the GPU trace and the summary of kernels.

Reads    ``cuda_gpu_trace`` (one row an activity) and ``cuda_gpu_kern_sum`` (one row a kernel:
         as many launches of its average duration), of any version and ``--timeunit``.
Skips    every other report, and a summary beside a trace, and says so.
Units    in the column names: ns, us, ms, s; B, KB, MB as powers of 1000; without one ns and B.
Spec     Nsight Systems User Guide, "Report scripts".
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from roofline.errors import BadInput
from roofline.importers import believed, copies
from roofline.importers.cells import Mark
from roofline.importers.chosen import Gpu, of_several
from roofline.importers.format import Options, Source
from roofline.importers.limits import MOST_BYTES, duration_ns, identifier, moment_ns
from roofline.importers.lines import Lines, rows
from roofline.importers.marks import mark_of
from roofline.importers.nsys.columns import Columns, header_of
from roofline.importers.nsys.configured import LEAST
from roofline.importers.nsys.device import device_of
from roofline.importers.nsys.others import other
from roofline.importers.private import called
from roofline.runfile import Event, Gap, Recorder, Run, Signature, Step, table
from roofline.units import number_of
from roofline.work import unknown

_TOTAL = re.compile(rb'Total Time ?[(,"]')
_BEGINS = re.compile(rb'Start ?\([a-z]+\)"?,"?Duration ?\(')
_NS = {"ns": 1.0, "nsec": 1.0, "us": 1e3, "usec": 1e3, "ms": 1e6, "msec": 1e6, "s": 1e9, "sec": 1e9}
_BYTES = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1024.0**2}
_COPY = re.compile(r"\[CUDA (?P<what>memcpy|memset)(?: (?P<way>[\w-]+))?\]", re.IGNORECASE)
_WAYS = {"host-to-device": "HtoD", "device-to-host": "DtoH", "device-to-device": "DtoD"}
_ON = re.compile(r"(?P<name>.*)\((?P<number>\d+)\)")  # NVIDIA H200 (0)
REPEATED_AT_MOST = 100_000  # launches that one row of a summary is written out as
_TRACE = ("Start", "Duration", "Name")
_SUMMARY = ("Total Time", "Instances", "Name")


@dataclass(slots=True)
class _Found:
    """What is being made."""

    keep_private: bool  # paths in names
    events: list[Event] = field(default_factory=list)
    signatures: list[Signature] = field(default_factory=list)
    numbers: dict[tuple[str, int | None], int] = field(default_factory=dict)
    on: list[str] = field(default_factory=list)  # of each event, what its table calls the device
    summed: list[tuple[str, float, int]] = field(default_factory=list)  # name, mean ns, launches
    undated: dict[str, int] = field(default_factory=dict)  # rows without a start, by device
    untold: int = 0  # rows of a summary without a total or a number of launches
    short: int = 0  # rows that are not as long as their table is wide
    oversized: int = 0  # copies of more bytes than any memory
    skipped: list[str] = field(default_factory=list)

    def number(self, name: str, nbytes: int | None, make: Callable[[], Signature]) -> int:
        """The number of a signature, made when it is new."""
        if (name, nbytes) not in self.numbers:
            self.numbers[name, nbytes] = len(self.signatures)
            self.signatures.append(make())
        return self.numbers[name, nbytes]


def recognises(head: bytes) -> bool:
    """By the column names of either report, with their units as of any year."""
    if b"Name" not in head:
        return False
    summary = _TOTAL.search(head) is not None and b"Instances" in head
    return summary or (_BEGINS.search(head) is not None and b"Strm" in head)


def load(sources: Sequence[Source], options: Options) -> Run:
    """One run of the reports of one recording."""
    found = _Found(options.keep_private)
    warnings: list[str] = []
    for source in sources:
        lines = Lines(source)
        mark, table_rows = mark_of(rows(lines), options, source.name)
        _read(table_rows, mark, found)
        warnings += [lines.early] * bool(lines.early)
    averaged = bool(found.summed) and not found.events
    if averaged:
        _average(found)
    ran, gpu, elsewhere = _of_one(found, options.device, sources[0].name)
    events, apart, doubts = (ran, 0, []) if averaged else _believed(ran)
    if not events:
        raise BadInput(_nothing(found, apart, sources[0].name))
    warnings += [*believed.said(apart + sum(found.undated.values()), 0), *doubts]
    warnings += _warnings(found, averaged)
    device = device_of(gpu.name or None, sources[0].name, options, warnings)
    origin = min(event.start_ns for event in events)
    end = max(e.start_ns + (e.duration_ns or 0) for e in events)
    wall = 0 if averaged else end - origin  # a summary knows nothing of the time between
    return Run(
        recorder=Recorder(
            tool="Nsight Systems",
            program=sources[0].name,
            recorded_at="",
            timer="device activities as the profiler timed them; one step",
            warnings=tuple(warnings),
        ),
        device=device,
        signatures=tuple(found.signatures),
        steps=(Step(start_ns=0, duration_ns=wall),),
        gaps=(*elsewhere, *_unread(found, averaged)),
        events=table(replace(e, start_ns=e.start_ns - origin) for e in events),
    )


def _nothing(found: _Found, apart: int, file: str) -> str:
    if apart or found.undated:
        return f"{file}: no device activity has a usable start"
    if found.untold:
        return f"{file}: no row of its summary has a total time and a number of instances"
    return (
        f"{file} holds no report of kernels: "
        "`nsys stats --report cuda_gpu_trace --format csv` prints one"
    )


def _of_one(found: _Found, option: str | None, file: str) -> tuple[list[Event], Gpu, list[Gap]]:
    """What ran on one GPU, that GPU, and what ran on the others; a summary tells of none.

    The one with most kernel time, unless the user means another: the sum of what ran there.
    """
    named = dict.fromkeys(name for name in (*found.on, *found.undated) if name)
    alone = next(iter(named)) if len(named) == 1 else ""
    by: dict[str, list[Event]] = {}
    for name, event in zip(found.on, found.events, strict=True):
        by.setdefault(name or alone, []).append(event)
    for name in found.undated:
        by.setdefault(name or alone, [])
    if not by:
        return [], Gpu(None), []
    spent = {name: sum(each.duration_ns or 0 for each in ran) for name, ran in by.items()}
    order = sorted(by, key=lambda name: (not by[name], -spent[name]))
    gpus = [_gpu(name) for name in order]
    at = of_several(option, gpus, file)
    gaps = [
        other(name, gpu, gpus, spent[name], len(by[name]))
        for name, gpu in zip(order, gpus, strict=True)
        if name != order[at] and by[name]
    ]
    return by[order[at]], gpus[at], gaps


def _gpu(cell: str) -> Gpu:
    match = _ON.fullmatch(cell)
    return Gpu(identifier(match["number"]), match["name"].rstrip()) if match else Gpu(None, cell)


def _believed(events: Sequence[Event]) -> tuple[list[Event], int, list[str]]:
    """Those with a start that can be, how many have none, and doubts of durations, then None."""
    apart, long = believed.doubtful(
        [e.start_ns for e in events], [e.duration_ns for e in events], [e.stream for e in events]
    )
    kept = [
        replace(e, duration_ns=None) if at in long else e
        for at, e in enumerate(events)
        if at not in apart
    ]
    return kept, len(apart), believed.said(0, len(long))


def _read(table_rows: Iterable[list[str]], mark: Mark, found: _Found) -> None:
    columns: Columns | None = None
    for row in table_rows:
        header = header_of(row, mark)
        if header is not None:
            columns = header
            if not (columns.has(_TRACE) or columns.has(_SUMMARY)):
                found.skipped.append(", ".join(row[:4]))
            continue
        if columns is None or not (columns.has(_TRACE) or columns.has(_SUMMARY)):
            continue
        if len(row) != columns.width:
            found.short += len(row) > 1  # others are the tool's own words
            continue
        if columns.has(_TRACE):
            _trace(row, columns, found)
        else:
            _summary(row, columns, found)


def _trace(row: Sequence[str], columns: Columns, found: _Found) -> None:
    start = moment_ns(columns.value(row, "Start", _NS))
    on = row[columns.at["Device"]].strip() if "Device" in columns.at else ""
    if start is None:
        found.undated[on] = found.undated.get(on, 0) + 1
        return
    nbytes = columns.value(row, "Bytes", _BYTES)
    stream = columns.value(row, "Strm", {})
    found.on.append(on)
    copy = _COPY.match(row[columns.at["Name"]])
    found.events.append(
        Event(
            signature=_signature(row[columns.at["Name"]], nbytes, found),
            kind="memcpy" if copy else "kernel",
            step=0,
            start_ns=start,
            duration_ns=duration_ns(columns.value(row, "Duration", _NS)),
            stream=None if stream is None else identifier(round(stream)),
            counters={} if copy else _launched(row, columns),
        )
    )


def _summary(row: Sequence[str], columns: Columns, found: _Found) -> None:
    total = columns.value(row, "Total Time", _NS)
    times = columns.value(row, "Instances", {})
    if total is None or not times or times < 1:
        found.untold += 1
        return
    found.summed.append((row[columns.at["Name"]], total / times, int(times)))


def _average(found: _Found) -> None:
    """Launches of a summary, one after the other."""
    now = 0
    for name, mean, times in found.summed:
        each = duration_ns(mean) or 0
        written = times if times <= REPEATED_AT_MOST else 1
        signature = _signature(name, None, found)
        found.events += [
            Event(
                signature=signature,
                kind="kernel",
                step=0,
                start_ns=now + each * at,
                duration_ns=each or None,
            )
            for at in range(written)
        ]
        found.on += [""] * written
        now += each * written


def _signature(name: str, nbytes: float | None, found: _Found) -> int:
    copy = _COPY.match(name)
    if copy is None:
        shown = called(name, found.keep_private)
        return found.number(shown, None, lambda: Signature(name=shown, ledger=unknown(shown)))
    way = copy["way"] or ""
    named = (
        "Memset" if copy["what"].lower() == "memset" else f"Memcpy {_WAYS.get(way.lower(), way)}"
    )
    beyond = nbytes is not None and not 0 <= nbytes < MOST_BYTES
    found.oversized += beyond
    size = None if nbytes is None or beyond else round(nbytes)
    return found.number(
        named, size, lambda: Signature(name=named, ledger=copies.ledger(named, size))
    )


def _launched(row: Sequence[str], columns: Columns) -> dict[str, float]:
    """Launch configuration, under the names that a PyTorch trace has for it."""
    found: dict[str, float] = {}
    for name, stem in (("grid", "Grd"), ("block", "Blk")):
        sizes = [columns.value(row, f"{stem}{axis}", {}) for axis in "XYZ"]
        known = [size for size in sizes if size is not None and size >= 1]
        if len(known) == 3:
            found[name] = known[0] * known[1] * known[2]
    registers = columns.value(row, "Reg/Trd", {})
    if registers is not None:
        found["registers per thread"] = registers
    return {name: size for name, size in found.items() if size >= LEAST[name]}


def _unread(found: _Found, averaged: bool) -> Iterator[Gap]:
    if found.summed and not averaged:
        what = (
            f"a summary of {number_of(len(found.summed), 'kernel')}, left out: launches that a "
            "trace lists one by one would count twice"
        )
        yield Gap(name="a summary beside a trace", what=what)
    if found.skipped:
        what = f"{number_of(len(found.skipped), 'report')} in which nothing is of kernels"
        yield Gap(name="other reports", what=what)


def _warnings(found: _Found, averaged: bool) -> list[str]:
    said = []
    if found.short:
        said.append(f"{number_of(found.short, 'row')} cut short and left out")
    if found.oversized:
        said.append(f"unknown, since beyond any memory: bytes of {found.oversized} copies")
    if found.untold:
        said.append(
            "left out, without a total time or a number of instances: "
            f"{number_of(found.untold, 'row')} of a summary"
        )
    if averaged:
        said.append(
            f"launches of {number_of(len(found.summed), 'kernel')} stand with their average "
            "duration"
        )
    return said
