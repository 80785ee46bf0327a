"""A GPU that a file describes and does not name: how large it is, and what else is so large."""

from roofline.devices import having
from roofline.units import show


def size(multiprocessors: object, memory: object = None) -> str:
    """What to say behind "--device NAME does"; "" where the file gives no number.

    >>> size(304, 206141652992)
    '; it has 304 multiprocessors, as has amd-mi300x or amd-mi325x, and 206 GB of memory'
    >>> size(None), size(7)
    ('', '; it has 7 multiprocessors')
    """
    if type(multiprocessors) is not int or multiprocessors < 1:
        return ""
    same = having("sm_count", multiprocessors)
    like = f", as has {' or '.join(same)}" if same else ""
    held = f", and {show(memory, 'B')} of memory" if type(memory) is int and memory > 0 else ""
    return f"; it has {multiprocessors} multiprocessors{like}{held}"
