"""An operator call -> the key it folds under, and the noun that is saved.

The key is computed at every call and must be cheap; the noun is built once a key.  Calls fold
when everything their work depends on is equal: the operator, and of every tensor its shape,
strides, type, device and how it shares memory with the other tensors.  Numbers that are data
(`Scalar` and float parameters: a learning rate, an epsilon) fold unless they are one of the few
values that can change what a kernel does; the saved call has the first that was seen.  Sizes
never fold, except in views, whose work is nothing.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from roofline.call import DTYPE_BYTES, Argument, Call, Tensor, worded
from roofline.capture.calls import groups, layouts, precision
from roofline.capture.calls.operator import Operator
from roofline.capture.calls.storages import Storages

PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})


def takes_apart(kind: type) -> bool:
    """Whether tensors of this kind see operators before anybody below them does."""
    own: Any = kind.__torch_dispatch__  # type: ignore[attr-defined]
    return own is not torch.Tensor.__torch_dispatch__


_EXACT = frozenset({0, 1, -1, 2, -2, 3, 0.5, -0.5, math.inf, -math.inf})
_SIZES = frozenset({int, bool, type(None), str})
_UNKEPT = (torch.Generator, torch.UntypedStorage, torch.TypedStorage)
_NAMED = (complex, torch.device, torch.layout, torch.memory_format, torch.dtype, torch.qscheme)

DTYPES: Mapping[Any, str] = {
    torch.float64: "fp64", torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "fp8_e4m3", torch.float8_e5m2: "fp8_e5m2",
    torch.float8_e4m3fnuz: "fp8_e4m3", torch.float8_e5m2fnuz: "fp8_e5m2",
    torch.float8_e8m0fnu: "fp8_e8m0", torch.float4_e2m1fn_x2: "fp4x2",
}  # fmt: skip


class Opaque(Exception):
    """Not describable: a tensor that is neither a block of memory nor sparse, or a function."""


class Key:
    """What equal calls have in common, as one hashable value, and the storages of this one."""

    __slots__ = ("_offsets", "_parts", "_storages", "reads", "value")

    def __init__(
        self,
        operator: Operator,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        storages: Storages,
    ):
        if operator.opaque:
            raise Opaque
        self.reads: list[int] = []  # number of each tensor's storage, in schema order
        self._storages = storages
        self._offsets: list[int] = []
        self._parts: list[Any] = [id(operator.func)]
        if operator.products is not None:
            self._parts += precision.settings(operator.products)
        self._read(operator, args, kwargs)
        if operator.begins:
            self._parts += _begins(operator, args, kwargs).items()
        reads = self.reads
        if len(reads) > 1 and len(set(reads)) < len(reads):
            self._parts.append(self._sharing())
        self.value = tuple(self._parts)

    def _read(self, operator: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        parts, numbers, view = self._parts, operator.numbers, operator.is_view
        for name, arg in zip(operator.positions, args, strict=False):
            kind = type(arg)
            if kind in PLAIN:
                self._tensor(arg)
            elif kind in _SIZES:
                if not view:
                    parts += (kind, _number(arg) if name in numbers else arg)
            else:
                self._other(arg, view)
        for name, arg in kwargs.items():
            parts.append(name)
            kind = type(arg)
            if kind in PLAIN:
                self._tensor(arg)
            elif kind in _SIZES:
                parts += (kind, _number(arg) if name in numbers else arg)
            else:
                self._other(arg, view)

    def _tensor(self, tensor: Any) -> None:
        try:
            storage = tensor.untyped_storage()
            # Strides of a sparse tensor read as those of an expanded one: it has left us by now.
            parts: tuple[Any, ...] = (
                tensor.shape, tensor.stride(), tensor.dtype, tensor.is_cpu or tensor.device
            )  # fmt: skip
            offset = tensor.storage_offset()
        except RuntimeError:  # what tensors raise when asked for what they do not have
            held = layouts.held(tensor)
            if held is None:
                raise Opaque from None
            storage, offset = held.values.untyped_storage(), 0
            parts = (tensor.layout, tensor.shape, tensor.dtype, tensor.device,
                     held.stored, held.places, held.index_nbytes)  # fmt: skip
        self._parts += parts
        number = self._storages.known.get(storage._cdata)
        self.reads.append(self._storages.number(storage) if number is None else number)
        self._offsets.append(offset)

    def _other(self, arg: Any, view: bool) -> None:
        parts = self._parts
        if isinstance(arg, float):
            parts += (float, _number(arg))
        elif isinstance(arg, (list, tuple)):
            parts += (list, len(arg))
            for item in arg:
                kind = type(item)
                if kind in PLAIN:
                    self._tensor(item)
                elif kind is not int:
                    self._other(item, view)
                elif not view:
                    parts.append(item)
        elif isinstance(arg, torch.Tensor):
            self._tensor(arg)
        elif isinstance(arg, torch.ScriptObject):  # never equal, and not to be kept alive
            parts.append(groups.kind(arg))
        elif isinstance(arg, _UNKEPT):
            # The type alone: a key outlives the call, and would keep the memory alive.
            parts.append(type(arg))
        else:
            parts += (type(arg), arg)

    def _sharing(self) -> tuple[int, ...]:
        """For each tensor the first on its storage, and how far behind that one it begins."""
        first: dict[int, tuple[int, int]] = {}
        pattern: list[int] = []
        for index, (storage, offset) in enumerate(zip(self.reads, self._offsets, strict=True)):
            leader, base = first.setdefault(storage, (index, offset))
            pattern += (leader, offset - base)
        return tuple(pattern)


def _number(value: Any) -> Any:
    return value if value in _EXACT else "other"


class Describer:
    """Builds the saved form of one call: arguments before it runs, results after.

    In-place operators may change the shape of what they were given, hence the two moments.
    """

    def __init__(
        self,
        operator: Operator,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        storages: Storages,
        size: Callable[[Any], int] = int,
    ):
        self.operator = operator
        self._storages = storages
        self._size = size  # of a graph's tensors, sizes may be symbols: this gives their values
        self._places: dict[int, int] = {}  # storage -> its number within the call
        self._lowest: dict[int, int] = {}  # storage -> offset of the first element named
        given = dict(zip(operator.positions, args, strict=False)) | dict(kwargs)
        values = [given.get(name, default) for name, default in operator.parameters]
        inputs = tensors(values)
        for tensor in inputs:
            self._see(tensor)
        self.devices = {t.device.type for t in inputs}
        named = [v for v in values if isinstance(v, torch.device)]
        self.devices |= {device.type for device in named}
        # The CUDA device that it runs on; None is the current one.
        cards = (d.index for d in (*(t.device for t in inputs), *named) if d.type == "cuda")
        self.card = next(cards, None)
        begins = _begins(operator, args, kwargs)
        found = (
            replace(self._tensor(value), values=begins[name])
            if name in begins
            else self._argument(value)
            for (name, _), value in zip(operator.parameters, values, strict=True)
        )
        self.args = worded(operator.name, tuple(found))

    def call(self, made: Sequence[Any]) -> Call:
        """The whole call, `made` being the tensors that the operator returned."""
        for tensor in made:
            self._see(tensor)
        self.devices |= {t.device.type for t in made}
        call = Call(
            op=self.operator.name,
            args=self.args,
            outputs=tuple(self._tensor(t) for t in made),
            device="cuda" if "cuda" in self.devices else "cpu",
        )
        return multiplied(call)

    def _see(self, tensor: Any) -> None:
        storage = storage_of(tensor, self._storages)
        self._places.setdefault(storage, len(self._places))
        offset = self._offset(tensor)
        self._lowest[storage] = min(self._lowest.get(storage, offset), offset)

    def _tensor(self, tensor: Any) -> Tensor:
        # Offsets count from the first element that this call names, so that calls on different
        # parts of one block fold.
        storage = storage_of(tensor, self._storages)
        if tensor.layout is not torch.strided:
            return self._sparse(tensor, storage)
        return Tensor(
            shape=tuple(map(self._size, tensor.shape)),
            dtype=element(tensor),
            strides=tuple(map(self._size, tensor.stride())),
            storage=self._places[storage],
            offset=self._size(tensor.storage_offset()) - self._lowest[storage],
        )

    def _sparse(self, tensor: Any, storage: int) -> Tensor:
        held = layouts.held(tensor)
        if held is None:
            raise Opaque
        return Tensor(
            shape=tuple(tensor.shape),
            dtype=element(tensor),
            storage=self._places[storage],
            layout=held.layout,
            stored=held.stored,
            places=held.places,
            index_nbytes=held.index_nbytes,
        )

    def _offset(self, tensor: Any) -> int:
        return self._size(tensor.storage_offset()) if tensor.layout is torch.strided else 0

    def _argument(self, value: Any) -> Argument:
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            return tuple(self._argument(item) for item in value)  # type: ignore[misc]
        return self._size(value) if isinstance(value, torch.SymInt) else scalar(value)


def _begins(
    operator: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, tuple[int, ...]]:
    """Where packed sequences begin, of the tensors that say so and that the host has."""
    if not operator.begins:
        return {}
    given = dict(zip(operator.positions, args, strict=False)) | dict(kwargs)
    told = {name: given[name] for name in operator.begins if given.get(name) is not None}
    known = {name: layouts.numbers(tensor) for name, tensor in told.items()}
    return {name: values for name, values in known.items() if values is not None}


def multiplied(call: Call) -> Call:
    """The call with the math that PyTorch is set to now."""
    types = frozenset(tensor.dtype for tensor in call.tensors)
    math = precision.math(call.op, call.device, types)
    return call if math == call.math else replace(call, math=math)


def storage_of(tensor: Any, storages: Storages) -> int:
    """The number of a tensor's storage, of its values where it is sparse.

    Opaque where it has none, or no shape.
    """
    try:
        _ = tensor.shape
        return storages.number(tensor.untyped_storage())
    except RuntimeError:
        held = layouts.held(tensor)
        if held is None:
            raise Opaque from None
        return storages.number(held.values.untyped_storage())


def opaque_name(operator: Operator, values: Sequence[Any]) -> str:
    """The operator and the layouts of its tensors, where they are no blocks of memory."""
    layouts = dict.fromkeys(_layout(t) for t in tensors(values))
    odd = [layout for layout in layouts if layout != "strided"]
    return f"{operator.name} ({', '.join(odd)})" if odd else operator.name


def _layout(tensor: Any) -> str:
    return "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.").lstrip("_")


def tensors(values: Sequence[Any]) -> list[Any]:
    """Every tensor in `values`, lists flattened, in order."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += tensors(value)
    return found


def element(tensor: Any) -> str:
    """The element type of a tensor; Opaque where its size is not known to the library."""
    name = dtype(tensor.dtype)
    if name not in DTYPE_BYTES:
        raise Opaque
    return name


def dtype(value: Any) -> str:
    """The library's name of an element type; torch's own where the library has none."""
    return DTYPES.get(value) or str(value).removeprefix("torch.")


def scalar(value: Any) -> int | float | bool | str | None:
    """A plain argument as it is saved: types, devices and layouts as text.

    Of anything else only the kind is: a storage, for one, would print the user's data.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, torch.dtype):
        return dtype(value)
    if isinstance(value, _NAMED):
        return str(value).removeprefix("torch.")
    return groups.kind(value)
