"""Exports written by hand, in the form of Nsight Compute's CSV pages."""

import csv
import io
from pathlib import Path

from roofline.importers import Options, load
from roofline.runfile import Run

RECORDED = Path(__file__).parent / "2025.3"
LONG = (
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
    "Block Size", "Grid Size", "Device", "CC", "Section Name", "Metric Name", "Metric Unit",
    "Metric Value",
)  # fmt: skip
WIDE = LONG[:11]
COMMAND_LINE = "Command line profiler metrics"


def quoted(rows, end="\n", delimiter=",") -> str:
    """Rows as the profiler writes them: every cell in quotes."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator=end, delimiter=delimiter).writerows(rows)
    return text.getvalue()


def launch(at: int, kernel: str, cc="9.0", grid="(100, 1, 1)", block="(256, 1, 1)", pid=7) -> list:
    """The identity cells of one launch."""
    return [at, pid, "app", "host", kernel, 1, 7, block, grid, 0, cc]


def details(*rows, end="\n", header=LONG) -> str:
    """A long page; a row is identity cells, section, metric, unit, value."""
    return quoted([header, *rows], end)


def metrics(at: int, kernel: str, values: dict, section=COMMAND_LINE, **identity) -> list[list]:
    """The rows of one launch on a long page; values are (text, unit) by metric."""
    first = launch(at, kernel, **identity)
    return [[*first, section, name, unit, text] for name, (text, unit) in values.items()]


def raw(units: dict, *launches: tuple[list, dict]) -> str:
    """A wide page: units by metric, then (identity, values by metric) a launch."""
    names = list(units)
    rows = [[*WIDE, *names], [*[""] * len(WIDE), *units.values()]]
    rows += [[*identity, *(values.get(n, "") for n in names)] for identity, values in launches]
    return quoted(rows)


def run(folder: Path, text: str | bytes, **options) -> Run:
    """Import one export from a file whose name says nothing."""
    path = folder / "export"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load([path], Options(**options))


def counters(imported: Run) -> list[dict]:
    """The counters of every launch, in order."""
    return [row["counters"] for row in imported.rows()]
