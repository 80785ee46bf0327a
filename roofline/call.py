"""One operator call, as anyone who saw it would describe it: live, from a graph, or from a trace.

Arguments stand in the order of the operator's schema with defaults filled in, so that a live call
and its record in a profiler trace are the same value and meet the same rules.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

# fp32 products in tf32, bf16 or fp16; fp16 and fp8 products with sums kept in fp16.  Of other types
# it makes no difference.
Math = Literal["ieee", "tf32", "bf16", "fp16", "acc16"]

# Bytes per element of every element type that is named anywhere in the library.
DTYPE_BYTES: dict[str, float] = {
    "fp64": 8, "fp32": 4, "fp16": 2, "bf16": 2,
    "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8_e8m0": 1, "fp4": 0.5,
    "fp4x2": 1,  # two in a byte, and the byte is the element of the tensor
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "int4": 0.5, "bool": 1,
    "uint16": 2, "uint32": 4, "uint64": 8,
    "complex32": 4, "complex64": 8, "complex128": 16,
    "quint8": 1, "qint8": 1, "qint32": 4, "quint4x2": 0.5, "quint2x4": 0.25,
    **{f"uint{bits}": 1 for bits in range(1, 8)},
    **{f"int{bits}": 1 for bits in (1, 2, 3, 5, 6, 7)},
    "bits8": 1, "bits16": 2, "bits1x8": 1, "bits2x4": 1, "bits4x2": 1,
}  # fmt: skip


Layout = Literal["strided", "coo", "csr", "csc", "bsr", "bsc"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """What is known of a tensor without its data."""

    shape: tuple[int, ...]
    dtype: str = "fp32"
    strides: tuple[int, ...] | None = None  # elements; None is contiguous or not recorded
    storage: int | None = None  # equal numbers share memory, within one call; None is unknown
    offset: int = 0  # elements from the start of the storage
    layout: Layout = "strided"
    # Of a sparse tensor; None is dense or not recorded.
    stored: int | None = None  # elements it holds
    places: int | None = None  # that its indices name: an element, a block or a row each
    index_nbytes: int | None = None  # B of indices
    # The numbers in it, of tensors that say where packed sequences begin; None is not known.
    values: tuple[int, ...] | None = None

    @property
    def numel(self) -> int:
        """Elements, as the shape says: 1 for a scalar tensor."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def touched(self) -> int:
        """Different elements in memory: a dimension of stride 0 (expand) is one element wide.

        Of a sparse tensor those it holds, without the indices that say where they stand.

        >>> Tensor((4, 1024), strides=(1, 0)).touched
        4
        """
        if self.layout != "strided" and self.stored is not None:
            return self.stored
        if self.strides is None:
            return self.numel
        count = 1
        for size, stride in zip(self.shape, self.strides, strict=True):
            count *= size if stride != 0 or size == 0 else 1
        return count

    @property
    def nbytes(self) -> int:
        """Bytes of the elements touched."""
        return int(self.touched * DTYPE_BYTES[self.dtype])


_NOT_FINITE = ("inf", "-inf", "nan")
# A non-finite number stands as text, so that a saved call is plain JSON.
Scalar = Tensor | int | float | bool | str | None
# A tuple is a list argument: sizes, a list of tensors.
Argument = Scalar | tuple[Scalar | tuple[Scalar, ...], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one operator; equal calls have equal ledgers, so this is also the signature."""

    op: str  # "aten::addmm": namespace::name, overloads folded
    args: tuple[Argument, ...] = ()
    outputs: tuple[Tensor, ...] = ()  # empty where the recorder does not know them (traces)
    device: Literal["cpu", "cuda"] = "cpu"
    math: Math = "ieee"  # how matrix products are computed

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Every tensor among the arguments, lists flattened, in schema order."""
        return tuple(_tensors(self.args))

    def arg(self, index: int, default: Argument = None) -> Argument:
        """Argument `index`, or `default` where the record stops short of it."""
        return self.args[index] if index < len(self.args) else default


# Whose text arguments are words of their own: "tanh", "ij,jk->ik", "cuda:0".
_SPEAKING = frozenset({"aten", "prims", "quantized", "c10d", "c10d_functional", "_c10d_functional"})
# That are given the name of a file, or a sentence for people.
_FREE = frozenset({
    "aten::from_file", "aten::_print", "aten::_assert_async", "aten::_assert_scalar",
    "aten::_functional_assert_async", "aten::_functional_assert_scalar",
})  # fmt: skip
_WORD = re.compile(r"[\w.:+*-]{0,64}|group of \d{1,9}")
_EQUATION = re.compile(r"[A-Za-z., ]{0,200}(?:->[A-Za-z. ]{0,200})?")
DROPPED = "text"


def worded(op: str, args: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """The arguments with nothing of the user in them: a run is safe to send.

    PyTorch's own operators take words of a small vocabulary.  Others may be given names, paths or
    addresses: of their text only that there was some is kept, and so of what is no word.

    >>> worded("aten::gelu", ("tanh",)), worded("mine::load", ("inf", "/home/me/x", ("b", 2)))
    (('tanh',), ('inf', 'text', ('text', 2)))
    """
    own = op.partition("::")[0] in _SPEAKING and op not in _FREE
    word = _EQUATION if op == "aten::einsum" else _WORD

    def kept(arg: Any) -> Any:
        if isinstance(arg, tuple):
            return tuple(map(kept, arg))
        if not isinstance(arg, str) or arg in _NOT_FINITE or (own and word.fullmatch(arg)):
            return arg
        return DROPPED

    return tuple(map(kept, args))


def _tensors(args: tuple[Argument, ...]) -> Iterator[Tensor]:
    for arg in args:
        if isinstance(arg, Tensor):
            yield arg
        elif isinstance(arg, tuple):
            yield from _tensors(arg)
