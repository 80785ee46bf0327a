"""The saved run: what happened and on what, in one Parquet file (``*.roof``).

The table holds one row an event; the file's own key-value metadata holds one JSON document under
the key ``roofline``: device, signatures with their ledgers, steps, gaps, provenance and version.
Placements and findings are never saved: they are computed when a run is read, so that a better
rule improves old runs.  Nothing of the environment and no path of the user goes into the file.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from roofline import whole
from roofline.call import DTYPE_BYTES, Call
from roofline.device import Device
from roofline.errors import BadInput
from roofline.kept import Kept
from roofline.measurement import CacheState, ClockState
from roofline.work import Count, Ledger

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "roofline.run/1"
_MAGIC = b"PAR1"  # how a Parquet file begins
_KEY = b"roofline"
_READ = 1 << 17  # rows at a time

# "recomputed" is forward work done again within a backward pass (activation checkpointing).
Phase = Literal["forward", "backward", "optimizer", "other", "recomputed"]
# A "replay" is a launch that a profiler of kernels ran again for its counters: in no step, no time
# of the program; its parent is the kernel event that it stands for, whose start it bears.
Kind = Literal["op", "region", "kernel", "memcpy", "launch", "range", "replay"]


LAUNCH_NUMBER = "ID"  # the counter of a replay that holds its place in the profiler's export
NO_COUNTERS = "hardware counters"  # the gap of a run that was to have replays and has none


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One distinct call and what it needs; every event points at one."""

    name: str  # operator, region or kernel name
    call: Call | None = None  # None where only the name is known (a compiled region, a kernel)
    ledger: Ledger | None = None  # as counted when the run was recorded
    executed: Ledger | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened; the columns of the table.  Times are integer nanoseconds."""

    signature: int  # index into Run.signatures
    kind: Kind
    step: int  # index into Run.steps; -1 is outside every step
    start_ns: int  # from the start of the recording
    duration_ns: int | None  # None is not recorded
    phase: Phase = "other"
    module: str = ""  # "" is outside every module
    thread: str = ""
    stream: int | None = None  # device stream of a kernel
    parent: int | None = None  # row of the event that caused this one: a kernel's operator
    page_faults: int | None = None  # minor faults of the process during the event
    # Storages by numbers that are never reused within a run, so that data can be followed from one
    # event to the next: one a tensor of Call.tensors, and one a tensor of Call.outputs (an output
    # that aliases an argument has the argument's number).  Empty is not recorded.
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    # Profiler counters by their own names.  Of one that was sampled and shared out with others that
    # ran in the same sample, "NAME:low" and "NAME:high" bound what the event alone can have.
    counters: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One repetition of the program's work."""

    start_ns: int
    duration_ns: int  # wall time, recorder's own work included
    bookkeeping_ns: int = 0  # of that, spent by the recorder
    # Of that, ready to run while other programs held the processors; None is not known.
    waited_ns: int | None = None
    warmup: bool = False
    name: str = ""
    # All that crossed from its first kernel to its last, sampled; empty is not counted.
    counters: dict[str, float] = field(default_factory=dict)


