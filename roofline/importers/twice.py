"""The same recording given twice: added up, all of its work would count double."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

from roofline.errors import BadInput
from roofline.importers.format import DAMAGE, Source

_CHUNK = 1 << 20  # bytes


def refuse_twice(sources: Sequence[Source]) -> None:
    """Refuse files of equal content, whatever they are called, gzipped or not."""
    for at, later in enumerate(sources):
        for earlier in sources[:at]:
            if earlier.path.samefile(later.path):
                raise BadInput(f"{later.given} is given twice; its work would be counted twice")
            if earlier.head == later.head and _digest(earlier) == _digest(later):
                raise BadInput(
                    f"{earlier.given} and {later.given} hold the same; their work would be counted "
                    "twice"
                )


def _digest(source: Source) -> bytes:
    """Of its content as far as it can be read."""
    found = blake2b()
    with replace(source, tell=None).open() as stream:
        try:
            while chunk := stream.read1(_CHUNK):
                found.update(chunk)
        except DAMAGE as damage:
            found.update(str(damage).encode())
    return found.digest()
