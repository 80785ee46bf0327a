"""Nothing heavy is loaded before it is used."""

import json
import subprocess
import sys

import pytest

HEAVY = {"torch", "duckdb", "pyarrow", "numpy", "rich", "plotext", "triton", "matplotlib"}

# The command runs inside a fresh interpreter that then says which modules it has loaded.
LOADED = """
import contextlib, io, json, sys
with contextlib.redirect_stdout(io.StringIO()):
    {statement}
print(json.dumps(sorted(sys.modules)))
"""


def loaded(statement: str) -> set[str]:
    ran = subprocess.run(
        [sys.executable, "-c", LOADED.format(statement=statement)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(json.loads(ran.stdout))


def command(*words: str) -> str:
    return f"from roofline.cli import main; assert main({list(words)!r}) == 0"


GEMM = ("op", "gemm", "m=1", "n=64", "k=64", "--compute", "1 TFLOP/s", "--bandwidth", "1 TB/s")


@pytest.mark.parametrize(
    "statement",
    ["import roofline", command("--help"), command("--version"), command(*GEMM, "--json")],
)
def test_loads_nothing_heavy(statement: str) -> None:
    assert loaded(statement) & HEAVY == set()


def test_the_probe_sees_what_is_loaded() -> None:
    assert "numpy" in loaded("import numpy")
    assert "roofline.diagnosis" in loaded("import roofline.diagnosis")


def test_a_script_starts_before_what_explains_it_is_loaded() -> None:
    """The answer to a run is made when its script has ended."""
    names = loaded(command("run", "--help"))
    assert "roofline.cli.run" in names
    assert not {"roofline.program", "roofline.diagnosis", "roofline.report.text"} & names


def test_an_operator_is_placed_without_any_format_of_a_profiler() -> None:
    """Two fifths of its start went into them."""
    names = loaded(command(*GEMM))
    assert "roofline.report.operator" in names
    assert {name for name in names if name.startswith("roofline.importers")} == set()
