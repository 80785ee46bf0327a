"""Taking the user's paths out of a line that is kept."""

import re

_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\\/][^\\/\s\"'():;,]+)+[\\/]?")


def scrubbed(line: str) -> str:
    """The line with every path cut to its last part.

    >>> scrubbed("Failed to open /home/ann/run/a.out (error)")
    'Failed to open a.out (error)'
    """
    return _PATH.sub(lambda m: re.split(r"[\\/]", m.group().rstrip("\\/"))[-1], line)
