"""What must not stand in any file of the repository."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Written in parts, so that this file does not hold what it looks for.
FORBIDDEN = {
    "a path of one machine": "|".join(
        ["/" + "work/", "/" + "root/", r"\.lib" + "rary/", "/tmp/" + "helpers"]
    ),
    "a folder outside the repository": r"(?<![\w-])sha" + r"red/(design|data|acceptance)",
    "a package registry's host": r"pypi\." + r"org|files\.python" + r"hosted|registry\.npm" + "js",
    "an issue by number": r"(?i)\bissue" + r" #?\d",
}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(what: str) -> None:
    found = []
    for path in tracked():
        text = path.read_bytes().decode("utf-8", errors="ignore") if path.is_file() else ""
        found += [f"{path.relative_to(ROOT)}: {m[0]}" for m in re.finditer(FORBIDDEN[what], text)]
    assert found == []
