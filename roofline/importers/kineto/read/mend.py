"""Text that is not quite JSON: raw line breaks, stray quotes and backslashes, NaN, bad UTF-8."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

_JOINED = 8  # pieces that one event may have been cut into by what looks like its end
_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
# A name goes up to the key that follows it: quotes in between belong to the name.
_NAME = re.compile(r'"name"\s*:\s*"')
_AFTER = re.compile(r'"\s*(?:,\s*"(?:ph|cat|pid|tid|ts|dur|args|id|s|bp)"\s*:|\})')
_QUOTE = re.compile(r'(?<!\\)"')


def plain(text: bytes) -> Any:
    """`text` as plain data, mended where needed; None when it makes no sense."""
    loose = text.decode("utf-8", "replace")
    for attempt in (str, _backslashes, _quotes):
        loose = attempt(loose)
        try:
            return json.loads(loose, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def mended(piece: bytes) -> bytes:
    """One event as valid JSON; as it was when that fails."""
    found = plain(piece)
    if not isinstance(found, dict):
        return piece
    try:
        return msgspec.json.encode(_finite(found))
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return piece


def joined(pieces: Sequence[bytes]) -> Iterator[bytes]:
    """Pieces put together again where the cut was inside an event: in a text or a list."""
    at = 0
    while at < len(pieces):
        longest = min(_JOINED, len(pieces) - at)
        texts = (b",".join(pieces[at : at + count]) for count in range(1, longest + 1))
        count = next((n for n, text in enumerate(texts, 1) if _valid(text)), 1)
        yield b",".join(pieces[at : at + count])
        at += count


def first(text: bytes) -> tuple[bytes, bytes]:
    """The event that `text` begins with, and the text after it; no event when it is cut off."""
    loose = text.decode("utf-8", "replace")
    for attempt in (str, _backslashes, _quotes):
        loose = attempt(loose)
        try:
            _, end = json.JSONDecoder(strict=False).raw_decode(loose)
        except (ValueError, RecursionError):
            continue
        return loose[:end].encode(), loose[end:].strip().encode()
    return b"", text


def _valid(text: bytes) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _backslashes(text: str) -> str:
    return _ESCAPE.sub(r"\\\\", text)


def _quotes(text: str) -> str:
    parts, done = [], 0
    while (name := _NAME.search(text, done)) and (after := _AFTER.search(text, name.end())):
        inside = _QUOTE.sub(r'\\"', text[name.end() : after.start()])
        parts += [text[done : name.end()], inside, after[0]]
        done = after.end()
    return "".join((*parts, text[done:]))


def _finite(value: Any) -> Any:
    """Plain data without NaN and infinities, which become null, and without broken letters."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {_finite(key): _finite(item) for key, item in value.items()}
    return value
