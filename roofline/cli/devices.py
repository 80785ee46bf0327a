"""``roofline devices``: what is known about each device, and where every number came from."""

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from roofline.cli import options
from roofline.cli.ceiling_table import paces, shown, unstable
from roofline.cli.say import say
from roofline.device import DRAM, PLAIN, TENSOR_BF16, VECTOR_FP32, Ceiling, Device, Fact, Resource
from roofline.errors import BadInput, RooflineError
from roofline.provenance import Basis, Provenance
from roofline.report.console import console, print_whole
from roofline.units import DECIMAL, number_of, show, show_binary

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SCHEMA = "roofline.devices/1"
SUMMARY = (DRAM, VECTOR_FP32, TENSOR_BF16)
LETTERS = "A read in the vendor's own document, B partly through a transcription, C third party"


@click.command(name="devices")
@click.argument("name", required=False)
@click.option(
    "--diff",
    nargs=2,
    metavar="BEFORE AFTER",
    help="Compare two measurements: files, or NAME (the newest kept), NAME~1 (the one before).",
)
@options.as_json
def command(name: str | None, diff: tuple[str, str] | None, as_json: bool) -> None:
    """List devices and their ceilings, with provenance.

    Without NAME: every device that comes with roofline, then those measured and kept here.
    With NAME: every number of that device, where it came from and under which conditions.

    \b
    Example:
      roofline devices
      roofline devices h100-sxm
      roofline devices "NVIDIA GeForce RTX 4090" --json
      roofline devices --diff h200~1 h200
    """
    if diff is not None:
        if name is not None:
            raise BadInput(f"--diff compares two measurements and takes no {name!r} beside them")
        from roofline.cli import device_diff

        device_diff.show(*diff, as_json=as_json)
        return
    printed, measured = _all() if name is None else _one(name)
    if as_json:
        import msgspec

        rows = [_record(device, None) for device in printed]
        rows += [_record(device, when) for device, when in measured]
        click.echo(msgspec.json.format(msgspec.json.encode({"schema": SCHEMA, "devices": rows})))
        return
    out = console()
    if name is None:
        _list(out, printed, measured)
        return
    for device in printed:
        _details(out, device, None)
    for device, when in measured:
        _details(out, device, when)


_Measured = list[tuple[Device, datetime]]


def _all() -> tuple[list[Device], _Measured]:
    from roofline.devices import datasheet, kept

    measured: _Measured = []
    for device_id in kept.kept_ids():
        try:
            measured += _newest(device_id)
        except RooflineError as error:  # one damaged file must not hide every other device
            say(f"warning: {error}")
    return [datasheet.load(device_id) for device_id in datasheet.known()], measured


def _one(name: str) -> tuple[list[Device], _Measured]:
    from roofline import devices
    from roofline.bench.named import meant

    found = devices.find(meant(name))
    printed = [found] if found.id in devices.known() else []
    return printed, _newest(found.id)


def _newest(device_id: str) -> _Measured:
    from roofline.devices import kept

    return [(device, kept.taken_at(path)) for path, device in islice(kept.counting(device_id), 1)]


def _record(device: Device, when: datetime | None) -> dict[str, Any]:
    from msgspec import to_builtins

    return {
        "id": device.id,
        "name": device.name,
        "kind": device.kind,
        "measured_at": when and when.isoformat(),
        "aliases": device.aliases,
        "note": device.note,
        "ceilings": [
            {
                "resource": c.resource.name,
                "unit": c.resource.unit,
                "rate": c.rate,
                "variant": to_builtins(c.variant),
                "capacity": c.capacity,
                **to_builtins(c.provenance),
            }
            for c in device.ceilings
        ],
        "facts": [
            {"name": f.name, "value": f.value, "unit": f.unit, **to_builtins(f.provenance)}
            for f in device.facts
        ],
        "mapped": [
            {"lacks": m.lacks.name, "uses": m.uses.name, "why": m.why} for m in device.mapped
        ],
    }


