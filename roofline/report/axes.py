"""The roofline in time: for each line its time on every axis, compute, traffic and overhead.

The largest of them is the line's roof; a step is never shorter than its overhead either.  After
Williams, Waterman and Patterson drawn in time instead of flop/s, so that work without arithmetic
and starts without work stand on the same page.  The axes of a line of different calls are sums over
them, so that all lines together come to the same however they are grouped.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from roofline.device import BOUNDARIES
from roofline.program.item import COMPUTE
from roofline.report.names import line_names
from roofline.report.text import seconds

if TYPE_CHECKING:
    from rich.table import Table

Document = dict[str, Any]
NAME = 30  # columns


def table(document: Document, rows: int) -> "Table":
    """Calls, starts, measured time, and the least time on each axis that any line has."""
    from rich.table import Table

    items = document["items"]
    levels = [b.name for b in BOUNDARIES if any(b.name in item["axes_s"] for item in items)]
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    made.add_column(document["by"], no_wrap=True, overflow="ellipsis", max_width=NAME)
    for name in ("calls", "starts", "time", "compute", *levels, "overhead"):
        made.add_column(name, justify="right", no_wrap=True)
    for name, item in zip(line_names(items[:rows], NAME), items, strict=False):
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
    *axes, overhead = _axes(item, levels)
    most = max((value for value in axes if value is not None), default=None)
    marked = [seconds(v) + ("*" if v is not None and v == most else "") for v in axes]
    return [*marked, seconds(overhead)]


def _axes(item: Document, levels: Sequence[str]) -> list[float | None]:
    axes = item["axes_s"]
    return [axes.get(COMPUTE), *(axes.get(name) for name in levels), item["overhead_s"]]


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
