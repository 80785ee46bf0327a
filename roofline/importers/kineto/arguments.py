"""The recorded text of a call's arguments -> `Call`, as a live recording describes the same call.

Kineto writes four parallel lists in schema order, defaults included: ``Input Dims``, ``Input
Strides``, ``Input type`` and ``Concrete Inputs``.  Not in a trace: results, storages, devices, the
types inside a list of tensors, and the value of a number that was combined with a tensor (it shows
as a tensor without dimensions).
"""

import re
from typing import Any, Literal

import msgspec

from roofline.call import Argument, Call, Tensor

# c10's names of element types, as typeMetaToString writes them.
DTYPES = {
    "double": "fp64", "float": "fp32", "c10::Half": "fp16", "c10::BFloat16": "bf16",
    "c10::Float8_e4m3fn": "fp8_e4m3", "c10::Float8_e5m2": "fp8_e5m2",
    "c10::Float8_e8m0fnu": "fp8_e8m0", "c10::Float4_e2m1fn_x2": "fp4",
    "long int": "int64", "long": "int64", "long long": "int64", "int": "int32",
    "short": "int16", "short int": "int16", "signed char": "int8", "char": "int8",
    "unsigned char": "uint8", "bool": "bool",
    "unsigned short": "uint16", "short unsigned int": "uint16",
    "unsigned int": "uint32", "unsigned long": "uint64", "long unsigned int": "uint64",
    "c10::complex<c10::Half>": "complex32", "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
}  # fmt: skip
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_FRACTION = re.compile(r"[.eE]")
_WORDS: dict[str, bool | str | None] = {
    "True": True, "true": True, "False": False, "false": False, "": None, "None": None,
    "inf": "inf", "-inf": "-inf", "nan": "nan", "-nan": "nan",
}  # fmt: skip


class Unreadable(Exception):
    """The record does not say enough to describe the call; the text says what is missing."""


def call(
    name: str,
    dims: bytes,
    types: bytes,
    strides: bytes,
    values: bytes,
    device: Literal["cpu", "cuda"],
) -> Call:
    """The call that was recorded; `Unreadable` when it cannot be told."""
    shapes = _list(dims)
    kinds = _list(types)
    steps = _list(strides)
    texts = _list(values)
    if not shapes and not texts:
        raise Unreadable("shapes were not recorded (record_shapes=True records them)")
    if not kinds and any(shapes):
        raise Unreadable("the trace holds shapes but no types")
    count = max(len(shapes), len(texts), len(kinds))
    args = tuple(
        _argument(_at(shapes, i), _at(kinds, i), _at(steps, i), _at(texts, i)) for i in range(count)
    )
    return Call(op=name, args=args, device=device)


def _argument(shape: Any, kind: Any, steps: Any, text: Any) -> Argument:
    if kind in DTYPES:
        return _tensor(shape, DTYPES[kind], steps)
    if kind in ("TensorList", "OptionalTensorList"):
        return tuple(_tensor(s, "unknown", t) for s, t in _pairs(shape, steps))
    if kind in ("", None, "Scalar", "ScalarList") or not isinstance(kind, str):
        if isinstance(shape, list) and shape and all(isinstance(s, int) for s in shape):
            return _tensor(shape, "unknown", steps)
        return value(text)
    # A tensor of a type without a name here, or something else with one ("GenericList").
    return _tensor(shape, kind, steps) if shape else value(text)


def _tensor(shape: Any, dtype: str, steps: Any) -> Tensor:
    sizes = _sizes(shape)
    if not sizes and dtype == "fp64":
        # A plain number in an expression: it takes part in promotion as the default type does.
        return Tensor((), "fp32", ())
    stepped = _sizes(steps) if steps is not None else ()
    return Tensor(sizes, dtype, stepped if len(stepped) == len(sizes) else None)


def value(text: Any) -> Argument:
    """A plain argument from its text.

    >>> value("[8, 16]"), value("1e-05"), value("True"), value(""), value("tanh"), value("-inf")
    ((8, 16), 1e-05, True, None, 'tanh', '-inf')
    """
    if not isinstance(text, str):
        return None
    text = text.strip()
    if text[:1] == "[" and text[-1:] == "]":
        inner = text[1:-1].strip()
        return tuple(_plain(part.strip()) for part in inner.split(",")) if inner else ()
    return _plain(text)


def _plain(text: str) -> int | float | bool | str | None:
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        return float(text) if _FRACTION.search(text) else int(text)
    return text


def _pairs(shapes: Any, steps: Any) -> list[tuple[Any, Any]]:
    if not isinstance(shapes, list):
        return []
    known = steps if isinstance(steps, list) and len(steps) == len(shapes) else [None] * len(shapes)
    return list(zip(shapes, known, strict=True))


def _sizes(found: Any) -> tuple[int, ...]:
    if not isinstance(found, list) or not all(type(size) is int for size in found):
        raise Unreadable("its sizes are not a list of whole numbers")
    return tuple(found)


def _list(text: bytes) -> list[Any]:
    if not text:
        return []
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise Unreadable("its arguments are not valid JSON") from None
    return found if isinstance(found, list) else []


def _at(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else None