def _list(out: "Console", printed: list[Device], measured: _Measured) -> None:
    """One line a device; a cell that nobody printed or measured stays empty."""
    table = _table("device")
    table.add_column("kind", no_wrap=True)
    for heading in ("dram\nGB/s", "fp32\nTflop/s", "bf16\nTflop/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("basis", no_wrap=True)
    table.add_column("conf", no_wrap=True)
    for device in [*printed, *(device for device, _ in measured)]:
        shown = [_best(device, resource) for resource in SUMMARY]
        cells = ["" if c is None else _summary(c) for c in shown]
        table.add_row(device.id, device.kind, *cells, _bases(shown), _letters(shown))
    print_whole(out, table)
    out.print(
        "\nfp32 on the vector units, bf16 on the matrix units; dense, FMA = 2 flop; an empty cell "
        f"is unknown.  conf: {LETTERS}.  `roofline devices NAME` shows every number's source."
    )
    for device, when in measured:
        out.print(f"{device.id}: measured {_age(when)}")
    if not measured:
        out.print("Nothing is measured here yet; `roofline measure` does that.")


def _summary(c: Ceiling) -> str:
    """A rate as a datasheet prints it, or to the three digits that a measurement has."""
    digits = 3 if c.provenance.basis is Basis.MEASURED else 5
    return f"{c.rate / DECIMAL['G' if c.resource == DRAM else 'T']:.{digits}g}"


def _best(device: Device, resource: Resource) -> Ceiling | None:
    """The highest of a resource's ceilings: one a device where printed, its best variant else."""
    rates = [c for c in device.ceilings if c.resource == resource]
    return max(rates, key=lambda c: c.rate, default=None)


def _bases(shown: list[Ceiling | None]) -> str:
    present = {c.provenance.basis for c in shown if c is not None}
    return "mixed" if len(present) > 1 else "".join(present)


def _letters(shown: list[Ceiling | None]) -> str:
    return " ".join(sorted({c.provenance.confidence for c in shown if c is not None} - {""}))


def _details(out: "Console", device: Device, when: datetime | None) -> None:
    state = "printed" if when is None else f"measured {_age(when)}"
    out.print(f"\n{device.name}", style="bold")
    out.print(f"{device.id}, {device.kind}, {state}")
    if device.aliases:
        out.print(f"also: {', '.join(device.aliases)}")
    if device.note:
        out.print(f"note: {device.note}")
    out.print()
    sources: dict[str, int] = {}
    table = _table("resource")
    table.add_column("rate", justify="right", no_wrap=True)
    for heading in ("basis", "conf", "src", "conditions"):
        table.add_column(heading, overflow="fold")
    for c in shown(device):
        variant = "" if c.variant == PLAIN else str(c.variant)
        conditions = "; ".join(filter(None, (variant, c.provenance.conditions)))
        rate = show(c.rate, f"{c.resource.unit}/s")
        table.add_row(c.resource.name, rate, *_origin(c.provenance, sources), conditions)
    for mapped in device.mapped:
        table.add_row(mapped.lacks.name, "", "", "", "", f"as {mapped.uses.name}: {mapped.why}")
    print_whole(out, table)
    if told := paces(device):
        out.print(told)
    if any(c.provenance.spread for c in device.ceilings):
        out.print()
        print_whole(out, _spreads(device))
        for line in unstable(device.ceilings):
            out.print(f"no one number: {line}")
    if device.facts:
        out.print()
        table = _table("fact", "value", "basis", "conf", "src", "conditions")
        for fact in device.facts:
            origin = _origin(fact.provenance, sources)
            value = fact_value(fact)
            table.add_row(fact.name, value, *origin, fact.provenance.conditions)
        print_whole(out, table)
    out.print()
    for source, number in sources.items():
        out.print(f"[{number}] {source}")


def _origin(provenance: Provenance, sources: dict[str, int]) -> tuple[str, str, str]:
    """Basis, confidence and the number of the source, which is entered into `sources`."""
    dated = f"{provenance.source} ({provenance.as_of})"
    number = sources.setdefault(dated, len(sources) + 1)
    return provenance.basis, provenance.confidence, f"[{number}]"


def _spreads(device: Device) -> "Table":
    """How far each measured rate can be trusted: samples, quartiles, interval of the median."""
    table = _table("resource", "variant")
    for heading in ("n", "median", "quartiles", "95 % of median"):
        table.add_column(heading, justify="right", no_wrap=True)
    for c in shown(device):
        s, unit = c.provenance.spread, f"{c.resource.unit}/s"
        if s is None:
            continue
        interval = (
            "too few samples"
            if s.low is None or s.high is None
            else f"{show(s.low, unit)} to {show(s.high, unit)}"
        )
        quartiles = f"{show(s.q1, unit)} to {show(s.q3, unit)}"
        table.add_row(
            c.resource.name, str(c.variant), str(s.n), show(s.median, unit), quartiles, interval
        )
    return table


def _table(*headings: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for heading in headings:
        name = heading in ("resource", "device", "fact")
        table.add_column(heading, no_wrap=name, overflow="fold")
    return table


def fact_value(fact: Fact) -> str:
    """A fact's value with its unit."""
    if isinstance(fact.value, str):
        return fact.value
    if fact.unit == "B":
        return show_binary(fact.value)
    return show(fact.value, fact.unit) if fact.unit else f"{fact.value:g}"


def _age(when: datetime) -> str:
    days = (datetime.now(UTC) - when).days
    ago = "today" if days < 1 else f"{number_of(days, 'day')} ago"
    return f"{when:%Y-%m-%d %H:%M} UTC ({ago})"
