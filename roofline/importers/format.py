"""What every importer is: how it knows its files, and how it turns them into a run."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from roofline.errors import BadInput
from roofline.measurement import CacheState, ClockState
from roofline.runfile import Run

HEAD = 256 * 1024  # bytes shown to `recognises`, after decompression
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user may say about files that do not say it themselves; None is "not said"."""

    decimal: Literal[".", ","] | None = None  # decimal mark of the numbers in text tables
    keep_private: bool = False  # keep host names, user names, paths, command lines, environment
    ncu_cache: CacheState | None = None  # what Nsight Compute did with the caches
    ncu_clock: ClockState | None = None  # what Nsight Compute did with the clocks
    device: str | None = None  # the device to place on, by any of its names


DEFAULTS = Options()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file to import, plain or gzipped."""

    path: Path
    head: bytes  # its first HEAD bytes, decompressed
    gzipped: bool = False

    @property
    def name(self) -> str:
        """Its base name: what may be said of it in a run."""
        return self.path.name

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Its bytes from the start, decompressed.

        A read past damage in a gzipped file raises OSError, EOFError or zlib.error: see `DAMAGE`.
        """
        with _opened(self.path) as raw:
            yield _unpacked(raw) if self.gzipped else raw


# What reading a damaged or unreadable file can raise.
DAMAGE = (OSError, EOFError, zlib.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One foreign format: a value in the table of `roofline.importers`."""

    name: str  # "kineto": its module, and the folder of its samples
    title: str  # as a sentence names a file of it: "PyTorch profiler trace"
    recognises: Callable[[bytes], bool]  # by the head of the file alone, never by its name
    load: Callable[[Sequence[Source], Options], Run]  # files of this format, at least one


def source(path: Path) -> Source:
    """Look at a file: is it there, is it gzipped, how does it begin?"""
    with _opened(path) as raw:
        gzipped = raw.peek(2)[:2] == _GZIP
        stream = _unpacked(raw) if gzipped else raw
        try:
            head = _filled(stream, HEAD)
        except DAMAGE as error:
            raise BadInput(f"{path.name} is a damaged gzip file: {error}") from None
    return Source(path=path, head=head, gzipped=gzipped)


def one(sources: Sequence[Source], what: str) -> Source:
    """The only one of `sources`, for formats whose files do not belong together."""
    if len(sources) > 1:
        raise BadInput(
            f"{', '.join(s.name for s in sources)}: each {what} is a run of its own; "
            "import them one at a time"
        )
    return sources[0]


def _opened(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}") from None


def _unpacked(raw: BinaryIO) -> BinaryIO:
    from isal import igzip

    stream: Any = igzip.GzipFile(fileobj=raw, mode="rb")
    return cast(BinaryIO, stream)


def _filled(stream: BinaryIO, size: int) -> bytes:
    """Up to `size` bytes: a stream may give fewer at a time, and damage may follow good bytes."""
    parts: list[bytes] = []
    left = size
    while left:
        try:
            part = stream.read(left)
        except DAMAGE:
            if not parts:
                raise
            break
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
