"""JSON that is cut off, or has numbers that are none: what is whole of it."""

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from roofline.errors import BadInput
from roofline.importers.format import Source
from roofline.importers.lines import whole
from roofline.units import number_of

# Texts, so that nothing inside them is taken for it; and what JSON has no number for.
# One that does not end goes to the end of all, so that each letter is looked at once.
_TEXT = r'"(?:[^"\\]|\\.?)*(?:"|\Z)'
_NO_NUMBER = re.compile(rf"({_TEXT})|[-+]?\b(?:nan|inf(?:inity)?)\b", re.IGNORECASE | re.DOTALL)
_BRACKETS = re.compile(rf"{_TEXT}|[\[\]{{}}]", re.DOTALL)
_BETWEEN = re.compile(r"[\s,]*")
_CLOSES = {"[": "]", "{": "}"}


def document(source: Source, lists: Sequence[str] = ()) -> tuple[Any, list[str]]:
    """A document as plain data, and what is to be said of its state.

    Of one that is cut off the whole records of the last of `lists` (their keys) are kept.  Raises
    BadInput where nothing is.
    """
    raw, early = whole(source)
    return plain(raw, early, source.name, lists)


def plain(raw: bytes, early: str, file: str, lists: Sequence[str]) -> tuple[Any, list[str]]:
    """The same of the text of `file`, which ended early as `early` says."""
    try:
        return msgspec.json.decode(raw), [early] * bool(early)
    except (msgspec.DecodeError, RecursionError) as error:
        return _mended(raw, early, file, lists, error)


def _mended(
    raw: bytes, early: str, file: str, lists: Sequence[str], error: Exception
) -> tuple[Any, list[str]]:
    none = 0

    def instead(found: re.Match[str]) -> str:
        nonlocal none
        none += found[1] is None
        return found[1] or "null"

    text = _NO_NUMBER.sub(instead, raw.decode("utf-8-sig", "replace"))
    said = [f"unknown, since no number (NaN or infinite): {number_of(none, 'value')}"] * (none > 0)
    try:
        return json.loads(text, strict=False), said
    except RecursionError:
        raise BadInput(f"{file} is damaged: {error}") from None
    except json.JSONDecodeError as where:
        kept = _records(text[: where.pos], lists)
    if kept is None:
        raise BadInput(f"{file} is damaged: {early or error}") from None
    cut = early or f"{file} is damaged or cut off; what stands before that was read"
    return kept, [*said, cut]


def _records(text: str, lists: Sequence[str]) -> Any:
    """The document up to the last whole record of the last of `lists`; None where there is none."""
    openings = [*re.finditer(rf'"(?:{"|".join(lists)})"\s*:\s*\[', text)] if lists else []
    if not openings:
        return None
    decoder = json.JSONDecoder(strict=False)
    end = at = openings[-1].end()
    try:
        while True:
            between = _BETWEEN.match(text, at)
            _, at = decoder.raw_decode(text, between.end() if between else at)
            end = at
    except (ValueError, RecursionError):
        pass
    opened: list[str] = []
    for token in _BRACKETS.finditer(text, 0, openings[-1].end()):
        if token[0] in _CLOSES:
            opened.append(token[0])
        elif token[0] in _CLOSES.values() and opened:
            opened.pop()
    try:
        return json.loads(text[:end] + "".join(_CLOSES[b] for b in reversed(opened)), strict=False)
    except (ValueError, RecursionError):
        return None
