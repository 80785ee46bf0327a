"""``roofline import``: files of a profiler -> a run file, and what it says."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from roofline import importers, runfile
from roofline.cli import options
from roofline.cli.output import print_run
from roofline.cli.say import say
from roofline.devices import kept
from roofline.errors import BadInput
from roofline.program import GROUPINGS
from roofline.provenance import Basis
from roofline.runfile import Run


@click.command("import")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE..."
)
@options.output("Run file to write (default: none, only print).")
@click.option(
    "--device",
    metavar="NAME|cuda:N",
    help="Device it ran on, if the files do not say; of several GPUs in them, which.",
)
@options.by(GROUPINGS)
@options.rows()
@options.findings
@click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark in text tables.")
@click.option(
    "--ncu-cache",
    type=click.Choice(["flush", "none"]),
    help="What Nsight Compute's --cache-control was (its default: flush).",
)
@click.option(
    "--ncu-clock",
    type=click.Choice(["base", "none"]),
    help="What Nsight Compute's --clock-control was (its default: base).",
)
@click.option(
    "--keep-private",
    is_flag=True,
    help="Keep host names, paths, commands, environment, and texts given to operators.",
)
@click.option("--keep", is_flag=True, help="Keep measured ceilings that the files hold.")
@options.as_json
@options.quiet
def command(
    files: tuple[Path, ...],
    output: Path | None,
    by: str,
    rows: int,
    findings: int,
    keep: bool,
    as_json: bool,
    quiet: bool,
    **said: Any,
) -> None:
    """Read FILEs of a profiler; the format is recognised by content, never by name.

    PyTorch profiler traces, Nsight Compute pages and others, plain or gzipped; several files where
    they belong together.  What was repaired, skipped or missing is said and kept in the run.

    \b
    Example:
      roofline import trace.json.gz -o trace.roof
      roofline import trace.json --device h100-sxm --by operator
    """
    if output is not None:
        _check(output, files)
    with _bar(not quiet) as tell:
        run = importers.load(files, importers.said(**said), tell)
    printed = not (as_json or quiet)  # the text has the recording's own on top
    of_replays = run.replays.warnings if run.replays else ()
    for warning in (*(() if printed else run.recorder.warnings), *of_replays):
        say(warning)
    if keep:
        _keep(run)
    if output is not None:
        runfile.save(run, output)
    if as_json or not quiet:
        print_run(run, by=by, rows=rows, findings=findings, as_json=as_json)
    if output is not None and not quiet:
        say(f"wrote {output.name}")


@contextmanager
def _bar(wanted: bool) -> Iterator[Callable[[float], None] | None]:
    """A progress bar on standard error; none where nobody looks at it."""
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _check(output: Path, files: tuple[Path, ...]) -> None:
    """Say what is wrong with the place to write to before a long file is read."""
    if any(os.path.exists(output) and file.exists() and output.samefile(file) for file in files):
        raise BadInput(f"cannot write {output}: it is the file to import")
    runfile.place_for(output)


def _keep(run: Run) -> None:
    """Keep the ceilings of a run that holds nothing else."""
    device = run.device
    if device is None or len(run.events) or Basis.MEASURED not in device.bases():
        raise BadInput(f"{run.recorder.program} holds no measured ceilings to keep")
    say(f"kept {kept.keep(device)}")
