"""What a command tells its user beside its answer."""

import sys

from roofline.called import printable


def say(what: str) -> None:
    """One line on standard error, under the name of the program; a script may have closed it."""
    if sys.stderr is not None and not sys.stderr.closed:
        lines = "\n".join(map(printable, what.split("\n")))  # names of files may hold anything
        print(f"roofline: {lines}", file=sys.stderr)


def silent(_: str) -> None:
    """The same under --quiet: nothing."""
