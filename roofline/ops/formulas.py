"""Formulas by name, with their parameters as text: what `roofline op NAME k=v ...` calls."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from roofline.call import DTYPE_BYTES
from roofline.errors import BadInput, NotFound, near
from roofline.ops.shapes import dtype_named
from roofline.work import Ledger

Formula = Callable[..., Ledger]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a formula."""

    name: str
    type: str  # "int", "float", "bool", "dtype", or the words to choose from: "tanh|erf"
    default: object = None  # None when it must be given
    required: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.type}" + ("" if self.required else f" = {self.default!r}")


def named(formulas: Mapping[str, Formula], name: str) -> Formula:
    """The formula called `name`, or one sentence with what there is."""
    if name not in formulas:
        there = near(name, formulas) or list(formulas)
        raise NotFound(f"no operator formula {name!r}; there is {', '.join(there)}")
    return formulas[name]


def parameters(formula: Callable[..., object]) -> tuple[Parameter, ...]:
    """Name, type and default of each parameter, in order."""
    return tuple(_parameter(p) for p in inspect.signature(formula).parameters.values())


def evaluate(name: str, formula: Callable[..., T], given: Mapping[str, str]) -> T:
    """Call `formula` with the values in `given`, which are text; the errors list what fits."""
    known = {p.name: p for p in parameters(formula)}
    listing = ", ".join(str(p) for p in known.values())
    if strange := [key for key in given if key not in known]:
        raise BadInput(f"{name} has no parameter {strange[0]!r}; it has {listing}")
    if missing := [p.name for p in known.values() if p.required and p.name not in given]:
        raise BadInput(f"{name} needs {', '.join(missing)}; its parameters are {listing}")
    return formula(**{key: _value(name, known[key], text) for key, text in given.items()})


def _parameter(p: inspect.Parameter) -> Parameter:
    required = p.default is inspect.Parameter.empty
    kind = p.annotation
    if p.name.endswith("dtype"):
        described = "dtype"
    else:
        described = "|".join(get_args(kind)) or getattr(kind, "__name__", str(kind))
    return Parameter(p.name, described, None if required else p.default, required)


def _value(name: str, parameter: Parameter, text: str) -> object:
    try:
        return _read(parameter.type, text)
    except ValueError:
        means = _means(parameter, text)
        raise BadInput(f"{name}: {parameter.name}={text!r} is not {means}") from None


def _read(kind: str, text: str) -> Any:
    if kind == "int":
        return int(text)  # accepts 4_096
    if kind == "float":
        return float(text)
    if kind == "bool":
        if text.lower() not in _WORDS:
            raise ValueError
        return _WORDS[text.lower()]
    if kind == "dtype":
        text = dtype_named(text)
        if text not in DTYPE_BYTES:
            raise ValueError
    if "|" in kind and text not in kind.split("|"):
        raise ValueError
    return text


_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _means(parameter: Parameter, text: str) -> str:
    meanings = {"int": "a whole number", "float": "a number", "bool": "true or false"}
    known = list(DTYPE_BYTES) if parameter.type == "dtype" else parameter.type.split("|")
    close = near(text, known, limit=3)
    others = [name for name in known if name not in close]
    return meanings.get(parameter.type, f"one of {', '.join([*close, *others])}")
