"""Runs one Triton kernel in Triton's interpreter and counts what its programs do.

A process of its own, since the interpreter must be chosen before Triton is imported::

    TRITON_INTERPRET=1 python -m roofline.accounting.interpreter < request.json > counts.json

The request names the file and function of the kernel, its arguments, its grid, and how many of the
grid's programs to run: they are spread evenly over it.  Counted are lanes as the kernel runs them,
padding included; bytes that masks let through; the different sectors of 32 B among them, a tensor
each.  Integer arithmetic (addresses, loop counters) is left out.
"""

import importlib.util
import inspect
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SECTOR = 32
VECTOR = {
    "fadd": 1, "fsub": 1, "fmul": 1, "fdiv": 1, "precise_divf": 1, "approx_divf": 1, "fma": 2,
    "minimumf": 1, "minnumf": 1, "maximumf": 1, "maxnumf": 1, "clampf": 2, "fneg": 1, "fabs": 1,
    "floor": 1, "ceil": 1,
    **{f"fcmp{how}": 1 for how in ("OLT", "OGT", "OLE", "OGE", "OEQ", "ONE", "ULT", "UGT", "ULE",
                                   "UGE", "UEQ", "UNE")},
}  # fmt: skip
SPECIAL = ("exp", "exp2", "log", "log2", "sin", "cos", "erf", "rsqrt", "sqrt", "precise_sqrt")


