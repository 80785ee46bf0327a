"""A run -> placed items, groups, coverage: what diagnosis and report read.

``read(run)`` recounts every signature under the present rules, places it under the run's own
ceilings and joins it with the times.  Nothing here is saved.
"""

from roofline.program.item import Item
from roofline.program.placed import shapes
from roofline.program.reading import GROUPINGS, Program, Totals, read, single
from roofline.program.use import Use, mbu, mfu

__all__ = [
    "GROUPINGS",
    "Item",
    "Program",
    "Totals",
    "Use",
    "mbu",
    "mfu",
    "read",
    "shapes",
    "single",
]
