"""Tables of ``nsys stats --format csv``: the GPU trace and the summary of kernels.

Reads    ``cuda_gpu_trace`` (one row an activity) and ``cuda_gpu_kern_sum`` (one row a kernel:
         as many launches of its average duration), of any version and ``--timeunit``.
Skips    every other report, and says so.
Units    in the column names: ns, us, ms, s; B, KB, MB as powers of 1000.
Spec     Nsight Systems User Guide, "Report scripts".
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from roofline.called import readable
from roofline.devices import resolve
from roofline.errors import BadInput
from roofline.importers import copies
from roofline.importers.cells import number
from roofline.importers.format import Options, Source
from roofline.importers.limits import duration_ns, identifier, moment_ns
from roofline.importers.lines import decoded, rows
from roofline.runfile import Event, Gap, Recorder, Run, Signature, Step, table
from roofline.units import number_of
from roofline.work import unknown

_HEAD = re.compile(r"\s*(?P<name>[^()]*?)\s*(?:\((?P<unit>[^()]*)\))?\s*")
_NS = {"ns": 1.0, "nsec": 1.0, "us": 1e3, "usec": 1e3, "ms": 1e6, "msec": 1e6, "s": 1e9, "sec": 1e9}
_BYTES = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1024.0**2}
_MOST_BYTES = 1e18  # of one copy; above this a number is damage
_COPY = re.compile(r"\[CUDA (?P<what>memcpy|memset)(?: (?P<way>[\w-]+))?\]", re.IGNORECASE)
_WAYS = {"host-to-device": "HtoD", "device-to-host": "DtoH", "device-to-device": "DtoD"}
REPEATED_AT_MOST = 100_000  # launches that one row of a summary is written out as
_TRACE = ("Start", "Duration", "Name")
_SUMMARY = ("Total Time", "Instances", "Name")


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where each column is, and its unit."""

    at: dict[str, int]
    unit: dict[str, str]
    width: int

    def has(self, names: Sequence[str]) -> bool:
        return all(name in self.at for name in names)

    def value(self, row: Sequence[str], name: str, units: dict[str, float]) -> float | None:
        """A number in base units; None where the column or the number is absent."""
        if name not in self.at:
            return None
        found = number(row[self.at[name]], ".")
        return None if found is None else found * units.get(self.unit[name], 1.0)


@dataclass(slots=True)
class _Found:
    """What is being made."""

    events: list[Event] = field(default_factory=list)
    signatures: list[Signature] = field(default_factory=list)
    numbers: dict[tuple[str, int | None], int] = field(default_factory=dict)
    devices: set[str] = field(default_factory=set)
    averaged: int = 0
    skipped: list[str] = field(default_factory=list)

    def number(self, name: str, nbytes: int | None, make: Callable[[], Signature]) -> int:
        """The number of a signature, made when it is new."""
        if (name, nbytes) not in self.numbers:
            self.numbers[name, nbytes] = len(self.signatures)
            self.signatures.append(make())
        return self.numbers[name, nbytes]


def recognises(head: bytes) -> bool:
    """By the column names of either report."""
    if b"Name" not in head:
        return False
    summary = b"Total Time (" in head and b"Instances" in head
    return summary or (b"Start (" in head and b"Duration (" in head and b"Strm" in head)


def load(sources: Sequence[Source], options: Options) -> Run:
    """One run of the reports of one recording."""
    found = _Found()
    for source in sources:
        with source.open() as stream:
            _read(rows(decoded(stream, source.head)), found)
    if not found.events:
        raise BadInput(
            f"{sources[0].name} holds no report of kernels: "
            "`nsys stats --report cuda_gpu_trace --format csv` prints one"
        )
    origin = min(event.start_ns for event in found.events)
    end = max(e.start_ns + (e.duration_ns or 0) for e in found.events)
    wall = 0 if found.averaged else end - origin  # a summary knows nothing of the time between
    return Run(
        recorder=Recorder(
            tool="Nsight Systems",
            program=sources[0].name,
            recorded_at="",
            timer="device activities as the profiler timed them; one step",
            warnings=tuple(_warnings(found)),
        ),
        device=None if options.device is None else resolve(options.device),
        signatures=tuple(found.signatures),
        steps=(Step(start_ns=0, duration_ns=wall),),
        gaps=tuple(_unread(found)),
        events=table(replace(e, start_ns=e.start_ns - origin) for e in found.events),
    )


