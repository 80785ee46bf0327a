"""Make the virtual environment that `make` works in: python tools/setup.py VENV run|dev.

Runs under the interpreter the user chose, or under the environment's own once there is one, with
nothing but the standard library.  What comes before the version check must run on old
interpreters too, so that they can say what is wrong.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

OLDEST = (3, 11)


def stop(sentence: str) -> NoReturn:
    """Say what is wrong, with its cure, and leave with the exit code of a user's mistake."""
    sys.stderr.write(f"roofline: {sentence}\n")
    sys.exit(2)


if sys.version_info < OLDEST:
    newer = [
        name
        for name in ("python3.11", "python3.12", "python3.13")
        if shutil.which(name) and not subprocess.call([name, "-c", ""], stderr=subprocess.DEVNULL)
    ]
    stop(
        f"Python 3.11 or newer is needed and {sys.executable} is {sys.version.split()[0]}; "
        + (
            f"say PYTHON={newer[0]}"
            if newer
            else "install one (apt install python3.11 python3.11-venv) and say PYTHON=python3.11"
        )
    )

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = {"run": ("torch",), "dev": ("torch", "cpu", "nsys", "plot", "docs", "dev")}
COMPILERS = ("gcc", "clang", "cc")  # without any of them ceilings are measured through llvmlite
OLDEST_PIP = (21, 3)  # the first that installs a package described by pyproject.toml in place
OLDEST_TORCH = (2, 9)
# A torch that is already there stays, and so does what it was built with.
TORCH_AND_ITS_OWN = ("torch", "numpy", "triton")


def main(venv: Path, purpose: str) -> None:
    """Bring `venv` to the state that `purpose` needs; quick when it is there already."""
    inside = Path(sys.prefix).resolve() == venv.resolve()
    torch = outside_torch(venv)
    done = finished(venv)
    state = fingerprint(torch)
    wanted = EXTRAS[purpose] if any(map(shutil.which, COMPILERS)) else ("cpu", *EXTRAS[purpose])
    if done and not inside and done["made_by"] != sys.executable:
        say(f"{venv} was made by {done['made_by']}: starting afresh with {sys.executable}")
        shutil.rmtree(venv)
        done = {}
    if done.get("state") == state and set(wanted) <= set(done["extras"]):
        return
    python = venv / "bin" / "python"
    if not works(python, "-c", "pass"):
        create(venv)
        if torch:
            borrow_packages(venv)
        done = {"made_by": sys.executable, "extras": [], "state": ""}
        record(venv, done)
    elif not done and not inside:
        stop(f"{venv} is there and was not made by make; move it away or name another with VENV=")
    check_pip(python)
    extras = sorted({*wanted, *done.get("extras", ())})
    install(python, extras, keep_torch=torch is not None)
    record(venv, {"made_by": done.get("made_by", ""), "extras": extras, "state": state})


def outside_torch(venv: Path) -> Path | None:
    """Where this interpreter has a torch that we can use and that is not in `venv` itself."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    place = Path(spec.origin).resolve()
    if venv.resolve() in place.parents:
        return None
    version = version_of(place.parent)
    if numbers(version) < OLDEST_TORCH:
        say(f"{sys.executable} has torch {version}, too old (2.9 or newer): installing another")
        return None
    return place


def version_of(torch: Path) -> str:
    """The version written in a torch package's own folder; "0" when it has none."""
    try:
        found = re.search(r"__version__ = '(.+)'", (torch / "version.py").read_text())
    except OSError:
        return "0"
    return found[1] if found else "0"


def create(venv: Path) -> None:
    """Make an empty virtual environment."""
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        package = f"python3.{sys.version_info.minor}-venv"
        stop(
            f"{sys.executable} cannot make virtual environments; install its venv module "
            f"(Debian, Ubuntu: apt install {package}) or name another interpreter with PYTHON="
        )
    if venv.exists() and not (venv / "pyvenv.cfg").exists() and os.listdir(venv):
        stop(f"{venv} is there and is no virtual environment; move it away or say VENV=")
    say(f"making {venv} with {sys.executable}")
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", venv],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        stop(f"cannot make {venv}: {last_line(made.stderr or made.stdout)}")


