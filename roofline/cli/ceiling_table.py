"""Measured ceilings as a table: how much, how sure, at which clock."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from roofline.device import ELEMENTS, READ_SHARE, RESOURCES, Ceiling, Device
from roofline.provenance import Spread
from roofline.units import number_of, show, show_binary

if TYPE_CHECKING:
    from rich.table import Table

Cell = Callable[[Ceiling], str]


def table(device: Device, sheet: Device | None) -> "Table":
    """One row a ceiling; `sheet` is the same device as printed, to compare with."""
    from rich.table import Table

    columns: list[tuple[str, Cell]] = [("ceiling", lambda c: c.resource.name), ("of", _of)]
    left = len(columns)
    if device.kind == "cpu":
        columns.append(("threads", lambda c: str(c.variant.threads or "")))
    columns += [
        ("holds", lambda c: "" if c.capacity is None else show_binary(c.capacity)),
        ("median", lambda c: show(c.rate, f"{c.resource.unit}/s")),
        ("95 % of median", _reach),
        ("n", lambda c: str(c.provenance.spread.n) if c.provenance.spread else ""),
    ]
    if device.kind == "cpu":
        columns += [("clean", _clean), ("instructions", _instructions)]
    if any(c.clock_hz for c in device.ceilings):
        columns.append(("MHz", lambda c: f"{c.clock_hz / 1e6:.0f}" if c.clock_hz else ""))
    if sheet is not None and device.kind == "gpu":
        columns.append(("of printed\nat clock", lambda c: _of_printed(c, sheet)))
    made = Table(box=None, pad_edge=False, header_style="bold")
    for i, (heading, _) in enumerate(columns):
        words = i < left or heading == "instructions"
        made.add_column(heading, justify="left" if words else "right", no_wrap=True)
    for c in sorted(shown(device), key=_order):
        made.add_row(*(cell(c) for _, cell in columns))
    return made


def shown(device: Device) -> list[Ceiling]:
    """All but the paces of a library's kernels, which are many: `paces` says how many."""
    return [c for c in device.ceilings if c.resource != ELEMENTS]


def paces(device: Device) -> str:
    """One line on what `shown` leaves out; "" where there is nothing."""
    rates = sorted(c.rate for c in device.ceilings if c.resource == ELEMENTS)
    if not rates:
        return ""
    low, high = (show(rate, f"{ELEMENTS.unit}/s") for rate in (rates[0], rates[-1]))
    return (
        f"and {number_of(len(rates), 'pace')} of PyTorch's own kernels, {low} to {high}, "
        "which --json prints"
    )


def unstable(ceilings: Sequence[Ceiling]) -> list[str]:
    """A line for every ceiling whose samples are no one number."""
    return [
        f"{c.resource.name} {c.variant}".rstrip() + f": {c.provenance.spread.unstable}"
        for c in sorted(ceilings, key=_order)
        if c.provenance.spread and c.provenance.spread.unstable
    ]


def facts(device: Device) -> list[str]:
    """A line for every property that was timed and is no rate, with how sure it is."""
    return [
        f"{fact.name.replace('_', ' ')}: {show(fact.value, fact.unit)}{_sure(spread, fact.unit)}"
        for fact in device.facts
        if (spread := fact.provenance.spread) is not None and not isinstance(fact.value, str)
    ]


def _sure(spread: Spread, unit: str) -> str:
    taken = spread.n + spread.dropped
    interval = (
        ""
        if spread.low is None or spread.high is None
        else f", {show(spread.low, unit)} to {show(spread.high, unit)} (95 % of median)"
    )
    unstable = f"; {spread.unstable}" if spread.unstable else ""
    return f"{interval}, n {spread.n}, clean {spread.n / taken:.0%}{unstable}"


def _order(ceiling: Ceiling) -> tuple[int, int, int, bool, int]:
    order, access = list(RESOURCES), list(READ_SHARE)
    variant = ceiling.variant
    return (
        # Memory first, from the core outwards, then pipes, then launches and dispatch.
        order.index(ceiling.resource.name) + len(order) * (not ceiling.resource.is_boundary),
        variant.threads or 0,
        -1 if variant.node is None else variant.node,
        variant.sustained,
        0 if variant.access is None else access.index(variant.access),
    )


def _of(c: Ceiling) -> str:
    v = c.variant
    node = None if v.node is None else f"node {v.node}"
    parts = (v.access, node, v.reach, v.way, "sustained" if v.sustained else None)
    mark = " *" if c.provenance.spread and c.provenance.spread.unstable else ""
    return ", ".join(str(part) for part in parts if part) + mark


def _reach(c: Ceiling) -> str:
    """How far the interval of the median reaches to its farther side."""
    spread = c.provenance.spread
    if spread is None or spread.low is None or spread.high is None:
        return ""
    off = max(spread.high - spread.median, spread.median - spread.low) / spread.median
    return f"± {off:.1%}"


def _clean(c: Ceiling) -> str:
    spread = c.provenance.spread
    return "" if spread is None else f"{spread.n / (spread.n + spread.dropped):.0%}"


def _instructions(c: Ceiling) -> str:
    """The instruction set, or the library that does not tell it, and how stores were done."""
    told = next(
        (
            part.removeprefix("instructions ")
            for part in c.provenance.conditions.split("; ")
            if part.startswith("instructions ")
        ),
        "",
    )
    return told.split(" by ")[0].split(" for ")[0].replace(" stores", "")


def _of_printed(c: Ceiling, sheet: Device) -> str:
    from roofline.devices.clock import at_clock

    if c.clock_hz is None:
        return ""
    printed = at_clock(sheet, c.resource, c.clock_hz)
    return "" if printed is None else f"{c.rate / printed:.2f}"
