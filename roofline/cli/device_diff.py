"""``roofline devices --diff``: two measurements of one device beside each other."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofline.cli.devices import fact_value
from roofline.device import ELEMENTS, Device, Fact, Reach
from roofline.errors import NotFound
from roofline.report.console import console, print_whole
from roofline.units import show as quantity

if TYPE_CHECKING:
    from roofline.devices.change import Change

SCHEMA = "roofline.devices-diff/1"


def show(before: str, after: str, *, as_json: bool) -> None:
    """Print what changed from one measurement to the other."""
    from roofline.devices.change import changes, circumstances

    old, new = _measurement(before), _measurement(after)
    found = changes(old, new)
    differ = list(circumstances(old, new))
    if as_json:
        import msgspec

        document = _document(old, new, found, differ)
        click.echo(msgspec.json.format(msgspec.json.encode(document)))
        return
    out = console()
    out.print(f"{old.name} ({old.id})", style="bold")
    if old.id != new.id:
        out.print(f"against {new.name} ({new.id}): another device", style="bold")
    out.print()
    print_whole(out, _table(found))
    for line in _methods(found):
        out.print(line)
    for name, *both in differ:
        was, now = ("not stated" if fact is None else fact_value(fact) for fact in both)
        if was != now:  # what differs in the fourth digit only is in the document
            out.print(f"{name}: {was}, now {now}")


def _methods(found: "tuple[Change, ...]") -> Iterator[str]:
    """What was timed, before and now, of every ceiling where that is not the same."""
    for c in found:
        if c.verdict == "other method":
            yield f"{c.resource.name} {_variant(c)}".rstrip() + " was timed with another method:"
            yield f"  before: {'; '.join(c.before_method)}"
            yield f"  now: {'; '.join(c.after_method)}"


def _measurement(name: str) -> Device:
    """A file, or the newest or an earlier measurement kept for a device."""
    from roofline import devices
    from roofline.bench.named import meant
    from roofline.devices import kept

    if Path(name).is_file():
        return kept.read_file(Path(name))
    asked = re.fullmatch(r"(?P<name>.+?)(?:~(?P<back>\d+))?", name)
    assert asked is not None
    device_id = devices.find(meant(asked["name"])).id
    back = int(asked["back"] or 0)
    newest_first = [device for _, device in islice(kept.counting(device_id), back + 1)]
    if len(newest_first) <= back:
        raise NotFound(
            f"no measurement {name!r}; {kept.home()} keeps {len(newest_first)} of {device_id}"
        )
    return newest_first[back]


def _document(
    old: Device,
    new: Device,
    found: "tuple[Change, ...]",
    differ: list[tuple[str, Fact | None, Fact | None]],
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "before": {"id": old.id, "name": old.name},
        "after": {"id": new.id, "name": new.name},
        "changes": [
            {
                "resource": c.resource.name,
                "variant": str(c.variant),
                "unit": f"{c.resource.unit}/s",
                "before": c.before and c.before.rate,
                "after": c.after and c.after.rate,
                "ratio": c.ratio,
                "clock_ratio": c.clock_ratio,
                "verdict": c.verdict,
                "methods": {"before": c.before_method, "after": c.after_method},
            }
            for c in found
        ],
        "facts": [
            {
                "name": name,
                "unit": next(fact.unit for fact in (now, was) if fact),
                "before": was and was.value,
                "after": now and now.value,
            }
            for name, was, now in differ
        ],
    }


def _table(found: "tuple[Change, ...]") -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("ceiling", no_wrap=True)
    table.add_column("of")
    for heading in ("before", "after", "ratio", "clock"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for c in found:
        unit = f"{c.resource.unit}/s"
        table.add_row(
            c.resource.name,
            _variant(c),
            quantity(c.before.rate, unit) if c.before else "",
            quantity(c.after.rate, unit) if c.after else "",
            f"{c.ratio:.3f}" if c.ratio else "",
            f"{c.clock_ratio:.3f}" if c.clock_ratio else "",
            c.verdict,
        )
    return table


def _variant(change: "Change") -> str:
    """In words; who passes over elements is left out, since it is always the library."""
    variant = change.variant
    if change.resource == ELEMENTS and variant.reach is Reach.LIBRARY:
        variant = replace(variant, reach=None)
    return str(variant)
