"""What the counted program itself raises, in one sentence; and torch's log of it kept quiet."""

import logging
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from roofline.errors import BadInput, RooflineError

# By name, since the program may set what it likes before it imports torch.
_NEEDS_DATA = ("DynamicOutputShapeException", "DataDependentOutputException")
_LOGGED = "failed while attempting to run meta"


@contextmanager
def told(what: str, file: str = "", doing: str = "") -> Iterator[None]:
    """Raise BadInput for whatever `what` raises while it is `doing` something, such as imported.

    With `file` the line of it that was reached last is named.
    """
    try:
        with _quiet():
            yield
    except RooflineError:
        raise
    except SystemExit as stop:
        raise BadInput(
            f"{what} ended itself{doing} (exit code {stop.code or 0}): put what runs the program "
            'under `if __name__ == "__main__":`'
        ) from stop
    except Exception as error:
        if type(error).__name__ in _NEEDS_DATA:
            raise BadInput(
                f"{getattr(error, 'func', what)}: what follows depends on data, which fake tensors "
                "do not have; count on real tensors (--real)"
            ) from None
        reason = (str(error) or type(error).__name__).splitlines()[0]
        kind = type(error).__name__
        raise BadInput(f"{what} raised {kind}{_line(error, file)}{doing}: {reason}") from error


def _line(error: Exception, file: str) -> str:
    if not file:
        return ""
    file = os.path.abspath(file)
    reached = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    if isinstance(error, SyntaxError) and error.filename == file:
        reached.append(error.lineno)
    return f" in line {reached[-1]}" if reached else ""


@contextmanager
def _quiet() -> Iterator[None]:
    """Without torch's log of an operator that refuses fake tensors: what is raised says it."""
    log = logging.getLogger("torch._subclasses.fake_tensor")

    def kept(record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith(_LOGGED)

    log.addFilter(kept)
    try:
        yield
    finally:
        log.removeFilter(kept)