def _read(table_rows: Iterable[Sequence[str]], found: _Found) -> None:
    columns: _Columns | None = None
    for row in table_rows:
        header = _header(row)
        if header is not None:
            columns = header
            if not (columns.has(_TRACE) or columns.has(_SUMMARY)):
                found.skipped.append(", ".join(row[:4]))
            continue
        if columns is None or len(row) != columns.width:
            continue
        if columns.has(_TRACE):
            _trace(row, columns, found)
        elif columns.has(_SUMMARY):
            _summary(row, columns, found)


def _header(row: Sequence[str]) -> _Columns | None:
    if not any(cell.strip() in ("Name", "Operation") for cell in row):
        return None
    cells = [match for cell in row if (match := _HEAD.fullmatch(cell))]
    if len(cells) != len(row):
        return None
    names = [match["name"] for match in cells]
    units = {match["name"]: match["unit"] or "" for match in cells}
    return _Columns({name: at for at, name in enumerate(names)}, units, len(row))


def _trace(row: Sequence[str], columns: _Columns, found: _Found) -> None:
    start = moment_ns(columns.value(row, "Start", _NS))
    if start is None:
        return
    nbytes = columns.value(row, "Bytes", _BYTES)
    stream = columns.value(row, "Strm", {})
    if "Device" in columns.at:
        found.devices.add(row[columns.at["Device"]])
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


def _summary(row: Sequence[str], columns: _Columns, found: _Found) -> None:
    total = columns.value(row, "Total Time", _NS)
    times = columns.value(row, "Instances", {})
    if total is None or not times or times < 1:
        return
    mean = duration_ns(total / times) or 0
    written = int(times) if times <= REPEATED_AT_MOST else 1
    signature = _signature(row[columns.at["Name"]], None, found)
    now = found.events[-1].start_ns + (found.events[-1].duration_ns or 0) if found.events else 0
    found.events += [
        Event(
            signature=signature,
            kind="kernel",
            step=0,
            start_ns=now + mean * at,
            duration_ns=mean or None,
        )
        for at in range(written)
    ]
    found.averaged += 1


def _signature(name: str, nbytes: float | None, found: _Found) -> int:
    copy = _COPY.match(name)
    if copy is None:
        shown = readable(name)
        return found.number(shown, None, lambda: Signature(name=shown, ledger=unknown(shown)))
    way = copy["way"] or ""
    named = (
        "Memset" if copy["what"].lower() == "memset" else f"Memcpy {_WAYS.get(way.lower(), way)}"
    )
    size = None if nbytes is None or not 0 <= nbytes < _MOST_BYTES else round(nbytes)
    return found.number(
        named, size, lambda: Signature(name=named, ledger=copies.ledger(named, size))
    )


def _launched(row: Sequence[str], columns: _Columns) -> dict[str, float]:
    """Launch configuration, under the names that a PyTorch trace has for it."""
    found: dict[str, float] = {}
    for name, stem in (("grid", "Grd"), ("block", "Blk")):
        sizes = [columns.value(row, f"{stem}{axis}", {}) for axis in "XYZ"]
        known = [size for size in sizes if size is not None]
        if len(known) == 3:
            found[name] = known[0] * known[1] * known[2]
    registers = columns.value(row, "Reg/Trd", {})
    if registers is not None:
        found["registers per thread"] = registers
    return found


def _unread(found: _Found) -> Iterator[Gap]:
    if found.skipped:
        what = f"{number_of(len(found.skipped), 'report')} in which nothing is of kernels"
        yield Gap(name="other reports", what=what)


def _warnings(found: _Found) -> list[str]:
    said = []
    if found.averaged:
        said.append(
            f"launches of {number_of(found.averaged, 'kernel')} stand with their average duration"
        )
    if len(found.devices) > 1:
        said.append(f"{len(found.devices)} devices are in one run: their times overlap")
    return said
