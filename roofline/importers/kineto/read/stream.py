"""A trace file -> batches of typed events, in one pass and in little memory.

The text is read in chunks that are cut between two events and decoded as a list.  A chunk that
does not decode is taken apart event by event: what can be mended is, what cannot is left out and
counted.  Read: the object with ``traceEvents`` (other keys before or after it), and the bare list.
Specification: Trace Event Format (Chromium); the dialect is that of pytorch/kineto's
``output_json.cpp``.
"""

import json
import re
from collections.abc import Iterator, Mapping
from io import BufferedReader
from typing import Any

import msgspec

from roofline.errors import BadInput
from roofline.importers.format import BOM, DAMAGE, Source
from roofline.importers.kineto.read import mend
from roofline.importers.kineto.read.event import EXACT_BELOW, Event, ExactEvent

CHUNK = 1 << 18  # bytes: the events of so many fit a cache
_LONGEST = 64 << 20  # bytes without the end of an event: this is no list of events
_TRIES = 3  # cuts that are tried before a chunk is taken apart

_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(rb"\}\s*,\s*\{")
_REFUSED = (msgspec.DecodeError, RecursionError)


class Reader:
    """One pass over a file: `batches`, and then `about` and `warnings` are complete."""

    def __init__(self, source: Source):
        self.about: dict[str, Any] = {}  # the keys beside traceEvents
        self.mended = 0  # events that were not valid JSON and could be read all the same
        self.lost = 0  # events that could not
        self.truncated = ""  # how the file ends early; "" when it does not
        self._source = source
        self._separator = b"},\n  {"
        self._fast = msgspec.json.Decoder(list[Event])
        self._exact = msgspec.json.Decoder(list[ExactEvent])
        self._decode: Any = self._fast.decode

    def batches(self) -> Iterator[list[Event]]:
        """The events in file order."""
        with self._source.open() as stream:
            buffer = self._begin(stream)
            self._learn(buffer)
            enough = CHUNK // 2
            while chunk := self._read(stream, max(CHUNK, len(buffer))):
                buffer += chunk
                if len(buffer) < enough:
                    continue
                events, buffer = self._whole(buffer)
                enough = max(CHUNK // 2, 2 * len(buffer))  # an event may be longer than a chunk
                if events:
                    yield events
                if len(buffer) > _LONGEST:
                    self.truncated = f"no event ends in {_LONGEST >> 20} MiB of text"
                    return
            yield self._last(buffer)

    def _read(self, stream: BufferedReader, size: int) -> bytes:
        try:
            return stream.read1(size)
        except DAMAGE as error:
            self.truncated = f"the file is damaged or cut off ({error})"
            return b""

    def _begin(self, stream: BufferedReader) -> bytes:
        """Read up to the first event; what stands before it is about the whole trace."""
        buffer = b""
        while chunk := self._read(stream, CHUNK):
            buffer = (buffer + chunk).removeprefix(BOM)
            if buffer.lstrip()[:1] == b"[":
                return buffer[buffer.index(b"[") + 1 :]
            if found := _KEY.search(buffer):
                self._tell(buffer[: found.start()] + b'"":0}')
                return buffer[found.end() :]
            if len(buffer) > _LONGEST:
                break
        raise BadInput(f"{self._source.name} holds no list of trace events")

    def _learn(self, buffer: bytes) -> None:
        """How this file separates events: with the indentation, so that it is no inner list."""
        begin = re.match(rb"\s*\{", buffer)
        if begin is None:
            return
        text = buffer[begin.end() - 1 : begin.end() + (1 << 20)].decode("latin-1")
        try:
            _, end = json.JSONDecoder(strict=False).raw_decode(text)
        except (ValueError, RecursionError):
            return
        after = re.compile(r"\s*,\s*\{").match(text, end)
        if after is None:
            return
        line = text.rfind("\n", 0, end)
        indented = line >= 0 and not text[line : end - 1].strip()
        self._separator = text[line if indented else end - 1 : after.end()].encode("latin-1")

    def _whole(self, buffer: bytes) -> tuple[list[Event], bytes]:
        """The events that `buffer` holds whole, and the rest of its text."""
        for brace, following in self._cuts(buffer):
            try:
                whole = memoryview(buffer)[: brace + 1]
                return self._events(b"".join((b"[", whole, b"]"))), buffer[following:]
            except _REFUSED:
                continue
        pieces = self._pieces(buffer)
        rest = pieces.pop()
        return self._one_by_one(pieces), rest

    def _cuts(self, buffer: bytes) -> Iterator[tuple[int, int]]:
        """From the right: where one event may end, and where the next begins."""
        inner = self._separator.index(b"}")
        end = len(buffer)
        for _ in range(_TRIES):
            end = buffer.rfind(self._separator, 0, end)
            if end < 0:
                return
            yield end + inner, end + len(self._separator) - 1

    def _pieces(self, buffer: bytes) -> list[bytes]:
        """`buffer` cut wherever one event may end, the text after the last such place included."""
        pieces, start = [], 0
        for found in _BETWEEN.finditer(buffer):
            pieces.append(buffer[start : found.start() + 1])
            start = found.end() - 1
        return [*pieces, buffer[start:]]

    def _one_by_one(self, pieces: list[bytes]) -> list[Event]:
        events: list[Event] = []
        for piece in mend.joined(pieces):
            try:
                events += self._events(b"[" + piece + b"]")
                continue
            except _REFUSED:
                pass
            again = mend.mended(piece)
            try:
                events += self._events(b"[" + again + b"]")
                self.mended += 1
            except _REFUSED:
                self.lost += 1
        return events

    def _events(self, text: bytes) -> list[Event]:
        events: list[Event] = self._decode(text)
        if self._decode == self._fast.decode and any(
            type(e.ts) is float and e.ts >= EXACT_BELOW for e in events[:1]
        ):
            self._decode = self._exact.decode
            events = self._decode(text)
        return events

    def _last(self, buffer: bytes) -> list[Event]:
        """The last events, and the keys that stand after the list."""
        end = len(buffer)
        for _ in range(64):
            end = buffer.rfind(b"]", 0, end)
            if end < 0:
                break
            tail = buffer[end + 1 :].strip().rstrip(b"}").strip()
            try:
                events = self._events(b"[" + buffer[:end].rstrip().rstrip(b",") + b"]")
            except _REFUSED:
                continue
            self._tell(b'{"":0' + tail + b"}")
            return events
        return self._torn(buffer)

    def _torn(self, buffer: bytes) -> list[Event]:
        """The events of a file that does not end as it should."""
        pieces = self._pieces(buffer)
        lost, self.lost = self.lost, 0
        whole = self._one_by_one(pieces[:-1])
        last = pieces[-1].strip()
        events, after = mend.first(last)
        if events:
            whole += self._one_by_one([events])
        if after.startswith(b"]"):
            self._tell(b'{"":0' + after[1:].strip().rstrip(b"}") + b"}")
        elif last:
            self.truncated = self.truncated or "the file ends in the middle of its list of events"
        self.lost += lost
        return whole

    def _tell(self, text: bytes) -> None:
        about = mend.plain(text)
        if isinstance(about, Mapping):
            self.about |= {key: value for key, value in about.items() if key}
