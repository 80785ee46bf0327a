"""Files that are written whole or not at all; an earlier one stays until then."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from roofline.errors import BadInput


@contextmanager
def whole(path: Path, *, make_folder: bool = False, cannot: str = "") -> Iterator[Path]:
    """A file beside `path` to write into, which takes its place at the end of the block.

    Raises BadInput, and leaves nothing behind, when the system cannot write there; `cannot` is how
    the sentence begins, "cannot write PATH" by itself.
    """
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        try:
            yield Path(name)
            os.chmod(name, 0o666 & ~_umask())  # as any other file: temporary ones are private
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):  # the first error is the one to tell
                os.unlink(name)
            raise
    except OSError as error:
        reason = error.strerror or error
        raise BadInput(f"{cannot or f'cannot write {path}'}: {reason}") from None


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
