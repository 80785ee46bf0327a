"""What PyTorch's matrix products reach, over a small search of shapes and layouts."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from roofline.bench.gpu.card import Card
from roofline.bench.gpu.record import Recorder
from roofline.bench.gpu.timing import Load, Timer
from roofline.bench.record import Absent, Found
from roofline.device import (
    TENSOR_BF16,
    TENSOR_BF16_SPARSE,
    TENSOR_FP8,
    TENSOR_FP8_SPARSE,
    TENSOR_FP16,
    TENSOR_FP16_ACC16,
    TENSOR_FP16_SPARSE,
    TENSOR_FP64,
    TENSOR_INT8,
    TENSOR_INT8_SPARSE,
    TENSOR_TF32,
    VECTOR_FP32,
    VECTOR_FP64,
    Reach,
    Resource,
    Variant,
)
from roofline.units import number_of

if TYPE_CHECKING:
    import torch

Shape = tuple[int, int, int]  # m, n, k
Way = tuple[Shape, str]  # and layout
Multiply = Callable[[Any, Any], Any]  # tensors a [m,k], b [k,n]

LAYOUTS = ("nt", "nn", "tn", "tt")  # of a and b: row-major "n", column-major "t"
NORMAL = "operands normal, of mean 0 and deviation 1"
COUNT = 20  # samples of the best: pauses take longer than they do


def shapes(units: int, *, quick: bool = False, slow: bool = False) -> tuple[Shape, ...]:
    """What is searched on a card of `units` multiprocessors.

    8192 cubed is not always the best: a deeper k amortises the ends, fewer rows the tail, and with
    64 rows a multiprocessor tiles of 128 x 256 and of 128 x 128 come out as whole rounds of the
    card.
    """
    rows = 64 * units
    if quick:
        return ((rows, 4096, 8192),)
    if slow:  # pipes under 100 Tflop/s need no large products
        return (4096, 4096, 4096), (8192, 8192, 2048), (rows, 8192, 2048), (rows, 4096, 4096)
    return (
        (rows, 4096, 8192), (4096, rows, 8192), (8192, rows, 8192),
        (rows, 8192, 16384), (4096, rows, 16384),
    )  # fmt: skip


PRODUCT = "matrix product"
WITH_FP64_MATRICES = (80, 90, 100, 103)  # compute capabilities


@dataclass(frozen=True, slots=True)
class Product:
    """One kind of matrix product."""

    resource: Resource
    dtype: str
    call: str  # how it is called, in words
    accumulate: str  # in words
    multiply: Multiply
    setting: Callable[[], AbstractContextManager[None]] = nullcontext
    layouts: Sequence[str] = LAYOUTS
    way: str | None = None
    sparse: bool = False
    slow: bool = False

    @property
    def cool(self) -> bool:
        """Whether the card must rest between bursts: matrix units meet its power cap."""
        return self.resource not in (VECTOR_FP32, VECTOR_FP64)

    @property
    def variant(self) -> Variant:
        """What distinguishes its ceiling."""
        return Variant(reach=Reach.LIBRARY, way=self.way)


def products(card: Card) -> tuple[Product, ...]:
    """Every product that torch may have on this card; those it refuses are told as absent."""
    fp64 = not card.nvidia or card.capability in WITH_FP64_MATRICES
    # CDNA 3 has e4m3 without infinities and without -0; its successor and others have OCP's.
    fp8 = "float8_e4m3fnuz" if card.arch.startswith("gfx94") else "float8_e4m3fn"
    return (
        Product(TENSOR_BF16, "bfloat16", "torch.mm", "fp32 accumulate", _mm),
        Product(TENSOR_FP16, "float16", "torch.mm", "fp32 accumulate", _mm),
        Product(TENSOR_FP16_ACC16, "float16", "torch.mm, fp16 accumulation allowed",
                "fp16 accumulate", _mm, _fp16_accumulation),
        Product(TENSOR_TF32, "float32", "torch.mm, tf32 allowed", "fp32 accumulate", _mm, _tf32),
        # A vector pipe is for more than products, which reach 0.80 of it on an H200.
        Product(VECTOR_FP32, "float32", "torch.mm", "fp32 accumulate", _mm, way=PRODUCT, slow=True),
        Product(TENSOR_FP64 if fp64 else VECTOR_FP64, "float64", "torch.mm", "fp64 accumulate", _mm,
                way=None if fp64 else PRODUCT, slow=True),
        Product(TENSOR_INT8, "int8", "torch._int_mm", "int32 accumulate", _int_mm, layouts=("nt",)),
        Product(TENSOR_FP8, fp8, "torch._scaled_mm, fast accumulate",
                "fp32 accumulate inside the matrix units", _scaled(True), layouts=("nt",)),
        Product(TENSOR_FP8, fp8, "torch._scaled_mm",
                "fp32 accumulate, added up outside the matrix units now and then", _scaled(False),
                layouts=("nt",), way="exact accumulate"),
        Product(TENSOR_FP16_SPARSE, "float16", "torch.mm, semi-structured", "fp32 accumulate", _mm,
                layouts=LAYOUTS[:2], sparse=True),
        Product(TENSOR_BF16_SPARSE, "bfloat16", "torch.mm, semi-structured", "fp32 accumulate", _mm,
                layouts=LAYOUTS[:2], sparse=True),
        Product(TENSOR_INT8_SPARSE, "int8", "torch.mm, semi-structured", "int32 accumulate", _mm,
                layouts=("nt",), sparse=True),
        Product(TENSOR_FP8_SPARSE, fp8, "torch._scaled_mm, semi-structured",
                "fp32 accumulate, fast or exact as cuSPARSELt does it: torch passes on no choice",
                _scaled(False), layouts=("nt",), sparse=True),
    )  # fmt: skip


def gemms(recorder: Recorder, wanted: Sequence[Product], quick: bool) -> Iterator[Found]:
    """Library ceilings: for each product the best of the shapes and layouts, then its samples."""
    for product in wanted:
        with product.setting():
            yield _product(recorder, product, quick)


def _product(recorder: Recorder, product: Product, quick: bool) -> Found:
    import torch

    tried = shapes(recorder.timer.card.units, quick=quick, slow=product.slow)
    layouts = product.layouts[:1] if quick else product.layouts
    try:
        shape, layout = best(recorder.timer, product, tried, layouts)
        searched = f", the best of {number_of(len(tried), 'shape')}" * (not quick)
        return recorder.ceiling(
            product.resource,
            load(product, shape, layout),
            f"{product.call}, {product.dtype}, {named(shape, layout)}{searched}",
            (product.accumulate, *operands(product)),
            product.variant,
            count=COUNT,
            cool=product.cool,
        )
    except (RuntimeError, NotImplementedError, TypeError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        return Absent(product.resource, product.variant, f"torch refuses: {reason}")
    finally:
        torch.cuda.empty_cache()


def best(timer: Timer, product: Product, tried: Sequence[Shape], layouts: Sequence[str]) -> Way:
    """The fastest shape and layout: every shape in the first layout, the best in the others.

    The card rests before each: at its power cap shapes look alike that are 4 % apart.
    """
    first = layouts[0]
    if len(tried) * len(layouts) == 1:
        return tried[0], first
    rates: dict[Way, float] = {}

    def look(shape: Shape, layout: str) -> float:
        rates[shape, layout] = timer.quick_rate(load(product, shape, layout), cool=product.cool)
        return rates[shape, layout]

    shape = max(tried, key=lambda shape: look(shape, first))
    for layout in layouts[1:]:
        look(shape, layout)
    return max(rates, key=lambda way: rates[way])


def named(shape: Shape, layout: str) -> str:
    """A shape m x n x k and its layout in words."""
    turned = [name for name, order in zip("ab", layout, strict=True) if order == "t"]
    return " x ".join(map(str, shape)) + (
        f", {' and '.join(turned)} column-major" if turned else ""
    )


def load(product: Product, shape: Shape, layout: str) -> Load:
    """One product [m,k] @ [k,n] of random matrices; the zeros of a sparse one count as work.

    Each has memory of its own: none lies in what a larger one left behind.
    """
    import torch

    torch.cuda.empty_cache()
    m, n, k = shape
    a = _random(product, m, k, layout[0])
    b = _random(product, k, n, layout[1])
    if product.sparse:
        a = _pruned(a)
    return Load(lambda _turn: product.multiply(a, b), 2.0 * m * n * k)


def operands(product: Product) -> tuple[str, ...]:
    """What is multiplied, which decides the power that it takes."""
    drawn = "operands uniform from -127 to 127" if product.dtype == "int8" else NORMAL
    zeros = ("a is 2:4 sparse, the first two of every four kept; its zeros count as work",)
    return drawn, *zeros * product.sparse


def _random(product: Product, rows: int, columns: int, order: str) -> "torch.Tensor":
    import torch

    if order == "t":
        return _random(product, columns, rows, "n").t()
    dtype = getattr(torch, product.dtype)
    if dtype == torch.int8:
        return torch.randint(-127, 128, (rows, columns), dtype=dtype, device="cuda")
    wide = dtype if dtype in (torch.float32, torch.float64) else torch.float16
    return torch.randn(rows, columns, dtype=wide, device="cuda").to(dtype)


def _pruned(a: "torch.Tensor") -> Any:
    """`a` with the first two of every four kept, in torch's semi-structured form."""
    import torch

    mask = torch.tensor([1, 1, 0, 0], device="cuda").bool().repeat(a.shape[0], a.shape[1] // 4)
    zero = torch.zeros((), device="cuda").to(a.dtype)
    return torch.sparse.to_sparse_semi_structured(torch.where(mask, a, zero))


def _mm(a: Any, b: Any) -> Any:
    import torch

    return torch.mm(a, b)


def _int_mm(a: Any, b: Any) -> Any:
    import torch

    return torch._int_mm(a, b)


def _scaled(fast: bool) -> Multiply:
    def multiply(a: Any, b: Any) -> Any:
        import torch

        one = _one(a.device)
        return torch._scaled_mm(
            a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast
        )

    return multiply


@cache
def _one(device: "torch.device") -> "torch.Tensor":
    import torch

    return torch.ones((), device=device)


@contextmanager
def _tf32() -> Iterator[None]:
    import torch

    matmul = torch.backends.cuda.matmul
    before = matmul.allow_tf32
    matmul.allow_tf32 = True
    try:
        yield
    finally:
        matmul.allow_tf32 = before


@contextmanager
def _fp16_accumulation() -> Iterator[None]:
    import torch

    matmul = torch.backends.cuda.matmul
    before = matmul.allow_fp16_accumulation
    matmul.allow_fp16_accumulation = True
    try:
        yield
    finally:
        matmul.allow_fp16_accumulation = before
