"""``script.py:name`` or ``package.module:name`` -> what is to be counted, and its inputs."""

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from roofline.accounting.theirs import told
from roofline.call import DTYPE_BYTES
from roofline.errors import BadInput, NotFound, near

_SHAPE = re.compile(r"(?P<sizes>\d+(?:[,x]\d+)*)?(?::(?P<dtype>\w+))?")


def named(where: str) -> Any:
    """The object that `where` names; its script or module is imported."""
    place, colon, name = where.rpartition(":")
    if not colon or not place or not name:
        raise BadInput(f"name it as script.py:name or module:name; got {where!r}")
    module = _script(Path(place)) if place.endswith(".py") else _module(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            there = [n for n in vars(found) if not n.startswith("_") and callable(vars(found)[n])]
            close = near(part, there) or there
            raise NotFound(f"{place} has no {name!r}; there is {', '.join(close) or 'nothing'}")
        found = getattr(found, part)
    return found


def made(found: Any, shapes: Sequence[str] = ()) -> tuple[Callable[..., Any], list[Any]]:
    """The module or function to count, and its inputs.

    A class, or a function that needs no argument, is called: it returns the module or function to
    count, alone or in a tuple with its inputs (a tuple, a list, or one tensor).  Any other
    function is itself what is counted, and so is one that needs no argument and returns nothing,
    or a tensor: a whole step.  `shapes` make inputs: ``8,128,4096:bf16``.
    """
    inputs: Any = ()
    if _is_factory(found):
        with told(found.__name__):
            made = found()
        found = found if inspect.isfunction(found) and _is_work(made) else made
        if isinstance(found, tuple) and found:
            found, inputs = found[0], found[1] if len(found) == 2 else found[1:]
    if not callable(found):
        raise BadInput(
            f"nothing to count: found {type(found).__name__}, neither a module nor a function, "
            "alone or in a tuple with its inputs; a function that does the work itself returns "
            "nothing or a tensor"
        )
    given = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    return found, [tensor(text) for text in shapes] or given


def tensor(text: str) -> Any:
    """A tensor of zeros from its shape and type, fp32 unless said: ``8,128,4096:bf16``."""
    import torch

    from roofline.capture.calls.signature import DTYPES

    match = _SHAPE.fullmatch(text)
    names = {name: dtype for dtype, name in DTYPES.items()}
    names |= {n: d for n in DTYPE_BYTES if isinstance(d := getattr(torch, n, None), torch.dtype)}
    if match is None or (match["dtype"] or "fp32") not in names:
        raise BadInput(
            f"a shape is written 8,128,4096:bf16 with a type of {', '.join(names)}; got {text!r}"
        )
    sizes = [int(n) for n in re.split("[,x]", match["sizes"])] if match["sizes"] else []
    return torch.zeros(sizes, dtype=names[match["dtype"] or "fp32"])


def _is_factory(found: Any) -> bool:
    if inspect.isclass(found):
        return True
    if not inspect.isfunction(found):
        return False
    parameters = inspect.signature(found).parameters.values()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(p.default is not p.empty or p.kind in kinds for p in parameters)


def _is_work(made: Any) -> bool:
    """Whether a function that returned this did the work itself: a step returns nothing, or a loss.

    Imports no PyTorch: where that is not imported yet, nothing is a tensor.
    """
    torch = sys.modules.get("torch")
    return made is None or (torch is not None and isinstance(made, torch.Tensor))


def _script(path: Path) -> Any:
    if not path.is_file():
        raise NotFound(f"there is no file {path}")
    sys.path.insert(0, str(path.parent.resolve()))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    with told(str(path), str(path), " when it was imported"):
        spec.loader.exec_module(module)
    return module


def _module(name: str) -> Any:
    sys.path.insert(0, "")
    with told(name, doing=" when it was imported"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise NotFound(f"there is no module {error.name!r}") from None
