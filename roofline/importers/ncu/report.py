"""Nsight Compute's own report files: read by the user's own ``ncu``, which prints them as CSV."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from roofline.errors import BadInput, Missing

MAGIC = b"NVR\0"


def recognises(head: bytes) -> bool:
    """By its first bytes."""
    return head.startswith(MAGIC)


def exported(path: Path) -> Iterator[str]:
    """The raw page of a report in base units, line by line.

    Missing says how to export the file where ``ncu`` is not on the PATH; BadInput what it said.
    """
    ncu = shutil.which("ncu")
    if ncu is None:
        raise Missing(
            f"{path.name} is a report that only Nsight Compute opens and there is no `ncu` on the "
            f"PATH; where there is one, run: ncu --import {path.name} --csv --page raw > raw.csv"
        )
    command = [ncu, "--import", str(path), "--csv", "--page", "raw", "--print-units", "base"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        yield from process.stdout
        assert process.stderr is not None
        said = process.stderr.read().strip()
    if process.returncode:
        last = said.splitlines()[-1] if said else f"exit code {process.returncode}"
        raise BadInput(f"ncu cannot read {path.name}: {last}")
