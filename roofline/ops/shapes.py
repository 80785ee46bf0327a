"""Shapes and dtypes of results, from those of the operands, as PyTorch defines them."""

from collections.abc import Iterable, Sequence

from roofline.call import DTYPE_BYTES, Argument, Call, Tensor
from roofline.ops.rule import Unaccountable

# Widest last, within each kind; a wider kind beats a narrower one.
_KINDS: tuple[tuple[str, ...], ...] = (
    ("bool",),
    ("uint8", "uint16", "uint32", "uint64", "int4", "int8", "int16", "int32", "int64"),
    ("fp4", "fp4x2", "fp8_e8m0", "fp8_e4m3", "fp8_e5m2", "bf16", "fp16", "fp32", "fp64"),
    ("complex32", "complex64", "complex128"),
)
BOOL, INTEGER, FLOATING, COMPLEX = range(4)
_KIND = {dtype: kind for kind, dtypes in enumerate(_KINDS) for dtype in dtypes}
_WIDTH = {dtype: width for dtypes in _KINDS for width, dtype in enumerate(dtypes)}
# The numbers of c10::ScalarType, which is how profiler traces write a dtype.
_SCALAR_TYPE = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "fp16", 6: "fp32", 7: "fp64",
    8: "complex32", 9: "complex64", 10: "complex128", 11: "bool", 15: "bf16", 23: "fp8_e5m2",
    24: "fp8_e4m3", 25: "fp8_e5m2", 26: "fp8_e4m3", 27: "uint16", 28: "uint32", 29: "uint64",
    44: "fp8_e8m0", 45: "fp4x2",
}  # fmt: skip
_TORCH = {
    "float": "fp32", "float32": "fp32", "double": "fp64", "float64": "fp64", "half": "fp16",
    "float16": "fp16", "bfloat16": "bf16", "long": "int64", "int": "int32", "short": "int16",
    "float8_e4m3fn": "fp8_e4m3", "float8_e5m2": "fp8_e5m2", "float8_e8m0fnu": "fp8_e8m0",
    # Without a zero of its own sign, on AMD: as many bytes, on the same pipe.
    "float8_e4m3fnuz": "fp8_e4m3", "float8_e5m2fnuz": "fp8_e5m2",
    "fp8": "fp8_e4m3",  # what holds weights and activations; e5m2 holds gradients
}  # fmt: skip


def kind(dtype: str) -> int:
    """BOOL, INTEGER, FLOATING or COMPLEX, in the order in which one beats another.

    What nothing is promoted to, quantised and sub-byte types, are integers.
    """
    return _KIND.get(dtype, INTEGER)


def dtype_argument(call: Call, index: int) -> str | None:
    """The dtype an argument names, in any of the ways recorders write it; None when it names none.

    "fp32", "torch.float32", "float32" and 6 (the number of the ScalarType) are one dtype.
    """
    found = call.arg(index)
    if isinstance(found, bool) or not isinstance(found, (str, int)):
        return None
    if isinstance(found, int):
        return _SCALAR_TYPE.get(found)
    name = dtype_named(found)
    return name if name in DTYPE_BYTES else None


def dtype_named(text: str) -> str:
    """The name used here of a dtype as torch writes it; any other text as it is.

    >>> dtype_named("torch.bfloat16"), dtype_named("half"), dtype_named("fp8")
    ('bf16', 'fp16', 'fp8_e4m3')
    """
    name = text.removeprefix("torch.")
    return _TORCH.get(name, name)


def broadcast(call: Call, shapes: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """The shape all of `shapes` expand to."""
    sizes: list[int] = []
    for shape in shapes:
        sizes = [1] * (len(shape) - len(sizes)) + sizes
        for place, size in zip(range(-len(shape), 0), shape, strict=True):
            if size != 1 and sizes[place] not in (1, size):
                raise Unaccountable(f"{call.op}: sizes {sizes[place]} and {size} do not broadcast")
            sizes[place] = sizes[place] if size == 1 else size
    return tuple(sizes)


def promote(operands: Iterable[Argument]) -> str:
    """The dtype in which tensors and numbers are combined.

    Tensors with dimensions decide; those without, and then plain numbers, only where their kind is
    higher.
    """
    dims: list[str] = []
    zero_dims: list[str] = []
    numbers: list[str] = []
    for operand in operands:
        if isinstance(operand, Tensor):
            (dims if operand.shape else zero_dims).append(operand.dtype)
        elif isinstance(operand, bool):
            numbers.append("bool")
        elif isinstance(operand, int):
            numbers.append("int64")
        elif isinstance(operand, float):
            numbers.append("fp32")
    best = "bool" if not dims else _widest(dims)
    for group in (zero_dims, numbers):
        if group and (kind(_widest(group)) > kind(best) or (not dims and group is zero_dims)):
            best = _widest(group)
    return best


# Pairs that meet in a third dtype, wider than both.
_MEET = {frozenset(("fp16", "bf16")): "fp32", frozenset(("uint8", "int8")): "int16"}


def _widest(dtypes: list[str]) -> str:
    best = dtypes[0]
    for dtype in dtypes[1:]:
        if frozenset((best, dtype)) in _MEET:
            best = _MEET[frozenset((best, dtype))]
        elif (kind(dtype), _WIDTH.get(dtype, 0)) > (kind(best), _WIDTH.get(best, 0)):
            best = dtype
    return best


def floating(dtype: str) -> str:
    """The dtype of a real function of `dtype`: integers become fp32."""
    return dtype if kind(dtype) >= FLOATING else "fp32"


def dims_of(call: Call, rank: int, dims: Sequence[int]) -> tuple[int, ...]:
    """`dims` counted from the front, each once; an empty list means all of them."""
    if not dims:
        return tuple(range(rank))
    span = max(rank, 1)
    if any(not -span <= d < span for d in dims):
        raise Unaccountable(f"{call.op}: dimensions {tuple(dims)} do not exist in rank {rank}")
    return tuple(sorted({d % span for d in dims}))


def reduced(shape: Sequence[int], dims: Sequence[int], keep: bool) -> tuple[int, ...]:
    """`shape` with `dims` (counted from the front) reduced to one element, or removed.

    >>> reduced((2, 3, 4), (1,), keep=False)
    (2, 4)
    """
    if keep:
        return tuple(1 if i in dims else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in dims)


def below(rows: int, cols: int, ahead: int) -> int:
    """Pairs (i, j) of a rows x cols matrix with j <= i + `ahead`: a triangle, a causal mask.

    >>> below(4, 4, 0), below(1, 100, 99), below(3, 2, -1)
    (10, 100, 3)
    """
    # Rows first .. full see some columns but not all, one more each; the rows after see all.
    first = min(rows, max(0, -ahead))
    full = min(rows, max(first, cols - ahead - 1))
    rising = full - first
    some = rising * (2 * (first + ahead + 1) + rising - 1) // 2
    return some + (rows - full) * cols


def product(sizes: Iterable[int]) -> int:
    """The number of elements of a shape."""
    count = 1
    for size in sizes:
        count *= size
    return count