class Tally:
    """What the programs that were run did."""

    def __init__(self, tensors: Sequence[tuple[int, int]]):
        self.tensors = tensors  # first address and bytes of each
        self.flop: Counter[tuple[str, str]] = Counter()  # kind, element type
        self.requested: Counter[str] = Counter()  # B by direction
        self.sectors: dict[tuple[str, int], list[Any]] = {}  # per direction and tensor
        self.alone: Counter[tuple[str, int]] = Counter()  # sectors of each program, summed

    def moved(self, way: str, addresses: Any, mask: Any, size: int) -> None:
        """Lanes of one load or store."""
        import numpy as np

        there = np.asarray(addresses)[np.asarray(mask, dtype=bool)].astype(np.uint64)
        self.requested[way] += int(there.size) * size
        if not there.size:
            return
        first, last = there // SECTOR, (there + np.uint64(size - 1)) // SECTOR
        touched = np.unique(np.concatenate([first, last]))
        for at, (start, length) in enumerate(self.tensors):
            inside = (touched >= start // SECTOR) & (touched <= (start + length - 1) // SECTOR)
            if inside.any():
                self.sectors.setdefault((way, at), []).append(touched[inside])

    def program_ends(self, union: dict[tuple[str, int], Any]) -> None:
        """Add the sectors of one program to those of all."""
        import numpy as np

        for where, parts in self.sectors.items():
            mine = np.unique(np.concatenate(parts))
            self.alone[where] += int(mine.size)
            known = union.get(where)
            union[where] = mine if known is None else np.union1d(known, mine)
        self.sectors.clear()


def watch(tally: Tally) -> None:
    """Make the interpreter tell `tally` what it does."""
    from triton.runtime import interpreter

    builder = interpreter.InterpreterBuilder
    for name, each in VECTOR.items():
        _wrap(builder, name, _arithmetic(tally, "vector", each))
    for name in SPECIAL:
        _wrap(builder, name, _arithmetic(tally, "sfu", 1))
    _wrap(builder, "dot", lambda made, a, b, *_: _dot(tally, a, b))
    _wrap(builder, "masked_load", lambda made, p, mask, *_: _move(tally, ("read",), p, mask))
    _wrap(builder, "masked_store", lambda made, p, v, mask, *_: _move(tally, ("write",), p, mask))
    both = ("read", "write")
    _wrap(builder, "atomic_rmw", lambda made, op, p, v, mask, *_: _move(tally, both, p, mask))
    _wrap(builder, "atomic_cas", lambda made, p, *_: _move(tally, both, p, None))
    original = interpreter.ReduceOps.apply_impl

    def apply_impl(reduction: Any, input_: Any) -> Any:
        before = sum(tally.flop.values())
        result = original(reduction, input_)
        # Sums and extrema are done by numpy at once; other combinations come by as operators.
        if sum(tally.flop.values()) == before:
            _reduced(tally, input_, result)
        return result

    interpreter.ReduceOps.apply_impl = apply_impl


def _wrap(builder: Any, name: str, then: Callable[..., None]) -> None:
    original = getattr(builder, f"create_{name}", None)
    if original is None:
        return  # not in this version of Triton

    def create(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = original(self, *args, **kwargs)
        then(made, *args, *kwargs.values())
        return made

    setattr(builder, f"create_{name}", create)


def _arithmetic(tally: Tally, kind: str, each: int) -> Callable[..., None]:
    def count(made: Any, *args: Any) -> None:
        tally.flop[kind, _type(args[0])] += each * int(made.data.size)

    return count


def _dot(tally: Tally, a: Any, b: Any) -> None:
    *batch, m, k = a.data.shape
    flop = 2 * m * k * b.data.shape[-1]
    for size in batch:
        flop *= size
    tally.flop["dot", _type(a)] += flop


def _move(tally: Tally, ways: Sequence[str], pointers: Any, mask: Any) -> None:
    import numpy as np

    bits = pointers.get_element_ty().primitive_bitwidth
    lanes = np.ones_like(pointers.data, dtype=bool) if mask is None else mask.data
    for way in ways:
        tally.moved(way, pointers.data, np.broadcast_to(lanes, pointers.data.shape),
                    max(1, bits // 8))  # fmt: skip


def _reduced(tally: Tally, input_: Any, result: Any) -> None:
    first = input_[0] if isinstance(input_, tuple) else input_
    made = result[0] if isinstance(result, tuple) else result
    if not first.dtype.scalar.is_floating():
        return
    left = made.handle.data.size if hasattr(made, "handle") else 1
    tally.flop["vector", str(first.dtype.scalar)] += int(first.handle.data.size) - int(left)


def _type(handle: Any) -> str:
    return str(handle.dtype.scalar)


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Do what the request asks; the answer is plain data."""
    import numpy as np
    import torch
    from triton.runtime import interpreter

    np.seterr(all="ignore")  # numbers are made up, and counts do not depend on them
    kernel = _load(Path(request["file"]), request["function"])
    values = [_value(torch, text) for text in request["args"]]
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    tally = Tally([(t.untyped_storage().data_ptr(), t.untyped_storage().nbytes()) for t in tensors])
    watch(tally)
    names = list(inspect.signature(kernel.fn).parameters)
    given = dict(zip(names, values, strict=True))
    grid = tuple(request["grid"])
    chosen = _spread(grid, request["programs"])
    union: dict[tuple[str, int], Any] = {}
    function = kernel.rewrite()
    interpreter._patch_lang(kernel.fn)
    constants = interpreter.GridExecutor(function, names, grid).constexprs
    passed = {n: v if n in constants else interpreter._implicit_cvt(v) for n, v in given.items()}
    interpreter.interpreter_builder.set_grid_dim(*grid)
    for place in chosen:
        interpreter.interpreter_builder.set_grid_idx(*place)
        function(**passed)
        tally.program_ends(union)
    return {
        "ran": len(chosen),
        "flop": [[kind, dtype, amount] for (kind, dtype), amount in tally.flop.items()],
        "requested": dict(tally.requested),
        "tensors": [
            {"access": way, "tensor": at, "alone": SECTOR * tally.alone[way, at],
             "together": SECTOR * int(union[way, at].size)}
            for way, at in union
        ],
    }  # fmt: skip


def _load(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    sys.path.insert(0, str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    kernel = getattr(module, name)
    while not hasattr(kernel, "rewrite"):
        kernel = kernel.fn
    return kernel


def _value(torch: Any, said: Any) -> Any:
    """A tensor of zeros of the said size, or one whose data was sent along; or a plain value."""
    if not isinstance(said, dict):
        return said
    if said.get("data"):
        whole = torch.load(said["data"], weights_only=True)
    else:
        whole = torch.zeros(said["elements"], dtype=getattr(torch, said["dtype"]))
    return whole.as_strided(said["shape"], said["strides"], said["offset"])


def _spread(grid: tuple[int, int, int], most: int) -> list[tuple[int, int, int]]:
    """At most `most` places of the grid, evenly apart, the first and the last among them."""
    total = grid[0] * grid[1] * grid[2]
    count = min(total, most)
    step = (total - 1) / (count - 1) if count > 1 else 0
    numbers = sorted({round(i * step) for i in range(count)})
    x, y = grid[0], grid[1]
    return [(n % x, n // x % y, n // (x * y)) for n in numbers]


if __name__ == "__main__":
    answer = sys.stdout
    sys.stdout = sys.stderr  # for the answer alone: the kernel's file may print
    json.dump(run(json.load(sys.stdin)), answer)
