"""``roofline measure``: what this device can really do, kept for everything that comes later."""

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from roofline.device import READ_SHARE, RESOURCES, Ceiling, Device
from roofline.errors import BadInput, Missing
from roofline.units import show, show_binary

if TYPE_CHECKING:
    from rich.table import Table

    from roofline.bench.cpu import Progress

_INTERRUPTED = 130
_REFRESH_S = 0.2  # a bar that draws more often disturbs what it reports on


@click.command(name="measure")
@click.option("--device", default="cpu", show_default=True, help="What to measure.")
@click.option("--quick", is_flag=True, help="About 10 seconds instead of a minute.")
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write it there too."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def command(device: str, quick: bool, output: Path | None, as_json: bool, quiet: bool) -> int:
    """Measure this device's ceilings and keep them.

    Bandwidth of every memory level, arithmetic peaks, matrix products and dispatch, with one
    thread and with one on every core.  Other commands use the newest measurement.  Ctrl-C keeps
    what is measured until then.

    \b
    Example:
      roofline measure
      roofline measure --quick --json
    """
    if device != "cpu":
        raise Missing(f"{device!r} cannot be measured; there is cpu")
    if output is not None and not output.absolute().parent.is_dir():
        raise BadInput(f"cannot write {output}: no folder {output.absolute().parent}")
    from roofline.bench.cpu import Stopped, measure
    from roofline.devices.kept import keep

    stopped = False
    with _bar(shown=sys.stderr.isatty() and not quiet) as progress:
        try:
            measured = measure(quick=quick, progress=progress)
        except Stopped as interruption:
            if interruption.device is None:
                raise
            measured, stopped = interruption.device, True
    document = _document(measured)
    if output is not None:
        _write(output, document)
    path = keep(measured)
    if as_json:
        click.echo(document)
    else:
        _print(measured)
    sys.stdout.flush()
    click.echo(f"{'interrupted; the part measured is ' * stopped}kept in {path}", err=True)
    return _INTERRUPTED if stopped else 0


def _document(device: Device) -> bytes:
    import msgspec

    from roofline.devices.kept import SCHEMA

    return msgspec.json.format(msgspec.json.encode({"schema": SCHEMA, "device": device}), indent=1)


def _write(path: Path, document: bytes) -> None:
    """The whole document or nothing; an earlier file stays until then."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with open(handle, "wb") as file:
                file.write(document + b"\n")
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def _bar(shown: bool) -> "Iterator[Progress]":
    """A progress bar on standard error, drawn between samples and never beside them."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, auto_refresh=False, transient=True, disable=not shown
    ) as bar:
        task, drawn = bar.add_task("", total=1.0), 0.0

        def progress(what: str, share: float) -> None:
            nonlocal drawn
            if (now := time.monotonic()) - drawn > _REFRESH_S:
                drawn = now
                bar.update(task, description=what, completed=share, refresh=True)

        yield progress


def _print(device: Device) -> None:
    from rich.console import Console

    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    console = Console(width=110 if piped else None, highlight=False, markup=False, emoji=False)
    console.print(f"{device.name} ({device.id})\n", style="bold")
    console.print(_table(sorted(device.ceilings, key=_row_order)))
    for mapped in device.mapped:
        console.print(f"{mapped.lacks.name} is taken as {mapped.uses.name}: {mapped.why}")
    if device.note:
        console.print(f"\n{device.note}")


def _row_order(ceiling: Ceiling) -> tuple[int, int, int]:
    order, access = list(RESOURCES), list(READ_SHARE)
    variant = ceiling.variant
    return (
        # Memory first, from the core outwards, then pipes, then dispatch.
        order.index(ceiling.resource.name) + len(order) * (not ceiling.resource.is_boundary),
        variant.threads or 0,
        0 if variant.access is None else access.index(variant.access),
    )


def _table(ceilings: Sequence[Ceiling]) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("ceiling", "of"):
        table.add_column(heading, no_wrap=True)
    for heading in ("threads", "holds", "median", "95 % of median", "n", "clean"):
        table.add_column(heading, justify="right", no_wrap=True)
    for c in ceilings:
        unit, spread = f"{c.resource.unit}/s", c.provenance.spread
        interval = clean = n = ""
        if spread is not None:
            n, clean = str(spread.n), f"{spread.n / (spread.n + spread.dropped):.0%}"
            if spread.low is not None and spread.high is not None:
                interval = f"{show(spread.low, unit)} to {show(spread.high, unit)}"
        holds = "" if c.capacity is None else show_binary(c.capacity)
        of = c.variant.access or c.variant.reach or ""
        threads = "" if c.variant.threads is None else str(c.variant.threads)
        table.add_row(c.resource.name, of, threads, holds, show(c.rate, unit), interval, n, clean)
    return table
