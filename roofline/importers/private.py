"""Names that programs made of where they lie: of a path only its last part is kept."""

import re
from functools import lru_cache

from roofline.called import readable

# From the root of a file system, a drive, a home or a server; a lone "/name" may be anything.
_ROOTED = re.compile(
    r"(?<![\w.)\]/\\])(?:[A-Za-z]:[\\/]|\\\\|~\w*/|/(?=[^\s/]+/)|(?:\.\./)+)[^\"'(),;\n]*[\\/]"
)


def pathless(name: str) -> str:
    """`name` with each path in it cut to its last part.

    >>> pathless("/home/ann/my runs/train.py:forward@12"), pathless("load C:\\\\data\\\\a.bin")
    ('train.py:forward@12', 'load a.bin')
    >>> pathless("layer1/attn"), pathless("jit(f)/dot"), pathless("/attn"), pathless("a / b")
    ('layer1/attn', 'jit(f)/dot', '/attn', 'a / b')
    """
    return _ROOTED.sub("", name) if "/" in name or "\\" in name else name


@lru_cache(maxsize=4096)
def called(name: str, keep_private: bool) -> str:
    """What a kernel is called for people, without paths unless they are to be kept."""
    return readable(name if keep_private else pathless(name))
