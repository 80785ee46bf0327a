"""Rows of a run, from columns of the importer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from roofline.runfile import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = ("op", "range", "kernel", "memcpy", "launch")
OP, RANGE, KERNEL, MEMCPY, LAUNCH = range(len(KINDS))
PHASES = ("forward", "backward", "optimizer", "other", "recomputed")
FORWARD, BACKWARD, OPTIMIZER, OTHER, RECOMPUTED = range(len(PHASES))
_SHARED = 65_536  # rows of nothing that stand for as many more


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

    schema, count = arrow_schema(), len(columns["signature"])
    spelled = {"kind": KINDS, "phase": PHASES, "module": words.modules, "thread": words.threads}
    columns = dict(columns)
    for name, texts in spelled.items():
        if name in columns:
            numbers = columns[name].cast(pa.int32())
            columns[name] = pa.DictionaryArray.from_arrays(numbers, pa.array(texts, pa.string()))
    if "counters" in columns:
        pairs = [list(each.items()) for each in words.counters]
        distinct = pa.array(pairs, schema.field("counters").type)
        columns["counters"] = distinct.take(columns["counters"])
    for name in schema.names:
        if name not in columns:
            columns[name] = _nothing(schema.field(name).type, count)
    return pa.table({name: columns[name] for name in schema.names}, schema=schema)


def _nothing(kind: Any, count: int) -> "pa.ChunkedArray":
    """Rows of null, of empty lists or of the empty word, that share their memory."""
    import pyarrow as pa

    block = _block(kind)
    whole, rest = divmod(count, _SHARED)
    return pa.chunked_array([*[block] * whole, block.slice(0, rest)], kind)


@cache
def _block(kind: Any) -> "pa.Array":
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return pa.array([""] * _SHARED, pa.string()).dictionary_encode()
    return pa.array([[]] * _SHARED, kind) if pa.types.is_nested(kind) else pa.nulls(_SHARED, kind)
