"""What a file that nobody here reads looks like, in half a sentence."""

import re
from collections.abc import Callable

_Test = Callable[[bytes], bool]


def _starts(*magic: bytes) -> _Test:
    return lambda head: head.startswith(magic)


def _holds(*words: bytes) -> _Test:
    return lambda head: all(word in head for word in words)


def _tabular(head: bytes) -> bool:
    """Whether the first lines have equally many separators, several each."""
    lines = [line for line in head.splitlines()[:4] if line.strip()]
    return any(
        len({line.count(mark) for line in lines}) == 1 and lines[0].count(mark) > 2
        for mark in (b",", b"\t", b";")
        if lines
    )


# The first that fits.  Each phrase continues "FILE ...".
_KINDS: tuple[tuple[_Test, str], ...] = (
    (lambda head: not head.strip(b"\0 \t\r\n"), "is empty"),
    (_starts(b"PAR1"), "is a Parquet file: a saved run opens with `roofline show`"),
    (_starts(b"PK\x03\x04"), "is a zip archive: unpack it first"),
    (
        _starts(b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf"),
        "is compressed, not by gzip",
    ),
    (_starts(b"\x7fELF"), "is a program"),
    (_starts(b"\xff\xfe", b"\xfe\xff"), "is text in UTF-16: save it as UTF-8"),
    (_starts(b"SQLite format 3\0"), "is an SQLite database without the tables of a profiler"),
    (_starts(b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"%PDF"), "is a picture or document"),
    (_starts(b"NVR\0"), "is a report that only NVIDIA's own tools open: export it with them"),
    (
        _holds(b'"nodes"', b'"rf_id"'),
        "is a PyTorch execution trace, which has no times: profile with torch.profiler.profile",
    ),
    (
        lambda head: any(_holds(b'"nodes"', word)(head) for word in (b'"ctrl_deps"', b"-chakra")),
        "is a PyTorch execution trace, which has no times",
    ),
    (_holds(b"speedscope.app"), "is a speedscope file, which has call stacks but no operators"),
    (_holds(b'"nodes"', b'"head"', b"selfSize"), "is a V8 profile"),
    (_holds(b"<html"), "is a web page"),
    (_holds(b'"cells"', b'"nbformat"'), "is a notebook"),
    (lambda head: re.match(rb"\s*[{\[]", head) is not None, "is JSON, but no trace known here"),
    (lambda head: b"\0" in head, "is binary, and of no kind known here"),
    (_tabular, "is a table without known columns"),
)


def looks_like(head: bytes) -> str:
    """How a file that begins with `head` looks, to follow its name in a sentence.

    >>> looks_like(b"PAR1...")
    'is a Parquet file: a saved run opens with `roofline show`'
    """
    return next((phrase for test, phrase in _KINDS if test(head)), "is text of no kind known here")