def waited_share(steps: Sequence[Step]) -> float | None:
    """Share of the measured steps' time in which other programs held the processors.

    None where nobody looked.
    """
    known = [step for step in steps if not step.warmup and step.waited_ns is not None]
    whole = sum(step.duration_ns for step in known)
    # Waiting outside of the step's own time (before its first operator) is not the step's.
    waiting = sum(min(step.waited_ns or 0, step.duration_ns) for step in known)
    return waiting / whole if whole else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something the recording knows it does not hold."""

    name: str  # "thread loader-0", "compiled region"
    what: str  # one sentence
    seconds: float | None = None  # how much, where that is known
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Who recorded, with what, and how far its times can be trusted."""

    tool: str  # "roofline 0.1.0", "torch profiler"
    program: str  # base name of the script or file
    recorded_at: str  # UTC, ISO 8601
    versions: dict[str, str] = field(default_factory=dict)  # torch, python, driver, ...
    threads: int | None = None  # intra-operator CPU threads
    timer: str = ""  # how durations were taken, in words
    overhead_s: float | None = None  # recorder's time inside one event's duration (median)
    shortest_s: float | None = None  # durations below this say more about the recorder
    cache: CacheState = CacheState.WARM
    clock: ClockState = ClockState.UNKNOWN
    # How counters were sampled while the program ran, in words; "" where events have none, or have
    # them of launches that a profiler of kernels ran by themselves.
    counters: str = ""
    exit_code: int | None = None  # of the script; None while unknown
    warnings: tuple[str, ...] = ()  # what was repaired or skipped on the way


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A whole recording."""

    recorder: Recorder
    device: Device | None  # with its ceilings; None when the recording does not name one
    signatures: tuple[Signature, ...]
    steps: tuple[Step, ...]
    gaps: tuple[Gap, ...]
    events: "pa.Table"
    replays: Recorder | None = None  # who replayed kernels, and in which state; None: nobody did

    def rows(self) -> list[dict[str, Any]]:
        """The events as dictionaries, in order; keys are the fields of `Event`."""
        rows: list[dict[str, Any]] = self.events.to_pylist()
        for row in rows:
            row["counters"] = dict(row["counters"] or ())
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    schema: str
    recorder: Recorder
    device: Device | None
    signatures: tuple[Signature, ...]
    steps: tuple[Step, ...]
    gaps: tuple[Gap, ...]
    replays: Recorder | None = None


def table(events: Iterable[Event]) -> "pa.Table":
    """Events as the columns of a run."""
    import pyarrow as pa

    events = list(events)
    columns = {f.name: [getattr(e, f.name) for e in events] for f in fields(Event)}
    columns["counters"] = [list(c.items()) for c in columns["counters"]]
    return pa.table(columns, schema=arrow_schema())


def arrow_schema() -> "pa.Schema":
    """The columns of the events table with their types."""
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([
        ("signature", pa.int32()), ("kind", text), ("step", pa.int32()),
        ("start_ns", pa.int64()), ("duration_ns", pa.int64()),
        ("phase", text), ("module", text), ("thread", text),
        ("stream", pa.int64()), ("parent", pa.int64()), ("page_faults", pa.int64()),
        ("reads", pa.list_(pa.int64())), ("writes", pa.list_(pa.int64())),
        ("counters", pa.map_(pa.string(), pa.float64())),
    ])  # fmt: skip


def place_for(path: Path) -> Path:
    """The full path of a run file that is to be written.

    Raises BadInput where it could not be, or would take the place of a file that is no run.
    """
    return whole.place_for(path, _MAGIC, "run file")


def _events(path: Path) -> "pa.Table":
    """The table of a run file with its metadata: in memory where it is small, else mapped."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kept = Kept()
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        schema = file.schema_arrow
        for batch in file.iter_batches(batch_size=_READ):
            kept.add(_KEY, pa.Table.from_batches([batch]))
    rows = kept.take(_KEY)
    rows = schema.empty_table() if rows is None else rows
    return rows.replace_schema_metadata(schema.metadata)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def save(run: Run, path: Path) -> None:
    """Write `run` to `path`, whole or not at all; an earlier file stays until then."""
    import pyarrow.parquet as pq

    document = _Document(
        schema=SCHEMA,
        recorder=run.recorder,
        device=run.device,
        signatures=run.signatures,
        steps=run.steps,
        gaps=run.gaps,
        replays=run.replays,
    )
    meta = {_KEY: msgspec.json.encode(document)}
    with whole.whole(path) as file:
        events = run.events.replace_schema_metadata(meta)
        pq.write_table(events, file, compression="zstd", write_page_checksum=True)


def load(path: Path) -> Run:
    """Read a run.  A file of a newer schema, or of another kind, is refused in one sentence."""
    import pyarrow as pa

    if path.is_dir():
        raise BadInput(f"{path} is a folder; name the run file")
    try:
        if not _is_parquet(path):
            raise BadInput(f"{path} is no run file; `roofline import` reads those of profilers")
        events = _events(path)
    except FileNotFoundError:
        raise BadInput(f"no run file {path}") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        reason = "its end is missing" if "magic bytes not found" in reason else reason
        raise BadInput(f"{path} cannot be read as a run file: {reason}") from None
    meta = (events.schema.metadata or {}).get(_KEY)
    if meta is None:
        raise BadInput(f"{path} is a Parquet file but not a roofline run")
    try:
        schema = msgspec.json.decode(meta, type=dict[str, Any]).get("schema")
        if schema != SCHEMA:
            raise BadInput(f"{path} is written as {schema}; this version reads {SCHEMA}")
        document = msgspec.json.decode(meta, type=_Document)
    except msgspec.DecodeError as error:
        raise BadInput(f"{path} is damaged: {error}") from None
    wanted = arrow_schema()
    if absent := [name for name in wanted.names if name not in events.column_names]:
        raise BadInput(f"{path} is damaged: no column {', '.join(absent)}")
    named = events["signature"].unique().to_pylist()
    if any(index is None or not 0 <= index < len(document.signatures) for index in named):
        raise BadInput(f"{path} is damaged: an event names a signature that is not there")
    return Run(
        recorder=document.recorder,
        device=document.device,
        signatures=tuple(map(_understood, document.signatures)),
        steps=document.steps,
        gaps=document.gaps,
        events=events.select(wanted.names),
        replays=document.replays,
    )


def _understood(signature: Signature) -> Signature:
    """Without its call where that has element types that nobody here knows the size of.

    What was counted when it was recorded stays; where nothing was, it is named as unknown.
    """
    call = signature.call
    tensors = () if call is None else (*call.tensors, *call.outputs)
    strange = dict.fromkeys(t.dtype for t in tensors if t.dtype not in DTYPE_BYTES)
    if not strange:
        return signature
    why = f"not accounted for: no element type {', '.join(strange)} is known"
    unknown = Ledger(Count.ALGORITHMIC, unaccounted=(signature.name,), conventions=(why,))
    return replace(signature, call=None, ledger=signature.ledger or unknown)
