"""Files that are written whole or not at all; an earlier one stays until then."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from roofline.errors import BadInput

_NAMED = 40  # characters of a name that a temporary one begins with


def place_for(path: Path, begins: bytes, kind: str) -> Path:
    """The full path of a file that is to be written: asked before the work that fills it.

    Raises BadInput where it could not be, or would take the place of a file that begins otherwise
    than a `kind` does.
    """
    full = path.absolute()
    try:
        if not full.parent.is_dir():
            raise BadInput(f"cannot write {path}: there is no folder {full.parent}")
        if full.is_dir():
            raise BadInput(f"cannot write {path}: it is a folder")
        if written_into(full):
            return full
        if not os.access(_end(full).parent, os.W_OK):
            raise BadInput(f"cannot write {path}: its folder is not writable")
        if full.is_file() and not _begins(full, begins):
            raise BadInput(f"cannot write {path}: it is there and is no {kind}")
    except OSError as error:  # a name that is too long
        raise BadInput(f"cannot write {path}: {error.strerror or error}") from None
    return full


def written_into(path: Path) -> bool:
    """Whether it is a device, a pipe or a socket: there is one of it, and it is not replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def whole(path: Path, *, make_folder: bool = False, cannot: str = "") -> Iterator[Path]:
    """A file beside `path` to write into, which takes its place at the end of the block.

    A link stays, and the file that it names is written.  A device or a pipe is no place to take:
    what was written goes into it.  Raises BadInput, and leaves nothing behind, when the system
    cannot write there; `cannot` is how the sentence begins, "cannot write PATH" by itself.
    """
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        into, end = written_into(path), _end(path)
        # Not the whole name: with what is added to it, it could be too long for the system.
        handle, name = tempfile.mkstemp(
            dir=None if into else end.parent, prefix=f".{end.name[:_NAMED]}."
        )
        os.close(handle)
        try:
            yield Path(name)
            if into:
                with open(name, "rb") as written, path.open("wb") as pipe:
                    shutil.copyfileobj(written, pipe)
                os.unlink(name)
            else:
                os.chmod(name, 0o666 & ~_umask())  # as any other file: temporary ones are private
                os.replace(name, end)
        except BaseException:
            with suppress(OSError):  # the first error is the one to tell
                os.unlink(name)
            raise
    except OSError as error:
        reason = error.strerror or error
        raise BadInput(f"{cannot or f'cannot write {path}'}: {reason}") from None


def _end(path: Path) -> Path:
    """Where a chain of links ends."""
    return Path(os.path.realpath(path))


def _begins(path: Path, begins: bytes) -> bool:
    """Whether a file begins so, or is empty."""
    with path.open("rb") as file:
        return file.read(len(begins)) in (b"", begins)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
