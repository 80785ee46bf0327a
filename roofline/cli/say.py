"""What a command tells its user beside its answer."""

import sys


def say(what: str) -> None:
    """One line on standard error, under the name of the program; a script may have closed it."""
    if sys.stderr is not None and not sys.stderr.closed:
        print(f"roofline: {what}", file=sys.stderr)


def silent(_: str) -> None:
    """The same under --quiet: nothing."""
