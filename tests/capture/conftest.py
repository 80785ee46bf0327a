"""Running scripts, plainly and under the recorder, and reading what was saved."""

import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import date

import pytest

from roofline import runfile
from roofline.bench.cpu.host import device_id
from roofline.device import DRAM, VECTOR_FP32, Ceiling, Device
from roofline.devices.kept import keep
from roofline.provenance import Basis, Provenance


@dataclass
class Ended:
    code: int
    out: str
    err: str


class Folder:
    """A folder with scripts to run in it."""

    def __init__(self, path, environment):
        self.path = path
        self.environment = environment

    def write(self, name, text):
        (self.path / name).write_text(text)
        return name

    def _run(self, *command):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=self.path,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def python(self, *arguments):
        return self._run(*arguments)

    def roofline(self, *arguments):
        return self._run("-m", "roofline", *arguments)

    def start(self, *arguments):
        """`roofline run` with these arguments, under way."""
        return subprocess.Popen(
            [sys.executable, "-m", "roofline", "run", *arguments],
            cwd=self.path,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def signalled(self, script, *signals):
        """How `script` ended that printed "ready" and was then sent `signals`."""
        process = self.start("--quiet", script)
        assert process.stdout.readline() == "ready\n"
        for each in signals:
            time.sleep(0.1)
            process.send_signal(each)
        out, err = process.communicate(timeout=60)
        return Ended(process.returncode, out, err)

    def run(self, name):
        return runfile.load(self.path / name)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, on a machine whose ceilings were measured."""
    import os

    home = tmp_path / "home"
    monkeypatch.setenv("ROOFLINE_HOME", str(home))
    source = Provenance(basis=Basis.MEASURED, source="made up for a test", as_of=date(2026, 1, 1))
    keep(
        Device(
            id=device_id(),
            name="a test's CPU",
            kind="cpu",
            ceilings=(
                Ceiling(resource=DRAM, rate=1e10, provenance=source),
                Ceiling(resource=VECTOR_FP32, rate=1e11, provenance=source),
            ),
        )
    )
    work = tmp_path / "work"
    work.mkdir()
    return Folder(work, {**os.environ, "ROOFLINE_HOME": str(home), "OMP_NUM_THREADS": "1"})
