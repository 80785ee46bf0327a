"""A run -> placed items, groups, coverage: what diagnosis and report read.

``read(run)`` recounts every signature under the present rules, places it under the run's own
ceilings and joins it with the times.  Nothing here is saved.
"""

from roofline.program.flop import Flop, flop
from roofline.program.item import Item
from roofline.program.placed import shapes
from roofline.program.reading import GROUPINGS, Program, Totals, read, single
from roofline.program.use import Use, hfu, mbu, mfu

__all__ = [
    "GROUPINGS",
    "Flop",
    "Item",
    "Program",
    "Totals",
    "Use",
    "flop",
    "hfu",
    "mbu",
    "mfu",
    "read",
    "shapes",
    "single",
]
