"""Mistakes a user can fix.  Anything else is our bug and keeps its traceback.

RooflineError
    NotFound    nothing has that name; the message lists what there is
    BadInput    a value or file that cannot mean anything
    Missing     something optional is not here; the message has the cure
    GateFailed  a check the user asked for does not hold (exit code 1)
"""

from collections.abc import Iterable


class RooflineError(Exception):
    """The command line prints this as one line and exits with `exit_code`."""

    exit_code = 2


class NotFound(RooflineError):
    """Nothing has that name."""


class BadInput(RooflineError):
    """The value cannot mean anything here."""


class Missing(RooflineError):
    """An optional package, a tool or a device is absent."""


class GateFailed(RooflineError):
    """A stated limit does not hold."""

    exit_code = 1


def near(name: str, known: Iterable[str], limit: int = 5) -> list[str]:
    """Names in `known` that look like `name`, best first, for "did you mean".

    Those that begin with all of `name` come before those that are only alike.

    >>> near("relü", ["relu", "gelu", "softmax"])
    ['relu', 'gelu']
    >>> near("fp8", ["fp64", "fp8_e4m3", "fp8_e5m2"])
    ['fp8_e4m3', 'fp8_e5m2', 'fp64']
    """
    import difflib

    names = list(known)
    longer = [each for each in names if name and each.startswith(name)]
    alike = difflib.get_close_matches(name, names, n=limit, cutoff=0.45)
    return list(dict.fromkeys((*longer, *alike)))[:limit]
