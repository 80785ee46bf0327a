"""Printing for a reader who may leave: ``roofline devices | head -1``."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def for_whoever_reads() -> Iterator[None]:
    """Print what the block prints; that nobody reads all of it is no error.

    rich makes an exit code of a closed pipe, as click does further out: the error is then the
    context of a SystemExit.
    """
    try:
        yield
        if sys.stdout is not None and not sys.stdout.closed:  # a script may have closed it
            sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as end:
        if not any(isinstance(error, BrokenPipeError) for error in (end, end.__context__)):
            raise
        # Python would complain again while flushing at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
