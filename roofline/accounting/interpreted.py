"""A Triton kernel that nobody declared, counted by running part of its grid in the interpreter."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofline.accounting.launches import function
from roofline.device import DRAM, L2, SFU, Resource
from roofline.errors import BadInput, Missing
from roofline.ops.dtype import matmul_pipe, vector_pipe
from roofline.work import Access, Entry, Exactness, Ledger, algorithmic

PROGRAMS = 64  # run at most, unless asked for more: a program takes milliseconds
_STEERING = 64 * 2**20  # B of an integer tensor that is sent along: it may steer the kernel
_OLD = "only 0-dimensional arrays can be converted"
INSTALL = "Triton is not installed; install it with: python -m pip install 'roofline[triton]'"
TYPES = {
    "fp64": "fp64", "fp32": "fp32", "fp16": "fp16", "bf16": "bf16", "fp8e4nv": "fp8_e4m3",
    "fp8e5": "fp8_e5m2", "int8": "int8", "uint8": "uint8", "int16": "int16", "int32": "int32",
}  # fmt: skip
AS_RUN = "lanes are counted as the kernel runs them, padding included; integer arithmetic is not"
ONCE = "bytes of dram are the different sectors of 32 B that are touched, each once"
ZEROS = "the interpreter ran on zeros; integer tensors had their own values where they were given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreted:
    """What a kernel's programs did in the interpreter, scaled to its whole grid."""

    kernel: str
    programs: int  # of the grid
    ran: int  # of them, in the interpreter
    flop: dict[Resource, int]
    requested: dict[Access, int]  # B that loads and stores asked for
    touched: dict[Access, int]  # B of different sectors

    @property
    def exact(self) -> bool:
        """Whether the whole grid was run."""
        return self.ran == self.programs

    @property
    def ledger(self) -> Ledger:
        """One launch; an estimate, for `roofline.declare`."""
        words = f"{self.ran} of {self.programs} programs in Triton's interpreter"

        def line(resource: Resource, amount: int, what: str, way: Access | None = None) -> Entry:
            return Entry(resource, amount, f"{what}: {words}", way, Exactness.ESTIMATE)

        return algorithmic(
            *(line(pipe, amount, "arithmetic") for pipe, amount in self.flop.items()),
            *(line(DRAM, n, "sectors touched", way) for way, n in self.touched.items()),
            *(line(L2, n, "requested", way) for way, n in self.requested.items()),
            conventions=(AS_RUN, ONCE, ZEROS),
        )


def count_triton(
    kernel: Any, grid: Sequence[int], *args: Any, programs: int = PROGRAMS, **named: Any
) -> Interpreted:
    """Count one launch of ``kernel[grid](*args, **named)`` without a GPU.

    The kernel must be in a file, which is imported again in another process.  Tensors can be fake:
    of all but integers only shape, strides and type are used.  Raises Missing without Triton, and
    BadInput when the interpreter cannot run the kernel.
    """
    import importlib.util

    if importlib.util.find_spec("triton") is None:
        raise Missing(INSTALL)
    whole = (*grid, 1, 1)[:3]
    total = whole[0] * whole[1] * whole[2]
    if total < 1 or programs < 1:
        raise BadInput(f"a grid and a number of programs are at least 1; got {grid}, {programs}")
    source, name = _where(kernel)
    with tempfile.TemporaryDirectory(prefix="roofline-triton-") as folder:
        request = {
            "file": source,
            "function": name,
            "grid": whole,
            "programs": programs,
            "args": [_argument(v, Path(folder)) for v in _in_order(kernel, args, named)],
        }
        counts = _ask(name, request)
    sizes = [_nbytes(v) for v in _in_order(kernel, args, named) if hasattr(v, "stride")]
    return _scaled(name, counts, total, sizes)


def _ask(name: str, request: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "roofline.accounting.interpreter"],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TRITON_INTERPRET": "1"},
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        old = " (Triton before 3.8 needs numpy below 2.4)" if _OLD in last else ""
        raise BadInput(f"Triton's interpreter cannot run {name}: {last}{old}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _scaled(name: str, counts: dict[str, Any], total: int, sizes: Sequence[int]) -> Interpreted:
    ran = counts["ran"]
    flop: dict[Resource, int] = {}
    for kind, dtype, amount in counts["flop"]:
        pipe = _pipe(kind, dtype)
        flop[pipe] = flop.get(pipe, 0) + _times(amount, total, ran)
    touched: dict[Access, int] = {}
    for each in counts["tensors"]:
        # Programs that touch the same sectors do so once; apart they cannot touch more than
        # there is, nor together less than was seen.
        whole = -(-sizes[each["tensor"]] // 32) * 32
        amount = max(each["together"], min(_times(each["alone"], total, ran), whole))
        if ran == total:
            amount = each["together"]
        touched[each["access"]] = touched.get(each["access"], 0) + amount
    return Interpreted(
        kernel=name,
        programs=total,
        ran=ran,
        flop=flop,
        requested={w: _times(n, total, ran) for w, n in counts["requested"].items()},
        touched=touched,
    )


def _times(amount: int, total: int, ran: int) -> int:
    return round(amount * total / ran)


def _pipe(kind: str, dtype: str) -> Resource:
    if dtype not in TYPES:
        raise BadInput(f"no pipe is known for Triton's type {dtype}")
    if kind == "sfu":
        return SFU
    # tl.dot multiplies fp32 as tf32 unless the kernel asks for another precision.
    return matmul_pipe(TYPES[dtype], "tf32") if kind == "dot" else vector_pipe(TYPES[dtype])


def _where(kernel: Any) -> tuple[str, str]:
    inner = function(kernel)
    source = getattr(getattr(inner, "__code__", None), "co_filename", "")
    if not Path(source).is_file():
        raise BadInput(
            f"{getattr(inner, '__name__', kernel)} is not in a file that can be imported"
        )
    return source, inner.__name__


def _in_order(kernel: Any, args: Sequence[Any], named: dict[str, Any]) -> Iterator[Any]:
    import inspect

    try:
        bound = inspect.signature(function(kernel)).bind(*args, **named)
    except TypeError as error:
        raise BadInput(
            f"{function(kernel).__name__} cannot be launched like this: {error}"
        ) from None
    bound.apply_defaults()
    yield from bound.arguments.values()


def _argument(value: Any, folder: Path) -> Any:
    """A value as it is sent; a tensor by its sizes, and an integer one with its data."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    if not isinstance(value, torch.Tensor):
        return getattr(value, "value", value)
    said: dict[str, Any] = {
        "shape": list(value.shape),
        "strides": list(value.stride()),
        "offset": value.storage_offset(),
        "elements": value.untyped_storage().nbytes() // value.element_size(),
        "dtype": str(value.dtype).removeprefix("torch."),
    }
    real = not isinstance(value, FakeTensor) and value.device.type != "meta"
    steers = not value.dtype.is_floating_point and _nbytes(value) <= _STEERING
    if real and steers:
        whole = value.as_strided((said["elements"],), (1,), 0)
        said["data"] = str(folder / f"{len(list(folder.iterdir()))}.pt")
        torch.save(whole.cpu(), said["data"])
    return said


def _nbytes(tensor: Any) -> int:
    return int(tensor.untyped_storage().nbytes())
