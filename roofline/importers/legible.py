"""Names as files have them -> text to be shown: nothing in it moves a cursor or ends a line."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from roofline.called import printable
from roofline.runfile import Run, Signature

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS = ("module", "thread")  # of the events, that hold names


def legible(run: Run) -> Run:
    """The same run, with characters that are not for printing spelled out."""
    return replace(
        run,
        recorder=_spelled(run.recorder),
        replays=_spelled(run.replays),
        signatures=_signatures(run.signatures),
        steps=_spelled(run.steps),
        gaps=_spelled(run.gaps),
        events=_events(run.events),
    )


def _signatures(found: tuple[Signature, ...]) -> tuple[Signature, ...]:
    """There may be many, and what is in their ledgers comes of their names."""
    if all(signature.name.isprintable() for signature in found):
        return found
    return tuple(s if s.name.isprintable() else _spelled(s) for s in found)


def _spelled(value: Any) -> Any:
    """Every text in `value` spelled out; what has none is the same object."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, tuple):
        return tuple(map(_spelled, value))
    if not is_dataclass(value) or isinstance(value, type):
        return value
    before = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    after = {name: _spelled(part) for name, part in before.items()}
    return value if all(after[name] is before[name] for name in before) else replace(value, **after)


def _events(events: "pa.Table") -> "pa.Table":
    import pyarrow as pa

    for name in _COLUMNS:
        chunks = events[name].chunks
        if all(map(_printable, chunks)):
            continue
        spelled = [
            chunk
            if _printable(chunk)
            else pa.DictionaryArray.from_arrays(
                chunk.indices, [printable(text) for text in chunk.dictionary.to_pylist()]
            )
            for chunk in chunks
        ]
        at = events.schema.get_field_index(name)
        column = pa.chunked_array(spelled, events.schema.field(name).type)
        events = events.set_column(at, events.schema.field(name), column)
    return events


def _printable(chunk: "pa.DictionaryArray") -> bool:
    texts: Iterable[str | None] = chunk.dictionary.to_pylist()
    return all(text is None or text.isprintable() for text in texts)
