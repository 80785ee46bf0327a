"""rocprofiler-compute's ``roofline.csv``: measured ceilings of the AMD GPUs of a node.

Reads    bandwidths and rates of the first device, with the interval of each; the model from
         ``sysinfo.csv`` where that is given too.
Skips    rates that no pipe here stands for (fp32 matrix instructions), and says so; host names and
         the command of ``sysinfo.csv``.
Units    GB/s, GFLOP/s and GOP/s; the columns do not say.
Samples cannot be recorded here: written by hand.
Spec     ROCm Compute Profiler, "Standalone roofline".
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from roofline.device import (
    DRAM,
    L1,
    L2,
    SHARED,
    TENSOR_BF16,
    TENSOR_FP8,
    TENSOR_FP16,
    TENSOR_FP64,
    TENSOR_INT8,
    VECTOR_FP16,
    VECTOR_FP32,
    VECTOR_FP64,
    Ceiling,
    Resource,
)
from roofline.errors import BadInput
from roofline.importers.ceilings import dated, measured, run_of
from roofline.importers.cells import Mark, number
from roofline.importers.format import Format, Options, Source
from roofline.importers.lines import Lines, rows
from roofline.importers.marks import mark_of
from roofline.provenance import Spread
from roofline.runfile import Run
from roofline.units import number_of

# column, lower case -> resource; None is a rate of no pipe here
COLUMNS: dict[str, Resource | None] = {
    "hbmbw": DRAM, "l2bw": L2, "l1bw": L1, "ldsbw": SHARED,
    "fp16flops": VECTOR_FP16, "fp32flops": VECTOR_FP32, "fp64flops": VECTOR_FP64,
    "mfmabf16flops": TENSOR_BF16, "mfmaf16flops": TENSOR_FP16, "mfmaf64flops": TENSOR_FP64,
    "mfmaf8flops": TENSOR_FP8, "mfmai8ops": TENSOR_INT8, "mfmaf32flops": None,
    "mfmaxf32flops": None,
}  # fmt: skip


def recognises(head: bytes) -> bool:
    """By its columns, or by those of the table of the system that lies beside it."""
    return (b"HBMBw" in head and b"L2Bw" in head) or (b"gpu_model" in head and b"gpu_arch" in head)


def load(sources: Sequence[Source], options: Options) -> Run:
    """The ceilings of the first device of a node."""
    found: list[dict[str, str]] = []
    held, model, others = sources[0], "", 0
    decimal: Mark = "."
    early: list[str] = []
    for source in sources:
        lines = Lines(source)
        mark, table = mark_of(rows(lines), options, source.name)
        read = _records(table)
        early += [lines.early] * bool(lines.early)
        if read and "HBMBw" in read[0]:
            found, held, others, decimal = read[:1], source, len(read) - 1, mark
        elif read:
            model = read[0].get("gpu_model") or ""
    if not found:
        raise BadInput(f"{held.name} holds no ceilings: roofline.csv does")
    columns = {name.lower(): value for name, value in found[0].items() if value}
    ceilings = [
        made
        for name, resource in COLUMNS.items()
        if resource and (made := _ceiling(name, resource, columns, held, decimal))
    ]
    if not ceilings:
        raise BadInput(f"{held.name} holds no rate that is known here")
    none_here = [name for name, r in COLUMNS.items() if r is None and name in columns]
    warnings = early
    if none_here:
        warnings.append(f"no pipe here stands for {', '.join(none_here)}")
    if others:
        warnings.append(f"measured too, and left out: {number_of(others, 'other device')}")
    return run_of(
        ceilings, held, options, tool="rocprofiler-compute",
        name=f"AMD {model}" if model else "device measured by rocprofiler-compute", kind="gpu",
        warnings=warnings,
    )  # fmt: skip


def _records(table: Iterator[list[str]]) -> list[dict[str, str]]:
    """The whole rows of a table by the names of its columns."""
    names = next(table, [])
    return [dict(zip(names, row, strict=True)) for row in table if len(row) == len(names)]


def _ceiling(
    name: str, resource: Resource, columns: dict[str, str], source: Source, mark: Mark
) -> Ceiling | None:
    rate = number(columns.get(name, ""), mark)
    if rate is None or rate <= 0:
        return None
    made = measured(resource, rate * 1e9, f"rocprofiler-compute, {source.name}", dated(source))
    low, high = (number(columns.get(f"{name}{end}", ""), mark) for end in ("low", "high"))
    if low is None or high is None:
        return made
    spread = Spread(
        n=1, median=rate * 1e9, q1=low * 1e9, q3=high * 1e9, best=high * 1e9,
        low=low * 1e9, high=high * 1e9,
    )  # fmt: skip
    return replace(made, provenance=replace(made.provenance, spread=spread))


FORMAT = Format(
    name="rocprof_compute", title="rocprofiler-compute roofline", recognises=recognises, load=load
)
