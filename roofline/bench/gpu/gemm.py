"""What PyTorch's matrix products reach, over a small search of shapes and layouts."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from roofline.bench.gpu.card import Card
from roofline.bench.gpu.record import Recorder
from roofline.bench.gpu.timing import Load
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

if TYPE_CHECKING:
    import torch

Shape = tuple[int, int, int]  # m, n, k
Multiply = Callable[[Any, Any], Any]  # tensors a [m,k], b [k,n]

# 8192 cubed is not always the best: a deeper k amortises the ends, a smaller cube the tail.
SHAPES: tuple[Shape, ...] = (
    (4096, 4096, 4096), (8192, 8192, 4096), (8192, 8192, 8192), (8192, 8192, 16384),
    (16384, 8192, 8192), (6144, 6144, 8192), (4096, 4096, 16384),
)  # fmt: skip
QUICK_SHAPES = SHAPES[2:4]
SLOW_SHAPES = SHAPES[:3]  # for pipes under 100 Tflop/s, which need no large products
PRODUCT = "matrix product"
WITH_FP64_MATRICES = (80, 90, 100, 103)  # compute capabilities


@dataclass(frozen=True, slots=True)
class Product:
    """One kind of matrix product."""

    resource: Resource
    dtype: str
    call: str  # how it is called, in words
    accumulate: str
    multiply: Multiply
    setting: Callable[[], AbstractContextManager[None]] = nullcontext
    layouts: str = "nt"  # of b: row-major "n", column-major "t"
    way: str | None = None
    sparse: bool = False
    slow: bool = False

    @property
    def variant(self) -> Variant:
        """What distinguishes its ceiling."""
        return Variant(reach=Reach.LIBRARY, way=self.way)


def products(card: Card) -> tuple[Product, ...]:
    """Every product that torch may have on this card; those it refuses are told as absent."""
    fp64 = not card.nvidia or card.capability in WITH_FP64_MATRICES
    return (
        Product(TENSOR_BF16, "bfloat16", "torch.mm", "fp32", _mm),
        Product(TENSOR_FP16, "float16", "torch.mm", "fp32", _mm),
        Product(TENSOR_FP16_ACC16, "float16", "torch.mm, fp16 accumulation allowed", "fp16",
                _mm, _fp16_accumulation),
        Product(TENSOR_TF32, "float32", "torch.mm, tf32 allowed", "fp32", _mm, _tf32),
        # A vector pipe is for more than products, which reach three quarters of it.
        Product(VECTOR_FP32, "float32", "torch.mm", "fp32", _mm, way=PRODUCT, slow=True),
        Product(TENSOR_FP64 if fp64 else VECTOR_FP64, "float64", "torch.mm", "fp64", _mm,
                way=None if fp64 else PRODUCT, slow=True),
        Product(TENSOR_INT8, "int8", "torch._int_mm", "int32", _int_mm, layouts="t"),
        Product(TENSOR_FP8, "float8_e4m3fn", "torch._scaled_mm, fast accumulate",
                "fp32, inside the matrix units", _scaled(True), layouts="t"),
        Product(TENSOR_FP8, "float8_e4m3fn", "torch._scaled_mm",
                "fp32, added up outside the matrix units now and then", _scaled(False),
                layouts="t", way="exact accumulate"),
        Product(TENSOR_FP16_SPARSE, "float16", "torch.mm, semi-structured", "fp32", _mm,
                sparse=True),
        Product(TENSOR_BF16_SPARSE, "bfloat16", "torch.mm, semi-structured", "fp32", _mm,
                sparse=True),
        Product(TENSOR_INT8_SPARSE, "int8", "torch.mm, semi-structured", "int32", _mm, layouts="t",
                sparse=True),
        Product(TENSOR_FP8_SPARSE, "float8_e4m3fn", "torch._scaled_mm, semi-structured", "fp32",
                _scaled(False), layouts="t", sparse=True),
    )  # fmt: skip


def gemms(recorder: Recorder, wanted: Sequence[Product], quick: bool) -> Iterator[Found]:
    """Library ceilings: for each product the best of the shapes and layouts, then its samples."""
    for product in wanted:
        with product.setting():
            yield _product(recorder, product, quick)


def _product(recorder: Recorder, product: Product, quick: bool) -> Found:
    import torch

    shapes = QUICK_SHAPES[:1] if quick else SLOW_SHAPES if product.slow else SHAPES
    best: tuple[float, Shape, str] | None = None
    try:
        for shape in shapes:
            for layout in product.layouts[-1:] if quick else product.layouts:
                rate = recorder.timer.quick_rate(load(product, shape, layout))
                if best is None or rate > best[0]:
                    best = rate, shape, layout
        assert best is not None
        _, shape, layout = best
        return recorder.ceiling(
            product.resource,
            load(product, shape, layout),
            f"{product.call}, {product.dtype}, {' x '.join(map(str, shape))}"
            f"{', b column-major' if layout == 't' else ''}, the best of {len(shapes)} shapes",
            (f"{product.accumulate} accumulate", "random operands"),
            product.variant,
        )
    except (RuntimeError, NotImplementedError, TypeError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        return Absent(product.resource, product.variant, f"torch refuses: {reason}")
    finally:
        torch.cuda.empty_cache()


def load(product: Product, shape: Shape, layout: str) -> Load:
    """One product [m,k] @ [k,n] of random matrices; the zeros of a sparse one count as work."""
    m, n, k = shape
    a = _random(product, m, k)
    b = _random(product, n, k).t() if layout == "t" else _random(product, k, n)
    if product.sparse:
        a = _pruned(a)
    return Load(lambda _turn: product.multiply(a, b), 2.0 * m * n * k)


def _random(product: Product, rows: int, columns: int) -> "torch.Tensor":
    import torch

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
