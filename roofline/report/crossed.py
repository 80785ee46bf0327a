"""Bytes that counters saw cross a boundary in the running program, beside those of the formulas."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from roofline.device import BOUNDARIES, DRAM, HIERARCHY, Resource
from roofline.program import Item, Program
from roofline.units import show, show_share
from roofline.work import WAYS, Ledger

if TYPE_CHECKING:
    from rich.console import RenderableType

Document = dict[str, Any]
_UNKNOWN: Document = dict.fromkeys(("read", "write", "total", "low", "high", "source"))


def of_item(item: Item, boundaries: Iterable[Resource]) -> Document:
    """By boundary, the bytes of one step: where the demand is, and wherever counters saw any."""
    seen = item.placement.work.achieved
    counted = {} if seen is None else seen.demand()
    shown = dict.fromkeys((*boundaries, *(r for r in BOUNDARIES if r in counted)))
    return {r.name: _amounts(seen, r, item.steps) for r in shown}


def of_program(program: Program) -> Document:
    """All that crossed in one step, and how often each byte of the formulas did; null: not counted.

    A step's `excess` holds bytes over DRAM against the compulsory ones of all its calls, each
    operand of each call once, wherever a cache may have served them; null where a call has no
    complete formula.  `told` is the part of the bytes over DRAM that kernels have as their own.
    """
    if program.achieved is None:
        return {"achieved": None, "excess": None, "told": None}
    seen = program.achieved.ledger
    crossed = seen.demand()
    needed = _compulsory(program)
    both = seen.crossed(DRAM)
    excess = both / needed if both is not None and needed else None
    return {
        "achieved": {r.name: _amounts(seen, r, 1) for r in crossed},
        "excess": {DRAM.name: excess},
        "told": program.achieved.told,
    }


def _compulsory(program: Program) -> float | None:
    """Bytes of one step by the formulas, at whatever boundary they were placed."""
    if not all(part.once.complete for part in program.parts):
        return None
    amounts = (
        part.calls * amount
        for part in program.parts
        if part.once.ledger is not None
        for resource, amount in part.once.ledger.demand().items()
        if resource in HIERARCHY
    )
    return sum(amounts) / program.conditions.steps


def _amounts(ledger: Ledger | None, boundary: Resource, steps: int) -> Document:
    """Both ways and their sum, with its bounds; null is what was not counted."""
    lines = [] if ledger is None else [e for e in ledger.entries if e.resource == boundary]
    if not lines:
        return dict(_UNKNOWN)
    apart = all(e.access is not None for e in lines)
    known = ledger is not None and ledger.crossed(boundary) is not None
    ways = {e.access for e in lines}
    amounts = {
        "read": sum(e.amount for e in lines if e.access == "read") if apart else None,
        "write": sum(e.amount for e in lines if e.access == "write") if apart else None,
        "total": sum(e.amount for e in lines),
        "low": sum(e.amount if e.low is None else e.low for e in lines),
        "high": sum(e.amount if e.high is None else e.high for e in lines),
    }
    if not known:  # one way alone: the sum is at least that, and nobody knows what at most
        amounts |= {"total": None, "high": None}
        amounts |= {way: None for way in WAYS if way not in ways}
    return {
        **{name: _per(amount, steps) for name, amount in amounts.items()},
        "source": ", ".join(dict.fromkeys(e.why for e in lines)),
    }


def _per(amount: int | None, steps: int) -> float | int | None:
    if amount is None:
        return None
    return amount // steps if amount % steps == 0 else amount / steps


def text(document: Document, rows: int) -> Iterable["RenderableType"]:
    """For the terminal: what crossed in a step, and what each line moved; nothing without it."""
    from rich.table import Table
    from rich.text import Text

    how = (document["recorder"] or {}).get("counters")
    if not how:
        return
    yield Text("")
    yield Text(f"counters: {how}")
    if whole := whole_step(document["program"]):
        yield Text(whole)
    counted = [item for item in document["items"] if _dram(item)][:rows]
    if not counted:
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column("over dram", overflow="ellipsis", no_wrap=True, max_width=26)
    for name in ("read", "written", "by formula", "excess"):
        table.add_column(name, justify="right", no_wrap=True)
    for item in counted:
        table.add_row(*_cells(item))
    yield table


def whole_step(program: Document | None) -> str:
    """What crossed DRAM in one step, in words; "" where it was not counted."""
    dram = ((program or {}).get("achieved") or {}).get("dram")
    if program is None or dram is None or dram["low"] is None:
        return ""
    excess = program["excess"]["dram"]
    often = "" if excess is None else f": {excess:.2f} times the bytes of the formulas"
    told = program["told"]
    own = "" if told is None else f"; kernels have {show_share(told)} of them as their own"
    if dram["read"] is None or dram["write"] is None:
        known = dram["total"] is not None
        amount = show(dram["total"] if known else dram["low"], "B")
        moved = f"moves {'' if known else 'at least '}{amount}"
    else:
        moved = f"reads {show(dram['read'], 'B')} and writes {show(dram['write'], 'B')}"
    return f"one step {moved} over dram{often}{own}"


def _dram(item: Document) -> Document | None:
    found: Document = item["achieved"].get("dram") or {}
    return found if found.get("read") is not None else None


def _cells(item: Document) -> tuple[str, ...]:
    dram, demand = _dram(item) or {}, item["demand"] or {}
    needed, excess = demand.get("dram"), item["excess"].get("dram")
    resident = needed is None and item["placed_at"] not in (None, "dram")
    between = dram["high"] - dram["low"] > 0.01 * dram["total"]
    times = "-" if excess is None else f"{excess:.2f}x"
    return (
        item["name"].removeprefix("aten::"),
        show(dram["read"], "B"),
        show(dram["write"], "B"),
        f"in {item['placed_at']}" if resident else "-" if needed is None else show(needed, "B"),
        f"{times} +-{(dram['high'] - dram['low']) / 2 / dram['total']:.0%}" if between else times,
    )
