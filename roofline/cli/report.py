"""``roofline report``: a saved run as one offline page."""

import json
import os
from pathlib import Path

import click

from roofline import runfile
from roofline.cli import options
from roofline.cli.say import say
from roofline.errors import BadInput
from roofline.program import GROUPINGS
from roofline.report import html
from roofline.report.document import of_run


@click.command("report")
@click.argument("run", type=click.Path(path_type=Path))
@options.output("Page to write (default: the run's name with .html, here).", "FILE")
@options.by(GROUPINGS)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def command(run: Path, output: Path | None, by: str, as_json: bool) -> None:
    """Write a saved run as one HTML file that loads nothing from anywhere.

    \b
    Example:
      roofline report layernorm.roof -o report.html
      roofline report layernorm.roof --by module -o modules.html
    """
    path = output or Path(f"{run.stem}.html")
    saved = runfile.load(run)
    if os.path.exists(path) and path.samefile(run):  # exists: also of a name that is too long
        raise BadInput(f"cannot write {path}: it is the run to report on")
    html.page_at(path)
    document = of_run(saved, by)
    html.write(document, path)
    if as_json:
        written = {"path": str(path), "bytes": path.stat().st_size, "items": len(document["items"])}
        click.echo(json.dumps({"schema": "roofline.report/1"} | written))
    else:
        say(f"wrote {path}")
