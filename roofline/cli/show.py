"""``roofline show``: the answer, the table, the findings of a saved run."""

from pathlib import Path

import click

from roofline import runfile
from roofline.cli.output import print_run, print_what_if
from roofline.program import GROUPINGS
from roofline.report.text import FINDINGS, ROWS


@click.command("show")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--by", default="call", metavar="GROUPING", help=f"Group lines by {', '.join(GROUPINGS)}."
)
@click.option(
    "--rows",
    type=click.IntRange(0),
    default=ROWS,
    show_default=True,
    help="Lines of the table to print.",
)
@click.option(
    "--findings",
    type=click.IntRange(0),
    default=FINDINGS,
    show_default=True,
    help="Findings to print.",
)
@click.option(
    "--what-if", metavar="CHANGES", help="Place it anew: device=NAME, dtype=TYPE, batch=N."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    run: Path, by: str, rows: int, findings: int, what_if: str | None, as_json: bool
) -> None:
    """Show a saved run: coverage, the answer, time lost line by line, findings.

    \b
    Example:
      roofline show layernorm.roof --by operator
      roofline show layernorm.roof --what-if device=h100-sxm,dtype=bf16,batch=64
      roofline show layernorm.roof --json | jq '.findings[0]'
    """
    if what_if is not None:
        print_what_if(runfile.load(run), what_if, by=by, rows=rows, as_json=as_json)
        return
    print_run(runfile.load(run), by=by, rows=rows, findings=findings, as_json=as_json)
