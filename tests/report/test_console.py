"""How wide standard output is, whoever reads it, and what is left out for a file."""

import io
import sys

import pytest
from rich.table import Table

from roofline.report.console import NARROWEST, PIPED, WIDEST, console, print_whole


class Terminal(io.StringIO):
    """A terminal that does not say how wide it is."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        (None, PIPED),
        ("0", PIPED),
        ("", PIPED),
        ("wide", PIPED),
        ("-5", PIPED),
        ("1", NARROWEST),
        ("72", 72),
        ("99999999", WIDEST),
    ],
)
def test_columns_that_cannot_be_meant(monkeypatch, columns, width):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert console().width == width


@pytest.mark.parametrize("columns", [None, "0", "x"])
def test_a_terminal_that_does_not_say(monkeypatch, columns):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert console().width == 80


def test_no_line_of_a_file_ends_in_blanks(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(sys, "stdout", written)
    table = Table("a", "b", box=None)
    table.add_row("1", "long")
    table.add_row("2", "s")
    console().print(table)
    lines = written.getvalue().splitlines()
    assert len(lines) == 3
    assert [line.rstrip() for line in lines] == lines


def test_brackets_are_no_markup(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(sys, "stdout", written)
    console().print("[bold]x[/bold] :smile:")
    assert written.getvalue() == "[bold]x[/bold] :smile:\n"


@pytest.mark.parametrize("columns", ["40", "60", "100"])
def test_words_wrap_before_any_number_is_cut(monkeypatch, columns):
    """18 + 4 x 15 + 7 columns are fixed: of 100 the words get 14, of 40 their longest word."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys, "stdout", written := io.StringIO())
    table = Table(box=None)
    for name in ("resource", "a", "b", "c", "d", "verdict"):
        table.add_column(name, no_wrap=True)
    table.add_column("words")
    table.add_row("tensor-fp16-sparse", *["1.94 Telement/s"] * 4, "slower", "rows of sixty-four")
    print_whole(console(), table)
    out = written.getvalue()
    assert out.count("1.94 Telement/s") == 4
    assert all(word in out for word in ("slower", "verdict", "sixty-four", "words"))
    assert "\N{HORIZONTAL ELLIPSIS}" not in out
