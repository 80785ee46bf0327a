"""``roofline measure``: what this device can really do, kept for everything that comes later."""

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from roofline.cli import options
from roofline.cli.ceiling_table import facts, paces, table, unstable
from roofline.cli.say import say
from roofline.device import Device
from roofline.errors import Missing
from roofline.report.console import console, print_whole
from roofline.whole import place_for, whole

if TYPE_CHECKING:
    from roofline.bench.cpu import Progress

SEVERAL = "roofline.measured/1"
_INTERRUPTED = 130
_REFRESH_S = 0.2  # a bar that draws more often disturbs what it reports on


@click.command(name="measure")
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda:N or all.")
@click.option("--quick", is_flag=True, help="10 to 15 seconds for a CPU, 15 to 20 for a GPU.")
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write it there too."
)
@options.as_json
@click.option("--quiet", is_flag=True, help="No progress bar.")
def command(device: str, quick: bool, output: Path | None, as_json: bool, quiet: bool) -> int:
    """Measure this device's ceilings and keep them.

    CPU (a minute): bandwidth of every memory level, arithmetic peaks, matrix products and
    dispatch, with one thread and with one on every core.  GPU (80 seconds): every memory level by
    access, vector and matrix pipes in registers and through PyTorch, launches, links, and what is
    left after seconds under load.  Other commands use the newest measurement.  Ctrl-C keeps what
    is measured until then.

    \b
    Example:
      roofline measure
      roofline measure --device cuda:0 --quick
      roofline measure --device all --json
    """
    if output is not None:
        place_for(output, b"{", "measurement")
    from roofline.bench.cpu import Stopped
    from roofline.devices.kept import keep, ready

    if output is None:  # with a file of its own the measurement is not lost
        ready()
    measured: list[Device] = []
    stopped = False
    for name, measure in _measures(device):
        with _bar(f"{name}: " if device == "all" else "", not quiet) as progress:
            try:
                measured.append(measure(quick, progress))
            except Stopped as interruption:
                if interruption.device is None and not measured:
                    raise
                measured += filter(None, [interruption.device])
                stopped = True
                break
    document = _document(measured, several=device == "all")
    if output is not None:
        _write(output, document)
    paths = [keep(one) for one in measured]
    if as_json:
        click.echo(document)
    else:
        for one in measured:
            _print(one)
    sys.stdout.flush()
    kept = ", ".join(map(str, paths))
    interrupted = "interrupted; the part measured is " * stopped
    say(f"{interrupted}kept in {kept}")
    return _INTERRUPTED if stopped else 0


_Measure = Callable[[bool, "Progress"], Device]


def _measures(device: str) -> list[tuple[str, _Measure]]:
    """What to measure, by name: the CPU, one GPU, or everything."""
    from roofline.bench import cpu, gpu

    cuda = re.fullmatch(r"cuda(?::(\d+))?", device)
    if device == "cpu":
        return [("cpu", cpu.measure)]
    if cuda:
        return [(device, partial(gpu.measure, int(cuda[1] or 0)))]
    if device == "all":
        gpus = [(f"cuda:{i}", partial(gpu.measure, i)) for i in range(gpu.count())]
        return [("cpu", cpu.measure), *gpus]
    there = ["cpu", *(f"cuda:{i}" for i in range(gpu.count())), "all"]
    raise Missing(f"{device!r} cannot be measured; there is {', '.join(there)}")


def _document(devices: Sequence[Device], several: bool) -> bytes:
    import msgspec

    from roofline.devices.kept import SCHEMA

    plain = (
        {"schema": SEVERAL, "devices": devices}
        if several
        else {"schema": SCHEMA, "device": devices[0]}
    )
    return msgspec.json.format(msgspec.json.encode(plain), indent=1)


def _write(path: Path, document: bytes) -> None:
    with whole(path) as file:
        file.write_bytes(document + b"\n")


@contextmanager
def _bar(prefix: str, wanted: bool) -> "Iterator[Progress]":
    """A progress bar on standard error, drawn between samples and never beside them."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    console = Console(stderr=True)
    shown = wanted and sys.stderr.isatty()
    with Progress(
        *columns, console=console, auto_refresh=False, transient=True, disable=not shown
    ) as bar:
        task, drawn = bar.add_task("", total=1.0), 0.0

        def progress(what: str, share: float) -> None:
            nonlocal drawn
            if (now := time.monotonic()) - drawn > _REFRESH_S:
                drawn = now
                bar.update(task, description=prefix + what, completed=share, refresh=True)

        yield progress


def _print(device: Device) -> None:

    from roofline import devices
    from roofline.devices import datasheet

    out = console()
    out.print(f"{device.name} ({device.id})\n", style="bold")
    sheet = datasheet.load(device.id) if device.id in devices.known() else None
    print_whole(out, table(device, sheet))
    if told := paces(device):
        out.print(told)
    for line in facts(device):
        out.print(line)
    for line in unstable(device.ceilings):
        out.print(f"* {line}")
    for mapped in device.mapped:
        out.print(f"{mapped.lacks.name} is taken as {mapped.uses.name}: {mapped.why}")
    if device.note:
        out.print(f"\n{device.note}")
