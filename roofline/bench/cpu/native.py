"""Kernels compiled from C on this machine, kept for the next time, called through ctypes."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from roofline.bench.cpu import host
from roofline.bench.cpu.kernels import Kernels, wrapped
from roofline.devices.kept import home
from roofline.errors import Missing

T = TypeVar("T")
COMPILERS = ("gcc", "clang", "cc")
_BASE = ("-O3", "-shared", "-fPIC", "-nostdlib")
_SECONDS = 60  # a compiler that takes longer is not going to finish


def make() -> Kernels:
    """Compile the kernels, or find them kept.  Missing, with the reason, when that cannot be."""
    source = files("roofline.bench.cpu").joinpath("kernels.c").read_bytes()
    return build(source, lambda library, made_by: _wrapped(library, made_by, source))


def build(source: bytes, use: Callable[[ctypes.CDLL, str], T]) -> T:
    """What `use` makes of `source` compiled for this CPU, by the first compiler that can.

    `use` takes the library and who made it.  Missing, with the reasons, when none can.
    """
    found = [path for name in COMPILERS if (path := shutil.which(name))]
    if not found:
        raise Missing(f"no C compiler on the PATH; looked for {', '.join(COMPILERS)}")
    reasons = []
    for compiler in found:
        for flags in _flags():
            try:
                return use(*_load(compiler, flags, source))
            except (OSError, subprocess.SubprocessError) as error:
                reasons.append(f"{compiler}: {_last_line(error)}")
    raise Missing(f"no C compiler here builds the kernels: {'; '.join(dict.fromkeys(reasons))}")


def _flags() -> Iterator[tuple[str, ...]]:
    """Ways to ask for everything this CPU has, best first; compilers differ in what they know."""
    if platform.machine() == "x86_64":
        # Without it compilers split 512 bit vectors, for the sake of the clocks of older CPUs.
        yield (*_BASE, "-march=native", "-mprefer-vector-width=512")
    elif sve := host.sve_bytes():
        yield (*_BASE, "-mcpu=native", f"-msve-vector-bits={8 * sve}")
    yield (*_BASE, "-mcpu=native")
    yield (*_BASE, "-march=native")
    yield _BASE


def _load(compiler: str, flags: tuple[str, ...], source: bytes) -> tuple[ctypes.CDLL, str]:
    version = _run([compiler, "--version"]).splitlines()[0]
    path = _library(compiler, version, flags, source)
    shown = " ".join(f for f in flags if f.startswith(("-O", "-m")))
    made_by = f"{version} {shown}"
    try:
        return ctypes.CDLL(str(path)), made_by
    except OSError:  # kept, and damaged since
        path.unlink()
        return ctypes.CDLL(str(_library(compiler, version, flags, source))), made_by


def _wrapped(library: ctypes.CDLL, made_by: str, source: bytes) -> Kernels:
    def address(name: str) -> int | None:
        function = getattr(library, name, None)
        return None if function is None else ctypes.cast(function, ctypes.c_void_p).value

    def number(name: str) -> int:
        return ctypes.c_int64.in_dll(library, name).value

    return wrapped(
        address,
        width=number("width"),
        instructions=host.vectors(number("width")),
        chains=number("chains"),
        grain=number("grain"),
        made_by=made_by,
        code=hashlib.sha256(source).hexdigest()[:12],
    )


def _library(compiler: str, version: str, flags: tuple[str, ...], source: bytes) -> Path:
    """The kept library of this source, compiler, flags and CPU; built first where there is none."""
    # The CPU belongs to the key: home folders are shared between unlike machines.
    recipe = "\0".join([version, *flags, host.cpu().model, host.cpu().features])
    name = f"kernels-{hashlib.sha256(source + recipe.encode()).hexdigest()[:16]}.so"
    folder = _folder()
    if not (folder / name).exists():
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
        os.close(handle)
        try:
            _run([compiler, *flags, "-x", "c", "-", "-o", temporary], source)
            os.replace(temporary, folder / name)
        except BaseException:
            os.unlink(temporary)
            raise
    return folder / name


def _folder() -> Path:
    """Where built libraries are kept; a private temporary folder when that cannot be written."""
    kept = home() / "kernels"
    try:
        kept.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(kept, os.W_OK):
            return kept
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="roofline-"))


def _run(command: list[str], stdin: bytes = b"") -> str:
    done = subprocess.run(command, input=stdin, capture_output=True, check=True, timeout=_SECONDS)
    return done.stdout.decode(errors="replace")


def _last_line(error: Exception) -> str:
    told = getattr(error, "stderr", None)
    lines = told.decode(errors="replace").strip().splitlines() if told else []
    return lines[-1] if lines else str(error)