def borrow_packages(venv: Path) -> None:
    """Let `venv` import what this interpreter can, its torch above all.

    A path file does what --system-site-packages does, also for an interpreter that is itself in
    a virtual environment (whose packages that option would pass over).
    """
    folder = venv / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    seen = [p for p in sys.path if Path(p).name in ("site-packages", "dist-packages")]
    lines = [f"import site; site.addsitedir({path!r})" for path in seen]
    (folder / "roofline-setup.pth").write_text("\n".join(lines) + "\n")
    say(f"using the torch of {sys.executable}")


def check_pip(python: Path) -> None:
    """Refuse a pip that cannot install the package; bring one where there is none."""
    if not works(python, "-m", "pip", "--version"):
        works(python, "-m", "ensurepip", "--upgrade")
    found = subprocess.run(
        [python, "-m", "pip", "--version"], capture_output=True, text=True, check=False
    )
    if found.returncode:
        stop(f"{python} has no working pip; delete that environment (make clean) and start again")
    version = found.stdout.split()[1]
    if numbers(version) < OLDEST_PIP:
        stop(
            f"pip {version} of {python} is too old, 21.3 or newer is needed; "
            f"run {python} -m pip install --upgrade pip"
        )


def install(python: Path, extras: list[str], *, keep_torch: bool) -> None:
    """Install the package in place with `extras`, at the versions of constraints.txt."""
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    if keep_torch:
        pins = [pin for pin in pins if pin.partition("==")[0] not in TORCH_AND_ITS_OWN]
    limits = python.parent.parent / "roofline-constraints.txt"
    limits.write_text("\n".join(pins) + "\n")
    say(f"installing roofline[{','.join(extras)}] (the first time takes some minutes)")
    arguments = ["--quiet", "--disable-pip-version-check", "-c", str(limits)]
    command = [str(python), "-m", "pip", "install", *arguments, "-e", f"{ROOT}[{','.join(extras)}]"]
    pip = subprocess.Popen(command, stdout=sys.stderr)
    if wait(pip):
        stop("pip could not install roofline, for the reason above; cure it and run this again")


def wait(process: "subprocess.Popen[bytes]") -> int:
    """Wait for `process`, showing on a terminal that time passes."""
    start = time.monotonic()
    while True:
        try:
            return process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            if sys.stderr.isatty():
                sys.stderr.write(f"\r  {time.monotonic() - start:.0f} s \r")


def fingerprint(torch: Path | None) -> str:
    """Changes when an installation made earlier no longer holds."""
    digest = hashlib.sha256(f"{ROOT} {torch} {torch and version_of(torch.parent)}".encode())
    for name in ("pyproject.toml", "constraints.txt"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def finished(venv: Path) -> dict[str, Any]:
    """What an earlier run of this script recorded; empty when there was none."""
    try:
        return dict(json.loads((venv / "roofline-setup.json").read_text()))
    except (OSError, ValueError):
        return {}


def record(venv: Path, done: dict[str, Any]) -> None:
    """Keep what is installed, for the next run of this script."""
    (venv / "roofline-setup.json").write_text(json.dumps(done))


def works(python: Path, *arguments: str) -> bool:
    """Whether `python` runs with these arguments."""
    if not os.access(python, os.X_OK):
        return False
    return not subprocess.run([python, *arguments], capture_output=True, check=False).returncode


def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: "2.13.0+cpu" is (2, 13, 0)."""
    leading = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, leading[0].split("."))) if leading else (0,)


def last_line(text: str) -> str:
    """The line of a message that carries the reason."""
    return (text.strip().splitlines() or ["no reason given"])[-1]


def say(sentence: str) -> None:
    """Report progress, away from standard output."""
    print(f"roofline: {sentence}", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in EXTRAS:
        stop("usage: python tools/setup.py VENV run|dev")
    try:
        main(Path(sys.argv[1]), sys.argv[2])
    except KeyboardInterrupt:
        stop("interrupted; run this again to go on")
