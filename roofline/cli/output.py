"""How commands print: one document as JSON, or the same document as text."""

import json
import os
import sys

from roofline.report import text
from roofline.report.document import of_run
from roofline.runfile import Run

PIPED_WIDTH = 110  # columns when nobody's terminal says otherwise


def print_run(
    run: Run,
    *,
    by: str = "call",
    rows: int = text.ROWS,
    findings: int = text.FINDINGS,
    as_json: bool,
) -> None:
    """Print the placement of a run on standard output."""
    document = of_run(run, by)
    if as_json:
        json.dump(document, sys.stdout, allow_nan=False)
        sys.stdout.write("\n")
        return
    from rich.console import Console

    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    console = Console(width=PIPED_WIDTH if piped else None, highlight=False)
    text.print_document(document, console, rows=rows, findings=findings)
