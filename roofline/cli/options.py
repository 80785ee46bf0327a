"""Options that several commands have: one name and one meaning everywhere."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from roofline.report.shown import FINDINGS, ROWS

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

as_json: Option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
quiet: Option = click.option("--quiet", is_flag=True, help="Write the run file and print nothing.")
findings: Option = click.option(
    "--findings",
    metavar="N",
    type=click.IntRange(0),
    default=FINDINGS,
    show_default=True,
    help="Findings to print.",
)


def rows(default: int = ROWS) -> Option:
    """``--rows``: how long the table may be."""
    return click.option(
        "--rows",
        metavar="N",
        type=click.IntRange(0),
        default=default,
        show_default=True,
        help="Lines of the table to print.",
    )


def by(groupings: Iterable[str], default: str = "call") -> Option:
    """``--by``: what one line stands for."""
    return click.option(
        "--by",
        default=default,
        show_default=True,
        metavar="GROUPING",
        help=f"What one line stands for: {', '.join(groupings)}.",
    )


def output(help_: str, metavar: str = "RUN") -> Option:
    """``-o``: the file to write."""
    return click.option(
        "-o", "--output", type=click.Path(path_type=Path), metavar=metavar, help=help_
    )
