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
    """Names in `known` that are near `name`, best first, for "did you mean".

    Those that begin or end with all of `name` come first, then those that differ in one letter of
    every three at most: what is farther was not meant.

    >>> near("relü", ["relu", "gelu", "softmax"])
    ['relu']
    >>> near("modle", ["model", "mode", "nodes"])
    ['mode', 'model']
    >>> near("fp8", ["fp64", "fp8_e4m3", "fp8_e5m2"])
    ['fp8_e4m3', 'fp8_e5m2']
    """
    import difflib

    names = list(known)
    begin = [each for each in names if name and each.startswith(name)]
    end = [each for each in names if name and each.endswith(name)]
    alike = difflib.get_close_matches(name, names, n=len(names) or 1, cutoff=0.45)

    def changed(other: str) -> int:
        parts = difflib.SequenceMatcher(None, name, other).get_opcodes()
        unequal = [(name[a:b], other[c:d]) for what, a, b, c, d in parts if what != "equal"]
        gone, come = ("".join(pair[side] for pair in unequal) for side in (0, 1))
        if sorted(gone) == sorted(come):  # in another place, as when two are swapped: one change
            return len(gone)
        return sum(max(len(a), len(b)) for a, b in unequal)

    allowed = max(1, len(name) // 3)
    return list(dict.fromkeys((*begin, *end, *(n for n in alike if changed(n) <= allowed))))[:limit]
