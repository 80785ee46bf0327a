"""A run under other conditions, as plain data and as text.  Schema ``roofline.whatif/1``."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from roofline.program.batch import Batch
from roofline.program.item import total
from roofline.program.whatif import Change, WhatIf
from roofline.report.console import print_whole
from roofline.report.names import line_names
from roofline.report.text import seconds

if TYPE_CHECKING:
    from rich.console import Console

Document = dict[str, Any]
SHOWN = 4
NAME = 28  # columns


def document(what_if: WhatIf, by: str = "call") -> Document:
    """Every line before and after; times are those of one step, null is unknown."""
    changes = what_if.by(by)
    calls = [each for change in changes for each in change.calls]
    before, after = _sums(changes, "before"), _sums(changes, "after")
    return {
        "schema": "roofline.whatif/1",
        "change": what_if.words,
        "before": {"device": what_if.before.roof.name, **before},
        "after": {"device": what_if.after.roof.name, **after},
        "batch": _samples(what_if.batch, before["roof_s"], after["roof_s"]),
        "unbounded_s": _sum([c.measured_s for c in calls if c.unbounded]),
        "not_compared_s": _sum([c.measured_s for c in calls if c.not_compared]),
        "needs_nothing_s": _sum([c.measured_s for c in calls if c.needs_nothing]),
        "no_level": list(dict.fromkeys(c.no_level.name for c in calls if c.no_level)),
        "no_ceiling": list(
            dict.fromkeys(r.name for c in changes for r in c.after.placement.no_ceiling)
        ),
        "not_rewritten": list(what_if.not_rewritten),
        "gaps": [asdict(gap) for gap in what_if.mixed],
        "items": [_change(change) for change in changes],
    }


def print_document(made: Document, console: "Console", rows: int) -> None:
    """The same as a table, most time today first."""
    from rich.table import Table

    before = made["before"]
    console.print(f"what if {made['change']}: bounds, not measurements")
    console.print(
        f"roof time of a step {seconds(before['roof_s'])} ({before['device']}) -> "
        f"{_least(made)}; measured today {seconds(before['measured_s'])}; {_as_near(made)}"
    )
    for gap in made["gaps"]:
        console.print(f"{gap['name']}: {gap['what']}; other threads, other rates")
    if batch := made["batch"]:
        each = (seconds(batch[f"{side}_roof_s"]) for side in ("before", "after"))
        console.print(f"at the roof a sample takes {' -> '.join(each)}")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column("operator", no_wrap=True, overflow="ellipsis", max_width=NAME)
    for name in ("time", "roof", "new roof", "as near"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("bound by", no_wrap=True)
    items = made["items"]
    for name, item in zip(line_names(items, NAME)[:rows], items, strict=False):
        table.add_row(
            name,
            seconds(item["measured_s"]),
            seconds(item["roof_s"]),
            seconds(item["new_roof_s"]),
            _near(item),
            _bound(item),
        )
    print_whole(console, table)
    for name, words in _LEFT.items():
        if left_s := made[name]:
            console.print(f"{words}: {seconds(left_s)} of today's")
    if levels := made["no_level"]:
        console.print(
            f"{made['after']['device']} has no ceiling for {', '.join(levels)}: what it binds "
            "today is placed at the next level there, and has no time as near to the roof"
        )
    if left := made["not_rewritten"]:
        shown = ", ".join(left[:SHOWN]) + (f" and {len(left) - SHOWN} more" if left[SHOWN:] else "")
        console.print(f"not in the new times, since their sizes are not known: {shown}")


_LEFT = {
    "unbounded_s": "calls without a bound, in no new time",
    "needs_nothing_s": "calls that need nothing of the device, such as views, in no new time",
}


def _least(made: Document) -> str:
    """The new roof, with what it leaves out: it is then lower than it could be."""
    after, missing = made["after"], made["no_ceiling"]
    words = f"{seconds(after['roof_s'])} ({after['device']})"
    if not missing:
        return words
    return f"at least {words}, without {', '.join(missing)}, which has no ceiling there"


def _as_near(made: Document) -> str:
    near_s, left_s = made["after"]["same_fraction_s"], made["not_compared_s"]
    if near_s is None:
        return "no time as near to the roof as today is known"
    near = f"as near to the roof as today it would take {seconds(near_s)}"
    if not left_s:
        return near
    return f"{near} without calls that take {seconds(left_s)} today, whose two roofs do not compare"


def _near(item: Document) -> str:
    """Its time as near to the roof; more than that where calls of it are left out."""
    more = ">" if item["not_compared_s"] and item["same_fraction_s"] is not None else ""
    return more + seconds(item["same_fraction_s"])


def _bound(item: Document) -> str:
    missing = item["new_no_ceiling"]
    words = item["new_binding"] or "-"
    return f"{words} without {', '.join(missing)}" if missing else words


def _samples(batch: Batch | None, before_s: float | None, after_s: float | None) -> Document | None:
    """Roof time of one sample before and after; null where the batch stays."""
    if batch is None:
        return None
    return {
        "before": batch.now,
        "after": batch.then,
        "before_roof_s": None if before_s is None else before_s / batch.now,
        "after_roof_s": None if after_s is None else after_s / batch.then,
    }


def _change(change: Change) -> Document:
    before, after = change.before, change.after
    return {
        "name": before.name,
        "kind": before.kind,
        "shapes": before.shapes,
        "calls": before.calls / before.steps,
        "measured_s": _step(before.measured_s, before.steps),
        "roof_s": _step(before.roof_s, before.steps),
        "binding": before.binding.demanded.name if before.binding else None,
        "new_roof_s": change.roof_s,
        "new_binding": after.binding.demanded.name if after.binding else None,
        "new_no_ceiling": [resource.name for resource in after.placement.no_ceiling],
        "same_fraction_s": change.same_fraction_s,
        "not_compared_s": _sum([c.measured_s for c in change.calls if c.not_compared]),
    }


def _sums(changes: Sequence[Change], side: str) -> Document:
    if side == "before":
        return {
            "roof_s": _sum([_step(c.before.roof_s, c.before.steps) for c in changes]),
            "measured_s": _sum([_step(c.before.measured_s, c.before.steps) for c in changes]),
        }
    return {
        "roof_s": _sum([c.roof_s for c in changes]),
        "same_fraction_s": total(c.same_fraction_s for c in changes),
    }


def _sum(values: Sequence[float | None]) -> float | None:
    """What is known of them; views, which take nothing, are no answer where all else is unknown."""
    known = [value for value in values if value]
    return sum(known) if known or None not in values else None


def _step(total: float | None, steps: int) -> float | None:
    return None if total is None else total / steps
