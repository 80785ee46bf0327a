"""How commands print: one document as JSON, or the same document as text."""

import json
import sys
from typing import Any

from roofline.report import text
from roofline.report.against import against, print_against
from roofline.report.console import console
from roofline.report.document import SCHEMA, of_run
from roofline.report.shown import FINDINGS, ROWS
from roofline.runfile import Run


def print_run(
    run: Run,
    *,
    by: str = "call",
    rows: int = ROWS,
    findings: int = FINDINGS,
    as_json: bool,
    before: Run | None = None,
) -> None:
    """Print the placement of a run on standard output, and what became of it since `before`."""
    document = of_run(run, by)
    if before is not None:
        document["against"] = against(before, run)
    if as_json:
        _print_json(document)
        return
    screen = console()
    text.print_document(document, screen, rows=rows, findings=findings)
    if before is not None:
        print_against(document["against"], screen)


def print_nothing() -> None:
    """The document of a script without operators: nothing is known, and nothing is 0."""
    _print_json({"schema": SCHEMA, "device": None, "coverage": None, "items": [], "findings": []})


def print_times(run: Run, *, by: str, rows: int) -> None:
    """Print the time of each line on every axis."""
    from roofline.report import axes

    axes.print_document(of_run(run, by), console(), rows)


def print_what_if(run: Run, changes: str, *, by: str, rows: int, as_json: bool) -> None:
    """Print a run as it would be placed under other conditions."""
    from roofline.bench.named import named
    from roofline.program.whatif import parse_batch, parse_changes, what_if
    from roofline.report import whatif

    wanted = parse_changes(changes)
    device = named(wanted["device"]) if "device" in wanted else None
    batch = parse_batch(wanted["batch"]) if "batch" in wanted else None
    made = what_if(run, device=device, dtype=wanted.get("dtype"), batch=batch)
    document = whatif.document(made, by)
    if as_json:
        _print_json(document)
    else:
        whatif.print_document(document, console(), rows)


def _print_json(document: dict[str, Any]) -> None:
    json.dump(document, sys.stdout, allow_nan=False)
    sys.stdout.write("\n")
