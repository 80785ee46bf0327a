"""The Empirical Roofline Tool's ``roofline.json``: measured ceilings of a machine.

Reads    bandwidths by level (``gbytes``) and flop rates by precision (``gflops``).
Skips    everything else of the document; host names among it.
Units    GB/s and GFLOP/s, powers of 1000; a rate without a precision is taken as fp64, the tool's
         default, and said.
Samples cannot be recorded here: written by hand.
Spec     CS Roofline Toolkit, ERT Users' Manual, "Output".
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from roofline.device import (
    DRAM,
    L1,
    L2,
    L3,
    TENSOR_FP16,
    VECTOR_FP16,
    VECTOR_FP32,
    VECTOR_FP64,
    Ceiling,
    Resource,
)
from roofline.errors import BadInput
from roofline.importers import torn
from roofline.importers.ceilings import dated, measured, run_of
from roofline.importers.format import Format, Options, Source, one
from roofline.runfile import Run

_LEVELS: dict[str, Resource] = {
    "dram": DRAM, "hbm": DRAM, "l1": L1, "l2": L2, "l3": L3,
}  # fmt: skip
_PRECISIONS: tuple[tuple[str, Resource], ...] = (
    (r"tensor|tc\b", TENSOR_FP16), (r"fp64|dp\b|double", VECTOR_FP64),
    (r"fp32|sp\b|single", VECTOR_FP32), (r"fp16|hp\b|half", VECTOR_FP16),
)  # fmt: skip


def recognises(head: bytes) -> bool:
    """JSON with both kinds of its numbers."""
    return head.lstrip()[:1] == b"{" and b'"gbytes"' in head and b'"gflops"' in head


def load(sources: Sequence[Source], options: Options) -> Run:
    """The ceilings of one document."""
    source = one(sources, "set of ceilings")
    document, warnings = torn.document(source)
    empirical = document.get("empirical", document) if isinstance(document, dict) else {}
    ceilings = list(_ceilings(empirical, source, warnings))
    if not ceilings:
        raise BadInput(f"{source.name} holds no bandwidth or flop rate that is known here")
    on_gpu = any("hbm" in c.provenance.source.lower() for c in ceilings)
    return run_of(
        ceilings, source, options, tool="Empirical Roofline Tool",
        name="device measured by ERT", kind="gpu" if on_gpu else "cpu", warnings=warnings,
    )  # fmt: skip


def _ceilings(document: Any, source: Source, warnings: list[str]) -> Iterator[Ceiling]:
    for name, rate in _pairs(document, "gbytes"):
        level = _LEVELS.get(re.split(r"[\s_-]", name.strip().lower())[0])
        if level is None:
            warnings.append(f"no boundary {name!r} is known here")
        else:
            yield measured(level, rate * 1e9, f"ERT, {source.name}, {name}", dated(source))
    for name, rate in _pairs(document, "gflops"):
        pipe = next((p for text, p in _PRECISIONS if re.search(text, name.lower())), None)
        if pipe is None:
            warnings.append(f"{name!r} names no precision: taken as fp64, the tool's default")
        where = f"ERT, {source.name}, {name}"
        yield measured(pipe or VECTOR_FP64, rate * 1e9, where, dated(source))


def _pairs(document: Any, key: str) -> Iterator[tuple[str, float]]:
    """Name and rate of every line under `key`: ``[["L1", 3000.0], ...]``."""
    held = document.get(key) if isinstance(document, dict) else None
    lines = held.get("data") if isinstance(held, dict) else held
    for line in lines if isinstance(lines, list) else []:
        if isinstance(line, list) and len(line) > 1 and isinstance(line[0], str):
            rate = line[1]
            if isinstance(rate, int | float) and 0 < rate < 1e9:
                yield line[0], float(rate)


FORMAT = Format(name="ert", title="ERT roofline", recognises=recognises, load=load)
