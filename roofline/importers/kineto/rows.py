"""Rows of a run as columns, and their table."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from roofline.importers.kineto.columns import NONE
from roofline.importers.kineto.times import arrow
from roofline.runfile import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = ("op", "range", "kernel", "memcpy", "launch")
OP, RANGE, KERNEL, MEMCPY, LAUNCH = range(len(KINDS))
PHASES = ("forward", "backward", "optimizer", "other")
FORWARD, BACKWARD, OPTIMIZER, OTHER = range(len(PHASES))
_SHARED = 65_536  # rows of nothing that stand for as many more


@dataclass(slots=True)
class Block:
    """Rows that stand together, a column each; NONE is null, and an empty column all null."""

    signature: "array[int]"
    kind: "array[int]"
    step: "array[int]"
    start: "array[int]"
    duration: "array[int]"
    phase: "array[int]"
    module: "array[int]"
    thread: "array[int]" = field(default_factory=lambda: array("i"))
    stream: "array[int]" = field(default_factory=lambda: array("q"))
    parent: "array[int]" = field(default_factory=lambda: array("q"))
    counters: "array[int]" = field(default_factory=lambda: array("i"))


@dataclass(frozen=True, slots=True)
class Words:
    """What the numbers in a block's columns stand for; 0 is the empty word."""

    modules: Sequence[str]
    threads: Sequence[str]
    counters: Sequence[dict[str, float]]


def table(blocks: Sequence[Block], words: Words) -> "pa.Table":
    """The blocks one under the other, as `runfile.Run.events`."""
    import pyarrow as pa

    return pa.concat_tables([_table(block, words) for block in blocks])


def _table(block: Block, words: Words) -> "pa.Table":
    import pyarrow as pa

    schema, count = arrow_schema(), len(block.signature)
    columns: dict[str, Any] = {
        "signature": arrow(block.signature),
        "kind": _text(block.kind, KINDS),
        "step": arrow(block.step),
        "start_ns": arrow(block.start),
        "duration_ns": _known(block.duration),
        "phase": _text(block.phase, PHASES),
        "module": _text(block.module, words.modules),
        "thread": _text(block.thread or array("i", [0]) * count, words.threads),
    }
    if block.stream:
        columns["stream"] = _known(block.stream)
    if block.parent:
        columns["parent"] = _known(block.parent)
    if block.counters:
        kind = schema.field("counters").type
        distinct = pa.array([list(c.items()) for c in words.counters], kind)
        columns["counters"] = distinct.take(arrow(block.counters))
    for name in schema.names:
        if name not in columns:
            columns[name] = _nothing(schema.field(name).type, count)
    return pa.table({name: columns[name] for name in schema.names}, schema=schema)


def _known(column: "array[int]") -> "pa.Array":
    import pyarrow as pa
    import pyarrow.compute as pc

    values = arrow(column)
    return pc.if_else(pc.equal(values, NONE), pa.scalar(None, values.type), values)


def _text(column: "array[int]", words: Sequence[str]) -> "pa.Array":
    import pyarrow as pa

    indices = arrow(column).cast(pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(words), pa.string()))


def _nothing(kind: Any, count: int) -> "pa.ChunkedArray":
    """Rows of null, or of empty lists, that share their memory."""
    import pyarrow as pa

    block = _block(kind)
    whole, rest = divmod(count, _SHARED)
    return pa.chunked_array([*[block] * whole, block.slice(0, rest)], kind)


@cache
def _block(kind: Any) -> "pa.Array":
    import pyarrow as pa

    return pa.array([[]] * _SHARED, kind) if pa.types.is_nested(kind) else pa.nulls(_SHARED, kind)
