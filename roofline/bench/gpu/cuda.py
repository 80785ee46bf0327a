"""CUDA C++ at run time: compiled by NVRTC, which torch brings along, or by nvcc; called by name.

NVRTC comes first because it fits the driver that torch was built for and needs no host compiler.
What was compiled is kept for the next time.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from roofline.devices.kept import home
from roofline.errors import Missing

_SECONDS = 120  # a compiler that takes longer is not going to finish
Argument = Any  # a torch tensor, or an instance of a ctypes integer type


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel that is loaded and can be launched on torch's current stream."""

    handle: ctypes.c_void_p

    def launcher(
        self, grid: int, block: int, arguments: Sequence[Argument], shared: int = 0
    ) -> Callable[[], None]:
        """A function that launches it; arguments are packed once, so that launching is cheap."""
        import torch

        values = [
            ctypes.c_void_p(a.data_ptr()) if isinstance(a, torch.Tensor) else a for a in arguments
        ]
        packed = (ctypes.c_void_p * max(1, len(values)))(
            *(ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values)
        )
        kept = (values, list(arguments))  # their memory must outlive the launches
        launch, handle = _driver().cuLaunchKernel, self.handle
        # Every conversion done here is one less in a launch, which is timed.
        shape = tuple(map(ctypes.c_uint, (grid, 1, 1, block, 1, 1, shared)))
        device, stream, pointer = torch.cuda.current_device(), _stream(), ctypes.c_void_p

        def run(_kept: object = kept) -> None:
            if code := launch(handle, *shape, pointer(stream(device)), packed, None):
                _check(code)

        return run


def _stream() -> Callable[[int], int]:
    """A function from a device's number to its current stream; the quick one where torch has it."""
    import torch

    quick: Callable[[int], int] | None = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return quick or (lambda device: int(torch.cuda.current_stream(device).cuda_stream))


@dataclass(frozen=True, slots=True)
class Module:
    """Machine code in the current context."""

    handle: ctypes.c_void_p
    made_by: str

    def function(self, name: str) -> Function:
        """The kernel of that name."""
        found = ctypes.c_void_p()
        _check(_driver().cuModuleGetFunction(ctypes.byref(found), self.handle, name.encode()))
        return Function(found)


def module(source: str, target: str) -> Module:
    """Compile `source` for a chip ("90a"), or find it kept, and load it where torch works now."""
    import torch

    torch.cuda.synchronize()  # torch makes its context only when it is first used
    image, made_by = compiled(source, target)
    found = ctypes.c_void_p()
    _check(_driver().cuModuleLoadData(ctypes.byref(found), image))
    return Module(found, made_by)


def compiled(source: str, target: str) -> tuple[bytes, str]:
    """Machine code and who made it; Missing, with the reasons, when nobody here can."""
    reasons = []
    for made_by, make in _compilers():
        try:
            return _kept(source, target, made_by, make), made_by
        except (OSError, subprocess.SubprocessError, Missing) as error:
            told = getattr(error, "stderr", None) or str(error).encode()
            reasons.append(f"{made_by}: {told.decode(errors='replace').strip().splitlines()[-1]}")
    raise Missing(
        "CUDA C++ cannot be compiled here: "
        + ("; ".join(reasons) or "neither NVRTC nor nvcc found")
    )


_Make = Callable[[str, str], bytes]


def _compilers() -> Iterator[tuple[str, _Make]]:
    library = _nvrtc()
    if library is not None:
        major, minor = ctypes.c_int(), ctypes.c_int()
        library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        yield f"NVRTC {major.value}.{minor.value}", _by_nvrtc
    if shutil.which("nvcc"):
        yield f"nvcc {_nvcc_version()}", _by_nvcc


def _kept(source: str, target: str, made_by: str, make: _Make) -> bytes:
    key = hashlib.sha256("\0".join([source, target, made_by]).encode()).hexdigest()[:20]
    path = home() / "kernels" / f"{key}.cubin"
    if path.is_file():
        return path.read_bytes()
    image = make(source, target)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{key}.")
        with open(handle, "wb") as file:
            file.write(image)
        os.replace(temporary, path)
    except OSError:
        return image  # a home that cannot be written costs the next start some seconds
    return image


def _by_nvrtc(source: str, target: str) -> bytes:
    library = _nvrtc()
    assert library is not None
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
    try:
        options = (ctypes.c_char_p * 1)(f"--gpu-architecture=sm_{target}".encode())
        if library.nvrtcCompileProgram(program, 1, options):
            raise Missing(
                _read(program, library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog)
                .decode(errors="replace")
                .replace("\0", "")
                .strip()
                or "no reason given"
            )
        return _read(program, library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _read(program: ctypes.c_void_p, size_of: Any, content: Any) -> bytes:
    size = ctypes.c_size_t()
    size_of(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    content(program, buffer)
    return buffer.raw


def _by_nvcc(source: str, target: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        text, image = Path(folder) / "kernels.cu", Path(folder) / "kernels.cubin"
        text.write_text(source)
        chip = f"-gencode=arch=compute_{target},code=sm_{target}"
        _run(["nvcc", "-cubin", "-O3", chip, str(text), "-o", str(image)])
        return image.read_bytes()


def _nvcc_version() -> str:
    return _run(["nvcc", "--version"]).split("release ")[-1].split(",")[0]


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, check=True, timeout=_SECONDS)
    return done.stdout.decode(errors="replace")


@cache
def _nvrtc() -> Any:
    """The library of the CUDA release that torch uses, wherever it lies; None without one."""
    for path in _nvrtc_paths():
        try:
            # It opens this one by its bare name, which works only where it is loaded already.
            if "/" in path:
                for part in Path(path).parent.glob("libnvrtc-builtins.so.*"):
                    ctypes.CDLL(str(part))
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


def _nvrtc_paths() -> Iterator[str]:
    import torch

    major = (torch.version.cuda or "").split(".")[0]
    name = f"libnvrtc.so.{major}"
    for root in sys.path:
        yield from map(str, Path(root, "nvidia").glob(f"*/lib/{name}"))
    yield str(Path(torch.__file__).parent / "lib" / name)
    yield name  # where the system's loader looks


@cache
def _driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise Missing(f"no CUDA driver: {error}") from None


def _check(code: int) -> None:
    if code:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"CUDA driver: {(text.value or b'unknown error').decode()} ({code})")
