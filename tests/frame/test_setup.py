"""tools/setup.py: what cannot work is one sentence with its cure, and what is done stays done."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "setup.py"
SETUP = runpy.run_path(str(SCRIPT))


def setup(venv: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run the script as `make run` does, after the statements `before`."""
    code = f"import runpy, sys; {before}\nsys.argv = ['setup.py', {str(venv)!r}, 'run']\n"
    code += f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def one_sentence(ran: subprocess.CompletedProcess[str]) -> str:
    assert ran.returncode == 2
    assert ran.stdout == ""
    lines = ran.stderr.splitlines()
    assert len(lines) == 1, ran.stderr
    assert lines[0].startswith("roofline: ")
    return lines[0]


def fake_environment(folder: Path, pip: str) -> Path:
    """An environment whose interpreter only knows to say what its pip is."""
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").touch()
    python = folder / "bin" / "python"
    python.write_text(f"#!/bin/sh\necho '{pip}'\n")
    python.chmod(0o755)
    record = {"made_by": sys.executable, "extras": [], "state": ""}
    (folder / "roofline-setup.json").write_text(json.dumps(record))
    return folder


def test_an_old_python_is_told_which_one_is_needed(tmp_path: Path) -> None:
    said = one_sentence(setup(tmp_path / "venv", "sys.version_info = (3, 9, 2)"))
    assert "3.11 or newer is needed" in said
    assert "PYTHON=" in said
    assert not (tmp_path / "venv").exists()


def test_it_parses_where_it_has_to_complain() -> None:
    import ast

    ast.parse(SCRIPT.read_text(), feature_version=(3, 6))


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_missing_venv_module_names_the_package(tmp_path: Path, module: str) -> None:
    said = one_sentence(setup(tmp_path / "venv", f"sys.modules[{module!r}] = None"))
    assert f"apt install python3.{sys.version_info.minor}-venv" in said


def test_an_old_pip_is_told_how_to_become_new(tmp_path: Path) -> None:
    venv = fake_environment(tmp_path / "venv", "pip 20.0.2 from somewhere (python 3.11)")
    said = one_sentence(setup(venv))
    assert "pip 20.0.2" in said
    assert "-m pip install --upgrade pip" in said


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    said = one_sentence(setup(tmp_path))
    assert "no virtual environment" in said
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_an_environment_made_by_hand_is_left_alone(tmp_path: Path) -> None:
    venv = fake_environment(tmp_path / "venv", "pip 24.0 from somewhere")
    (venv / "roofline-setup.json").unlink()
    said = one_sentence(setup(venv))
    assert "was not made by make" in said
    assert (venv / "bin" / "python").exists()


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    venv = fake_environment(tmp_path / "venv", "pip 20.0.2 from somewhere")
    state = SETUP["fingerprint"](SETUP["outside_torch"](venv))
    record = {"made_by": sys.executable, "extras": ["dev", "torch"], "state": state}
    (venv / "roofline-setup.json").write_text(json.dumps(record))
    ran = setup(venv)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("version", "environment", "found"),
    [
        ("2.13.0+cpu", "elsewhere", True),  # another interpreter's: used as it is
        ("2.13.0+cpu", "", False),  # the environment's own: the pinned one
        ("2.8.0", "elsewhere", False),  # older than 2.9: not usable
    ],
)
def test_whose_torch_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, environment: str, found: bool
) -> None:
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "version.py").write_text(f"__version__ = '{version}'\n")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    torch = SETUP["outside_torch"](tmp_path / environment)
    assert torch == (package / "__init__.py" if found else None)


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("2.13.0+cpu", (2, 13, 0)),
        ("2.15.0a0+git1f", (2, 15, 0)),
        ("23.2.1", (23, 2, 1)),
        ("", (0,)),
    ],
)
def test_leading_numbers_of_a_version(version: str, numbers: tuple[int, ...]) -> None:
    assert SETUP["numbers"](version) == numbers


def test_the_makefile_says_which_interpreter_is_missing(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    ran = subprocess.run(
        ["make", "setup-run", "PYTHON=python-that-is-not", f"VENV={tmp_path / 'venv'}"],
        cwd=SCRIPT.parents[1], env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 2
    assert "no interpreter python-that-is-not" in ran.stderr.splitlines()[0]


def test_without_a_compiler_llvmlite_is_installed(tmp_path: Path) -> None:
    """The environment's interpreter is a script that only echoes: nothing is really installed."""
    venv = fake_environment(tmp_path / "venv", "pip 24.0 from somewhere")
    ran = setup(venv, "import os; os.environ['PATH'] = '/nowhere'")
    assert "installing roofline[cpu,torch]" in ran.stderr
