"""AMD's profilers: rocprof 1 and 2, rocprofv3 (CSV and JSON), rocprofiler-compute's counters.

Reads    kernel traces, counters by column or by row, statistics of kernels, copies, and the table
         of agents, which names the device; several files of one recording together.
Skips    API traces, samples, markers.
Units    nanoseconds, bytes; FETCH_SIZE and WRITE_SIZE are KiB; grids count work items.
Counters are taken while kernels run one at a time, so such a run says nothing of the time between.
What they mean is in `roofline.counters.amd`.  Samples cannot be recorded here: written by hand.
Spec     ROCprofiler-SDK, "Using rocprofv3", output file fields; rocprof user manual.

dispatch   one kernel dispatch, and the run of many
tables     CSV
document   JSON
"""

from collections.abc import Sequence

from roofline.device import Device
from roofline.devices import resolve
from roofline.errors import BadInput, NotFound
from roofline.importers import torn
from roofline.importers.format import Format, Options, Source
from roofline.importers.lines import Lines, rows
from roofline.importers.marks import mark_of
from roofline.importers.rocprof.dispatch import Dispatch, convert
from roofline.importers.rocprof.document import RECORDS, ROOT, Document
from roofline.importers.rocprof.tables import Tables
from roofline.importers.stated import stated
from roofline.measurement import CacheState
from roofline.runfile import Recorder, Run
from roofline.units import number_of

_COUNTED = ("SQ_", "TCC_", "TCP_", "GRBM_", "FETCH", "WRITE", "Fetch", "Write")
# Every table has one of these; agents alone are no recording but may stand beside one.
_HEADS = (
    (b"Kernel_Name", b"Start_Timestamp"), (b"Kernel_Name", b"Dispatch_I"),
    (b"KernelName", b"gpu-id"), (b"KernelName", b"BeginNs"), (b"Kernel_Name", b"Counter_Name"),
    (b"TotalDurationNs", b"Calls", b"Name"),
    (b'"Direction"', b"Start_Timestamp"), (b"Agent_Type", b"Product_Name"),
)  # fmt: skip


def recognises(head: bytes) -> bool:
    """By column names, or by the root of the JSON document."""
    if head.lstrip()[:1] == b"{":
        return ROOT.encode() in head
    first = head[:65_536]
    return any(all(name in first for name in names) for names in _HEADS)


def load(sources: Sequence[Source], options: Options) -> Run:
    """One run of the files of one recording."""
    tables = Tables()
    products: dict[str, str] = {}
    dispatches: list[Dispatch] = []
    warnings: list[str] = []
    for source in sources:
        if source.head.lstrip()[:1] == b"{":
            whole, said = torn.document(source, RECORDS)
            document = Document(whole)
            dispatches += document.dispatches
            products |= document.products
            warnings += said
        else:
            lines = Lines(source)
            mark, table = mark_of(rows(lines), options, source.name)
            tables.add(table, mark)
            warnings += [lines.early] * bool(lines.early)
    dispatches += tables.dispatches
    products |= tables.products
    if not dispatches:
        raise BadInput(f"{sources[0].name} holds no kernel dispatch")
    counted = any(name.startswith(_COUNTED) for d in dispatches for name in d.counters)
    made = convert(dispatches, counted=counted, keep_private=options.keep_private)
    warnings += made.warnings
    if tables.short:
        warnings.append(f"{number_of(tables.short, 'row')} cut short and left out")
    if tables.skipped:
        warnings.append(f"{tables.skipped} tables were not read: nothing in them is of kernels")
    device = _device(products, made.agent, sources[0].name, options, warnings)
    return Run(
        recorder=Recorder(
            tool="rocprof",
            program=sources[0].name,
            recorded_at="",
            timer="dispatches as the profiler timed them"
            + (", one at a time, while it counted" if counted else ""),
            cache=CacheState.UNKNOWN if counted else CacheState.WARM,
            warnings=tuple(warnings),
        ),
        device=device,
        signatures=made.signatures,
        steps=made.steps,
        gaps=made.gaps,
        events=made.events,
    )


def _device(
    products: dict[str, str], agent: str, file: str, options: Options, warnings: list[str]
) -> Device | None:
    names = {products[agent]} if agent in products else set(products.values())
    if options.device is not None:
        return stated(options.device, file, names, maker="AMD")
    if len(names) != 1:
        warnings.append("the files do not name the GPU; --device NAME does")
        return None
    try:
        return resolve(names.pop())
    except NotFound as unknown:
        warnings.append(f"no ceilings for the device of the recording: {unknown}")
        return None


FORMAT = Format(name="rocprof", title="rocprof recording", recognises=recognises, load=load)
