"""What every importer is: how it knows its files, and how it turns them into a run."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal

from roofline.errors import BadInput
from roofline.importers.chosen import Gpu
from roofline.measurement import CacheState, ClockState
from roofline.runfile import Run

BOM = b"\xef\xbb\xbf"  # before UTF-8, on Windows
HEAD = 256 * 1024  # bytes shown to `recognises`, after decompression
_GZIP = b"\x1f\x8b"
_READ = 256 * 1024  # bytes of a gzip file at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What may be said about files that do not say it themselves; None is "not said".

    All of it by the user, but for what a timeline says of the pages that stand beside it.
    """

    decimal: Literal[".", ","] | None = None  # decimal mark of the numbers in text tables
    keep_private: bool = False  # keep host names, user names, paths, command lines, environment
    ncu_cache: CacheState | None = None  # what Nsight Compute did with the caches
    ncu_clock: ClockState | None = None  # what Nsight Compute did with the clocks
    device: str | None = None  # the device to place on, by any of its names
    beside: Gpu | None = None  # whose timeline the counters in the files are to stand beside


DEFAULTS = Options()
_CACHES = {"flush": CacheState.FLUSHED, "none": CacheState.WARM}
_CLOCKS = {"base": ClockState.BASE, "none": ClockState.FREE}
_MARKS: tuple[Literal[".", ","], ...] = (".", ",")
Tell = Callable[[float], None]


def said(
    device: str | None = None,
    decimal: str | None = None,
    ncu_cache: str | None = None,
    ncu_clock: str | None = None,
    keep_private: bool = False,
) -> Options:
    """Options in the words of the command line; BadInput for a word that is none of them.

    >>> said(ncu_cache="none", ncu_clock="base").ncu_clock
    <ClockState.BASE: 'base'>
    """
    if device is not None and not isinstance(device, str):
        which = f"cuda:{device}" if type(device) is int and device >= 0 else "cuda:0"
        raise BadInput(f'device is text, the name of one or "{which}", not {device!r}')
    for option, word, words in (
        ("decimal", decimal, _MARKS),
        ("ncu_cache", ncu_cache, tuple(_CACHES)),
        ("ncu_clock", ncu_clock, tuple(_CLOCKS)),
    ):
        if word is not None and word not in words:
            known = " or ".join(map(repr, words))
            raise BadInput(f"{option} is {known}, not {word!r}")
    return Options(
        decimal=next((mark for mark in _MARKS if mark == decimal), None),
        keep_private=keep_private,
        ncu_cache=None if ncu_cache is None else _CACHES[ncu_cache],
        ncu_clock=None if ncu_clock is None else _CLOCKS[ncu_clock],
        device=device,
    )


@dataclass(frozen=True, slots=True)
class Piped:
    """A pipe, which can be read once, and the copy of what came out; the two go together."""

    path: Path
    copy: IO[bytes]  # a temporary file, which goes with this


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file to import, plain or gzipped."""

    path: Path
    head: bytes  # its first HEAD bytes, decompressed
    gzipped: bool = False
    tell: Tell | None = None  # is told the share of the file that has been read
    piped: Piped | None = None  # what `path` is a copy of

    @property
    def given(self) -> Path:
        """The file as the user gave it."""
        return self.path if self.piped is None else self.piped.path

    @property
    def name(self) -> str:
        """Its base name: what may be said of it in a run."""
        return self.given.name

    @contextmanager
    def open(self) -> Iterator[BufferedReader]:
        """Its bytes from the start, decompressed.

        Reading into damage raises one of `DAMAGE`; ``read1`` first gives what stands before it.
        """
        with _opened(self.path) as raw:
            told: Any = raw if self.tell is None else BufferedReader(Watched(raw, self.tell), _READ)
            yield BufferedReader(Unpacked(told)) if self.gzipped else told


# What reading a damaged or unreadable file can raise.
DAMAGE = (OSError, EOFError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One foreign format: a value in the table of `roofline.importers`."""

    name: str  # "kineto": its module, and the folder of its samples
    title: str  # as a sentence names a file of it: "PyTorch profiler trace"
    recognises: Callable[[bytes], bool]  # by the head of the file alone, never by its name
    load: Callable[[Sequence[Source], Options], Run]  # files of this format, at least one


def source(path: Path, tell: Tell | None = None) -> Source:
    """Look at a file: is it there, is it gzipped, how does it begin?  Of a pipe a copy is kept."""
    piped = Piped(path, _copied(path)) if path.is_fifo() else None
    at = path if piped is None else Path(piped.copy.name)
    with _opened(at) as raw:
        gzipped = raw.peek(2)[:2] == _GZIP
        head = _head(BufferedReader(Unpacked(raw)) if gzipped else raw, path)
    return Source(path=at, head=head, gzipped=gzipped, tell=tell, piped=piped)


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


def _copied(pipe: Path) -> IO[bytes]:
    """Everything that comes out of a pipe, in a temporary file: readers begin more than once."""
    import shutil
    import tempfile

    copy = tempfile.NamedTemporaryFile(prefix="roofline-")  # noqa: SIM115  # closed with its source
    try:
        with _opened(pipe) as raw:
            shutil.copyfileobj(raw, copy)
        copy.flush()
    except OSError as error:
        raise BadInput(f"cannot read {pipe}: {error.strerror or error}") from None
    return copy


def _head(stream: BufferedReader, path: Path) -> bytes:
    """The first HEAD bytes; fewer where damage follows them."""
    head = b""
    try:
        while len(head) < HEAD and (part := stream.read1(HEAD - len(head))):
            head += part
    except DAMAGE as error:
        if not head:
            raise BadInput(f"{path.name} cannot be read: {error}") from None
    return head


class Unpacked(RawIOBase):
    """A gzip stream, decompressed; everything before damage comes out before the error."""

    def __init__(self, packed: BinaryIO):
        self._packed = packed
        self._ready = b""
        self._member: Any = None  # the decompressor of the member being read

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, target: Any) -> int:
        """As much as there is, up to the size of `target`; 0 at the end."""
        while not self._ready:
            if not self._more(len(target)):
                return 0
        part, self._ready = self._ready[: len(target)], self._ready[len(target) :]
        target[: len(part)] = part
        return len(part)

    def _more(self, size: int) -> bool:
        """Decompress some more; False at the end of the file."""
        from isal import isal_zlib

        member = self._member
        if member is None or member.eof:
            packed = (member.unused_data if member is not None else b"") or self._packed.read(_READ)
            if not packed.strip(b"\0"):
                return False  # members end, perhaps with padding
            if member is not None and not _GZIP.startswith(packed[:2]):
                raise EOFError("something that is no gzip follows its end")
            member = self._member = isal_zlib.decompressobj(wbits=31)
        else:
            packed = member.unconsumed_tail or self._packed.read(_READ)
            if not packed:
                raise EOFError("the gzip file ends early")
        try:
            self._ready = member.decompress(packed, max(size, 1))
        except isal_zlib.IsalError as error:  # type: ignore[misc]  # the stubs call it a value
            raise EOFError(f"the gzip file is damaged: {error}") from None
        return True


class Watched(RawIOBase):
    """A file that tells how far it has been read."""

    def __init__(self, raw: BufferedReader, tell: Tell):
        self._raw, self._tell = raw, tell
        self._read = 0
        self._size = max(os.fstat(raw.fileno()).st_size, 1)

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, target: Any) -> int:
        """As the file itself does."""
        count = self._raw.readinto(target)
        self._read += count
        self._tell(min(self._read / self._size, 1.0))
        return count
