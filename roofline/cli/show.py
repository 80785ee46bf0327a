"""``roofline show``: the answer, the table, the findings of a saved run."""

from pathlib import Path

import click

from roofline import runfile
from roofline.cli import options
from roofline.cli.output import print_run, print_times, print_what_if
from roofline.errors import BadInput
from roofline.program import GROUPINGS


@click.command("show")
@click.argument("run", type=click.Path(path_type=Path))
@options.by(GROUPINGS)
@options.rows()
@options.findings
@click.option(
    "--what-if", metavar="CHANGES", help="Place it anew: device=NAME, dtype=TYPE, batch=N."
)
@click.option(
    "--times",
    is_flag=True,
    help="Print each line's time on every axis: compute, traffic, overhead.",
)
@options.as_json
def command(
    run: Path, by: str, rows: int, findings: int, what_if: str | None, times: bool, as_json: bool
) -> None:
    """Show a saved run: coverage, the answer, time lost line by line, findings.

    \b
    Example:
      roofline show layernorm.roof --by operator
      roofline show layernorm.roof --times --by module
      roofline show layernorm.roof --what-if device=h100-sxm,dtype=bf16,batch=64
      roofline show layernorm.roof --json | jq '.findings[0]'
    """
    if what_if is not None and times:
        raise BadInput("--what-if has no times on every axis; give one of --what-if and --times")
    if what_if is not None:
        print_what_if(runfile.load(run), what_if, by=by, rows=rows, as_json=as_json)
        return
    if times and not as_json:  # the document has them as the bounds of each item
        print_times(runfile.load(run), by=by, rows=rows)
        return
    print_run(runfile.load(run), by=by, rows=rows, findings=findings, as_json=as_json)
