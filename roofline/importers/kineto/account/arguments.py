"""The recorded text of a call's arguments -> `Call`, as a live recording describes the same call.

Kineto writes four parallel lists in schema order, defaults included: ``Input Dims``, ``Input
Strides``, ``Input type`` and ``Concrete Inputs``.  Not in a trace: results, storages, devices, the
types inside a list of tensors, and the value of a number that was combined with a tensor (it shows
as a tensor without dimensions).
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from roofline.call import DTYPE_BYTES, Argument, Call, Math, Tensor
from roofline.ops.shapes import kind

# c10's names of element types, as typeMetaToString writes them.
DTYPES = {
    "double": "fp64", "float": "fp32", "c10::Half": "fp16", "c10::BFloat16": "bf16",
    "c10::Float8_e4m3fn": "fp8_e4m3", "c10::Float8_e5m2": "fp8_e5m2",
    "c10::Float8_e4m3fnuz": "fp8_e4m3", "c10::Float8_e5m2fnuz": "fp8_e5m2",
    "c10::Float8_e8m0fnu": "fp8_e8m0", "c10::Float4_e2m1fn_x2": "fp4x2",
    "long int": "int64", "long": "int64", "long long": "int64", "int": "int32",
    "short": "int16", "short int": "int16", "signed char": "int8", "char": "int8",
    "unsigned char": "uint8", "bool": "bool",
    "unsigned short": "uint16", "short unsigned int": "uint16",
    "unsigned int": "uint32", "unsigned long": "uint64", "long unsigned int": "uint64",
    "c10::complex<c10::Half>": "complex32", "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
}  # fmt: skip
UNKNOWN = "unknown"  # the type of a tensor that the trace does not say
_OF_NUMBERS = {"fp64": "fp32", "int64": "int64"}  # as a number is recorded -> as it promotes
_TAKE_NUMBERS = frozenset({
    "add", "sub", "rsub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "pow",
    "eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum", "where", "atan2", "xlogy",
    "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor",
})  # fmt: skip
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
    device: Literal["cpu", "cuda"] = "cpu",
    math: Math = "ieee",
    in_lists: Mapping[tuple[int, ...], str] = MappingProxyType({}),
) -> Call:
    """The call that was recorded; `Unreadable` when it cannot be told.

    `in_lists` has the types of tensors inside lists, by shape.
    """
    shapes = _list(dims)
    kinds = _list(types)
    steps = _list(strides)
    texts = _list(values)
    if not shapes and not texts:
        raise Unreadable("shapes were not recorded (record_shapes=True records them)")
    if not kinds and any(shapes):
        raise Unreadable("the trace does not hold the types of its tensors")
    count = max(len(shapes), len(texts), len(kinds))
    args = tuple(
        _argument(_at(shapes, i), _at(kinds, i), _at(steps, i), _at(texts, i), in_lists)
        for i in range(count)
    )
    described = Call(op=name, args=_numbers(name, args), device=device, math=math)
    for tensor in described.tensors:
        if tensor.dtype == UNKNOWN:
            raise Unreadable("the trace does not hold the types of its tensors")
        if tensor.dtype not in DTYPE_BYTES:
            raise Unreadable(f"no size is known for elements of {tensor.dtype!r}")
    return described


def among(call: Call, ranks: int) -> Call:
    """A collective with the group that a trace leaves blank, as the recorder keeps it."""
    if not call.op.startswith("c10d::") or None not in call.args:
        return call
    at = call.args.index(None)
    return replace(call, args=(*call.args[:at], f"group of {ranks}", *call.args[at + 1 :]))


def squared(call: Call) -> Call:
    """The call with its two factors, arguments 1 and 2, being one tensor."""
    if len(call.args) < 3:
        return call
    target, one, two, *others = call.args
    if not isinstance(one, Tensor) or one != two or not isinstance(target, Tensor):
        return call
    factor = replace(one, storage=1)
    return replace(call, args=(replace(target, storage=0), factor, factor, *others))


def _argument(
    shape: Any, name: Any, steps: Any, text: Any, in_lists: Mapping[tuple[int, ...], str]
) -> Argument:
    if not isinstance(name, str):
        name = ""
    if name in DTYPES:
        return _tensor(shape, DTYPES[name], steps)
    if name in ("TensorList", "OptionalTensorList"):
        return tuple(
            _tensor(s, in_lists.get(_sizes(s), UNKNOWN), t) for s, t in _pairs(shape, steps)
        )
    if name in ("", "Scalar", "ScalarList"):
        if isinstance(shape, list) and shape and all(isinstance(s, int) for s in shape):
            return _tensor(shape, UNKNOWN, steps)
        return value(text)
    # A tensor of a type without a name here, or something else with one ("GenericList").
    return _tensor(shape, name, steps) if shape else value(text)


def _numbers(name: str, args: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Plain numbers that show as tensors of no dimension: not recorded, unless they widen the rest.

    A Python number takes part as fp64 or int64 of no dimension.  It moves no bytes, and decides the
    type of the result only where its kind is above that of the tensors: a float as fp32 does.
    """
    if name.removeprefix("aten::").rstrip("_") not in _TAKE_NUMBERS:
        return args
    tensors = [a for a in args if isinstance(a, Tensor) and a.dtype in DTYPE_BYTES]
    others = [kind(t.dtype) for t in tensors if t.shape or t.dtype not in _OF_NUMBERS]
    if not others:
        return args
    return tuple(
        a
        if not isinstance(a, Tensor) or a.shape or a.dtype not in _OF_NUMBERS
        else None
        if kind(a.dtype) <= max(others)
        else Tensor((), _OF_NUMBERS[a.dtype], ())
        for a in args
    )


def _tensor(shape: Any, dtype: str, steps: Any) -> Tensor:
    sizes = _sizes(shape)
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
