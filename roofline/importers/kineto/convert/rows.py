"""Numbers in columns of the importer -> rows of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.importers.kineto.join.phases import PHASES
from roofline.importers.rows import events, worded
from roofline.runfile import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = ("op", "range", "kernel", "memcpy", "launch")
OP, RANGE, KERNEL, MEMCPY, LAUNCH = range(len(KINDS))


@dataclass(frozen=True, slots=True)
class Words:
    """What the numbers in the columns stand for; 0 is the empty word."""

    modules: Sequence[str]
    threads: Sequence[str]
    counters: Sequence[dict[str, float]]


def table(columns: dict[str, Any], words: Words) -> "pa.Table":
    """Rows as in `runfile.Run.events`; columns that are not given are null or empty.

    kind, phase, module, thread and counters are numbers that `words` and this file spell out.
    """
    import pyarrow as pa

    spelled = {"kind": KINDS, "phase": PHASES, "module": words.modules, "thread": words.threads}
    columns = dict(columns)
    for name, texts in spelled.items():
        if name in columns:
            columns[name] = worded(texts, columns[name])
    if "counters" in columns:
        pairs = [list(each.items()) for each in words.counters]
        distinct = pa.array(pairs, arrow_schema().field("counters").type)
        columns["counters"] = distinct.take(columns["counters"])
    return events(columns)
