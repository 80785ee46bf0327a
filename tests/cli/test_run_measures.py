"""A CPU without ceilings is measured before a script runs on it."""

import sys

import pytest

from roofline.cli.run import _this_cpu


@pytest.fixture
def python(tmp_path, monkeypatch):
    """Stands in for the interpreter that measures: says so, and ends with the code given."""
    monkeypatch.setenv("ROOFLINE_HOME", str(tmp_path))

    def ends_with(code: int) -> None:
        file = tmp_path / "python"
        file.write_text(f"#!/bin/sh\necho a table\necho kept it >&2\nexit {code}\n")
        file.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(file))

    return ends_with


@pytest.mark.parametrize(
    ("quiet", "code", "said"),
    [
        (False, 0, "roofline: this CPU was never measured; measuring it quickly\nkept it\n"),
        (True, 0, ""),
        (True, 2, "kept it\nroofline: measuring failed; times will have no roof beside them\n"),
    ],
)
def test_what_is_said_of_it(python, capfd, quiet, code, said):
    """--quiet prints nothing, unless something failed."""
    python(code)
    assert _this_cpu(quiet) is None
    assert capfd.readouterr() == ("", said)
