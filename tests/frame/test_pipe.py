"""A reader who leaves early, head or less, ends a command quietly."""

import subprocess
import sys

import pytest

LEFT = [
    ("--help",),
    ("devices",),
    ("devices", "h100-sxm"),
    ("devices", "h100-sxm", "--json"),
    ("op", "--list"),
    ("op", "--help"),
    ("doctor",),
]


@pytest.mark.parametrize("words", LEFT, ids=" ".join)
def test_nobody_reads_and_nobody_complains(words: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "roofline", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()  # before anything was written
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 0
