"""Standard output as a console: as wide as its terminal, or of one width where nobody has one."""

import os
import re
import sys
from collections.abc import Callable
from io import StringIO, TextIOWrapper
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PIPED = 110  # columns when nobody's terminal says otherwise
TERMINAL = 80  # columns of a terminal that does not say
_PIECE = '<pre style="line-height: 1.3; white-space: pre; overflow-x: auto">{code}</pre>'
LEGIBLE = 12  # columns that words have at least before they wrap
NARROWEST, WIDEST = 40, 1000  # columns that can be meant; beyond them the nearer of the two


def console() -> "Console":
    """Standard output, in words alone: no markup, no highlighting, no emoji."""
    from rich.console import Console

    if isinstance(sys.stdout, TextIOWrapper):  # an ellipsis, where the encoding has none
        sys.stdout.reconfigure(errors="replace")
    terminal = sys.stdout.isatty()
    return Console(
        file=sys.stdout if terminal else cast("IO[str]", _Trimmed(sys.stdout)),
        width=_width(terminal),
        highlight=False,
        markup=False,
        emoji=False,
    )


def print_whole(out: "Console", table: "Table") -> None:
    """Print `table` with every column that does not wrap whole: no number is ever cut.

    Where the terminal is too narrow, columns of words wrap first, then the terminal wraps lines.
    """
    from rich.cells import cell_len
    from rich.measure import Measurement

    for column in table.columns:
        if column.no_wrap and column.max_width is not None:
            continue  # names, which end in an ellipsis
        longest = max((cell_len(str(cell)) for cell in column.cells), default=0)
        column.min_width = longest if column.no_wrap else min(longest, LEGIBLE)
    asked = Measurement.get(out, out.options.update(width=WIDEST), table)
    wraps = not all(column.no_wrap for column in table.columns)
    needed = asked.minimum if wraps else asked.maximum
    table.width = needed if needed > out.width else None
    out.print(table, crop=False)


def as_html(print_on: "Callable[[Console], None]") -> str:
    """What `print_on` prints, as a piece of HTML for a notebook."""
    from rich.console import Console

    recorded = Console(
        record=True, width=PIPED, file=StringIO(), highlight=False, markup=False, emoji=False
    )
    print_on(recorded)
    return recorded.export_html(inline_styles=True, code_format=_PIECE)


def _width(terminal: bool) -> int:
    said = os.environ.get("COLUMNS", "")
    columns = int(said) if said.isascii() and said.isdigit() else 0
    if not columns and terminal:
        try:
            columns = os.get_terminal_size(sys.stdout.fileno()).columns or TERMINAL
        except OSError:
            columns = TERMINAL
    return min(max(columns or PIPED, NARROWEST), WIDEST)


class _Trimmed:
    """A stream without blanks at the ends of lines, which a terminal hides and a file keeps."""

    def __init__(self, stream: IO[str]):
        self._stream = stream
        self.encoding = getattr(stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        self._stream.write(re.sub(r" +(?=\n)", "", text))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self._stream.fileno()
