"""Nsight Systems: SQLite exports (``nsys export --type sqlite``), and the tables of ``nsys stats``.

Reads    kernels with their launch configuration, whole graphs where these were recorded without
         their kernels, copies and memsets with their bytes, launches of the runtime and the driver,
         NVTX push/pop ranges (as modules; ``step 3`` and its like as steps), the GPU's name, schema
         versions 2 and 3 with tables of any ``_V`` version.
Skips    operating system calls, samples, marks and ranges across threads, metrics; environment,
         command lines, host and user names are never read.
Joins    a kernel and its launch by correlation id and process.
Units    nanoseconds and bytes.
Spec     Nsight Systems User Guide, "SQLite Schema Reference".

schema     which tables and columns this file has
cut        whether all of the file is there
beside     what stands beside it: a write-ahead log, a journal
database   a database opened, its queries answered a batch at a time
gathered   batches -> columns, what repeats as numbers
read       the tables, under fixed names
ranges     NVTX ranges -> what holds on a thread from when on
times      which times are believed, what ran before the recording, which steps hold something
graphs     launches of whole graphs
launched   activity -> launch
single     which device the run is of
others     what ran on devices that the run is not of
joins      activity, launch, range
convert    all of it as the parts of a run
device     what it ran on
stats      the tables that ``nsys stats --format csv`` prints
columns    their columns, with units
"""

from collections.abc import Mapping, Sequence

from roofline.errors import BadInput
from roofline.importers.format import Format, Options, Source, one
from roofline.importers.nsys import stats
from roofline.importers.nsys.device import device_of
from roofline.runfile import Recorder, Run
from roofline.units import number_of

MAGIC = b"SQLite format 3\0"
_TABLES = (b"CUPTI_ACTIVITY_KIND", b"NVTX_EVENTS", b"TARGET_INFO", b"META_DATA_EXPORT")


def recognises(head: bytes) -> bool:
    """An SQLite file that defines a table of the profiler's."""
    return head.startswith(MAGIC) and any(table in head for table in _TABLES)


def load(sources: Sequence[Source], options: Options) -> Run:
    """One database -> one run, of the GPU that the user means, else that with most kernel time."""
    from roofline.importers.nsys.convert import convert
    from roofline.importers.nsys.cut import AGAIN
    from roofline.importers.nsys.database import Damaged, on_disk
    from roofline.importers.nsys.joins import join
    from roofline.importers.nsys.ranges import timeline
    from roofline.importers.nsys.read import read

    source = one(sources, "Nsight Systems database")
    with on_disk(source) as plain:
        try:
            database = read(plain.path, source.name, options.keep_private)
        except Damaged as error:
            if not plain.missing:
                raise
            raise BadInput(f"{source.name} is cut: {plain.missing}; {AGAIN}") from error
    if not database.rows["activities"].num_rows:
        raise BadInput(f"{source.name}: nothing ran on a GPU while it was recorded")
    line = timeline(database.ranges)
    joined = join(database, line, options.device, source.name)
    made = convert(joined, database, line)
    lost = f"{plain.missing}, so rows that stood there are lost or wrong"
    warnings = [f"the file is cut: {lost}; {AGAIN}"] * bool(plain.missing)
    warnings += [*plain.doubts, *database.lacks, *joined.warnings, *made.warnings]
    name = _named(database.gpus, joined.device)
    device = device_of(name, source.name, options, warnings)
    how = (
        f"{number_of(len(made.steps), 'step')} by NVTX ranges"
        if made.marked
        else "one step: no range marks any"
    )
    return Run(
        recorder=Recorder(
            tool="Nsight Systems",
            program=source.name,
            recorded_at="",
            versions=_versions(database.export),
            timer=f"device activities as the profiler timed them; {how}",
            warnings=tuple(warnings),
        ),
        device=device,
        signatures=made.signatures,
        steps=made.steps,
        gaps=(*joined.gaps, *made.gaps),
        events=made.events,
    )


def _versions(export: Mapping[str, str]) -> dict[str, str]:
    names = {
        "EXPORT_PRODUCT_VERSION": "Nsight Systems", "EXPORT_SCHEMA_VERSION": "export schema",
    }  # fmt: skip
    return {names[key]: value for key, value in export.items() if key in names}


def _named(gpus: Mapping[int, str], used: int | None) -> str | None:
    """What the file calls the device in use; where that has no number, all have to be alike."""
    name = gpus.get(used) if used is not None else None
    alike = set(gpus.values())
    return next(iter(alike)) if name is None and len(alike) == 1 else name


DATABASE = Format(name="nsys", title="Nsight Systems database", recognises=recognises, load=load)
STATS = Format(
    name="nsys_stats",
    title="Nsight Systems statistics",
    recognises=stats.recognises,
    load=stats.load,
)
