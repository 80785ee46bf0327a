"""What importing may need, whatever the tests before it in this process needed."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

LARGEST = 1 << 20  # kB of resident memory


@contextmanager
def bounded() -> Iterator[None]:
    """The peak of this process grows by less than LARGEST."""
    before = _peak()
    yield
    assert _peak() - before < LARGEST


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
