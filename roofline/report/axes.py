"""The roofline in time: for each line its time on every axis, compute, traffic and overhead.

A star marks the axis of what binds: the pipe or the boundary that needs longest for the line's
calls together.  Of equal calls that is their roof; a step is never shorter than its overhead
either.  After Williams, Waterman and Patterson drawn in time instead of flop/s, so that work
without arithmetic and starts without work stand on the same page.  The axes of a line of different
calls are sums over them, so that all lines together come to the same however they are grouped: the
pipes of its calls are one axis there, which can be longer than what binds.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from roofline.device import BOUNDARIES, PIPES
from roofline.program.item import COMPUTE
from roofline.report.console import print_whole
from roofline.report.names import line_names
from roofline.report.text import more_lines, no_kernels, seconds

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Document = dict[str, Any]
NAME = 30  # columns
_PIPES = frozenset(pipe.name for pipe in PIPES)


def print_document(document: Document, console: "Console", rows: int) -> None:
    """Print the table, and what a reader of it would ask."""
    items = document["items"]
    console.print("least time of a step on each axis; * binds; measured time beside them")
    if without := no_kernels(document):
        console.print(without)
    print_whole(console, table(document, rows))
    if len(items) > rows:
        console.print(more_lines(items, rows), style="dim")
    if all(item["overhead_s"] is None for item in items):
        console.print("overhead is not known: nobody measured what a start takes here", style="dim")


def table(document: Document, rows: int) -> "Table":
    """Calls, starts, measured time, and the least time on each axis that any line has."""
    from rich.table import Table

    items = document["items"]
    levels = [b.name for b in BOUNDARIES if any(b.name in item["axes_s"] for item in items)]
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    head = "operator" if no_kernels(document) else document["by"]
    made.add_column(head, no_wrap=True, overflow="ellipsis", max_width=NAME)
    for name in ("calls", "starts", "time", "compute", *levels, "overhead"):
        made.add_column(name, justify="right", no_wrap=True)
    for name, item in zip(line_names(items, NAME)[:rows], items, strict=False):
        made.add_row(name, f"{item['calls']:g}", f"{item['starts']:g}", seconds(item["measured_s"]),
                     *_times(item, levels))  # fmt: skip
    if len(items) > 1:
        together = [_sum(column) for column in zip(*(_axes(i, levels) for i in items), strict=True)]
        measured = _sum([item["measured_s"] for item in items])
        counts = [f"{sum(item[name] for item in items):g}" for name in ("calls", "starts")]
        made.add_row("all lines", *counts, *map(seconds, (measured, *together)), style="bold")
    return made


def _times(item: Document, levels: Sequence[str]) -> list[str]:
    """What binds is marked by a star; overhead is outside of the roof."""
    *axes, overhead = map(seconds, _axes(item, levels))
    binds = item["binding"]
    star = binds if binds in levels else COMPUTE if binds in _PIPES else None
    marked = [
        f"{time}*" if axis == star else time
        for axis, time in zip((COMPUTE, *levels), axes, strict=True)
    ]
    return [*marked, overhead]


def _axes(item: Document, levels: Sequence[str]) -> list[float | None]:
    axes = item["axes_s"]
    return [axes.get(COMPUTE), *(axes.get(name) for name in levels), item["overhead_s"]]


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
