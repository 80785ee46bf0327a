"""What PyTorch's matrix products reach, over a small search of shapes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from roofline.bench.cpu.crew import Crew, Load
from roofline.bench.record import Absent, Found, ceiling
from roofline.device import (
    TENSOR_BF16,
    TENSOR_FP16,
    TENSOR_INT8,
    VECTOR_FP32,
    VECTOR_FP64,
    Ceiling,
    Reach,
    Resource,
    Variant,
)
from roofline.units import show


@dataclass(frozen=True, slots=True)
class Product:
    """One element type's matrix product: out[N,N] = a[N,N] @ b[N,N]."""

    resource: Resource
    dtype: str
    operator: str = "mm"
    out: str = ""  # element type of the result; "" is the same


# fp8 is absent: without instructions for it PyTorch falls back to a scalar loop.
PRODUCTS = (
    Product(VECTOR_FP32, "float32"),
    Product(VECTOR_FP64, "float64"),
    Product(TENSOR_BF16, "bfloat16"),
    Product(TENSOR_FP16, "float16"),
    Product(TENSOR_INT8, "int8", "_int_mm", "int32"),
)
SIZES = (64, 128, 256, 512, 768, 1024, 1536)  # N, ascending: the next is tried if it is not slow


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to try."""

    largest: int  # N
    count: int  # samples of the best shape
    sample_s: float
    slowest_s: float  # products expected to take longer are not tried


def products(
    leader: Crew, threads: int, effort: Effort, conditions: Sequence[str]
) -> Iterator[Found]:
    """Library ceilings; `leader` is one thread that may use `threads` CPUs.  Needs torch."""
    import torch

    told = (*conditions, f"torch {torch.__version__}")
    before = torch.get_num_threads()
    fp32: Found | None = None
    try:
        for product in PRODUCTS:
            found = _product(leader, product, threads, effort, told)
            fp32 = fp32 or found
            yield _fallback(found, fp32) or found
    finally:
        torch.set_num_threads(before)


def _fallback(found: Found, fp32: Found) -> Absent | None:
    """Says so when a half type is slower than fp32: no instruction was used, so no pipe was timed.

    Such a rate would make a bad library path look like the limit of the machine.
    """
    if not (isinstance(found, Ceiling) and isinstance(fp32, Ceiling)):
        return None
    if found.resource not in (TENSOR_FP16, TENSOR_BF16) or found.rate >= fp32.rate / 2:
        return None
    reached = show(found.rate, "flop/s")
    return Absent(found.resource, found.variant, f"torch only has a slow fallback, {reached}")


def _product(
    leader: Crew, product: Product, threads: int, effort: Effort, conditions: Sequence[str]
) -> Found:
    variant = Variant(threads=threads, reach=Reach.LIBRARY)
    best: tuple[float, int, Load] | None = None
    for n in (n for n in SIZES if n <= effort.largest):
        try:
            [run] = leader.each(lambda _, n=n: _prepare(product, n, threads))  # type: ignore[misc]
        except RuntimeError as error:
            return Absent(product.resource, variant, f"torch refuses: {error}")
        load = Load(run, 2 * n**3, effort.sample_s)
        rate = max(leader.sample(load).rate for _ in range(3))
        if best is None or rate > best[0]:
            best = (rate, n, load)
        if 2 * (2 * n) ** 3 / rate > effort.slowest_s:
            break
    assert best is not None
    _, n, load = best
    return ceiling(
        product.resource,
        variant,
        leader.samples(load, effort.count),
        method=f"torch.{product.operator}, {product.dtype}, {n} x {n} x {n}, the best of a search",
        conditions=conditions,
    )


def _prepare(product: Product, n: int, threads: int) -> Callable[[int, int], object]:
    """A function that multiplies random matrices a number of times; torch warmed up."""
    import torch

    torch.set_num_threads(threads)
    dtype = getattr(torch, product.dtype)
    out = torch.empty(n, n, dtype=getattr(torch, product.out or product.dtype))
    draw = torch.Generator().manual_seed(n)
    a, b = (_random(torch, n, dtype, draw) for _ in "ab")
    multiply = getattr(torch, product.operator)

    def run(_: int, passes: int) -> None:
        for _ in range(passes):
            multiply(a, b, out=out)

    run(0, 2)
    return run


def _random(torch: Any, n: int, dtype: Any, draw: Any) -> Any:
    if dtype.is_floating_point:
        return torch.randn(n, n, generator=draw).to(dtype)
    return torch.randint(-127, 128, (n, n), generator=draw, dtype=dtype)
