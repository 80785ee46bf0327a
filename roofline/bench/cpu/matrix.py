"""What PyTorch's matrix products reach, over a small search of shapes and libraries."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from roofline.bench.cpu.chosen import Chosen
from roofline.bench.cpu.crew import Crew, Load
from roofline.bench.cpu.heard import implementation
from roofline.bench.record import Absent, Found
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

SIZES = (128, 256, 384, 512, 768, 1024, 1536)  # N of out[N,N] = a[N,N] @ b[N,N], ascending
_ONEDNN = "linear in oneDNN's layout"
_PRODUCTS = (
    (VECTOR_FP32, "float32", ("torch.mm", _ONEDNN)),
    (VECTOR_FP64, "float64", ("torch.mm",)),
    (TENSOR_BF16, "bfloat16", ("torch.mm",)),
    (TENSOR_FP16, "float16", ("torch.mm",)),
    (TENSOR_INT8, "int8", ("torch._int_mm",)),
)
_TRIED = 3  # samples of each candidate of the search
_AS_GOOD = 0.98


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to try."""

    largest: int  # N
    count: int  # clean samples of the best candidate
    sample_s: float
    slowest_s: float  # products expected to take longer are not tried
    search_s: float  # a search of candidates ends after this long
    least_s: float  # for which samples of all products are taken in turns


def products(
    leader: Crew,
    threads: int,
    effort: Effort,
    conditions: Sequence[str],
    lacking: Mapping[Resource, str] = MappingProxyType({}),
    only: Collection[Resource] | None = None,
) -> Iterator[Chosen | Absent]:
    """The best way of every product; `leader` is one thread that may use `threads` CPUs.

    Needs torch.  `only` names those that are wanted; None is all.  When all are sampled,
    `without_fallbacks` says which of them stand for nothing in the CPU.
    `lacking` are the products that torch does not have, and why, as found with one thread: with
    more, a slow fallback looks like a busy machine.
    fp8 is not tried: without instructions for it torch takes a scalar loop, for seconds.
    """
    import torch

    told = (*conditions, f"torch {torch.__version__}")
    variant = Variant(threads=threads, reach=Reach.LIBRARY)
    for resource, dtype, ways in _PRODUCTS:
        if only is not None and resource not in only:
            continue
        if resource in lacking:
            yield Absent(resource, variant, lacking[resource], lasting=True)
            continue
        yield product(leader, resource, dtype, ways, threads, effort, told)


def without_fallbacks(found: Sequence[Found]) -> list[Found]:
    """What was `found` with one thread, a half type that nothing in the CPU was made for absent."""
    library = (f for f in found if f.variant.reach == Reach.LIBRARY)
    fp32 = next((f for f in library if f.resource == VECTOR_FP32), None)
    return [(fp32 and _fallback(each, fp32)) or each for each in found]


def _fallback(found: Found, fp32: Found) -> Absent | None:
    """Says so when a half type is slower than half of fp32: nothing in the CPU was made for it.

    Such a rate would make a poor path through the library look like the limit of the machine.
    """
    if not (isinstance(found, Ceiling) and isinstance(fp32, Ceiling)):
        return None
    if found.resource not in (TENSOR_FP16, TENSOR_BF16) or found.rate >= fp32.rate / 2:
        return None
    why = f"torch only has a slow fallback, {show(found.rate, 'flop/s')} on one thread"
    return Absent(found.resource, found.variant, why, lasting=True)


def product(
    leader: Crew,
    resource: Resource,
    dtype: str,
    ways: Sequence[str],
    threads: int,
    effort: Effort,
    conditions: Sequence[str],
) -> Chosen | Absent:
    """The best of `ways` (names in _WAYS) of multiplying matrices of `dtype` over all SIZES."""
    variant = Variant(threads=threads, reach=Reach.LIBRARY)
    tried: list[tuple[float, str, int, Load]] = []
    refused, until = "", time.perf_counter() + effort.search_s
    for way in ways:
        for n in (n for n in SIZES if n <= effort.largest):
            if tried and time.perf_counter() > until:
                break
            try:
                load = _load(leader, way, dtype, n, threads, effort.sample_s)
            except RuntimeError as error:
                refused = str(error).splitlines()[0]
                break
            rate = leader.sample(load).rate
            tried.append((rate, way, n, load))
            if 2 * (2 * n) ** 3 / rate > effort.slowest_s:
                break
    if not tried:
        return Absent(resource, variant, f"torch refuses: {refused}", lasting=True)
    again = leader.in_turns([load for *_, load in tried], _TRIED - 1)
    tried = [
        (max(rate, *(s.rate for s in more.all)), way, n, load)
        for (rate, way, n, load), more in zip(tried, again, strict=True)
    ]
    fastest = max(rate for rate, *_ in tried)
    # The smallest that is as good as any: the shorter, the sooner undisturbed.
    _, way, n, load = min((t for t in tried if t[0] >= _AS_GOOD * fastest), key=lambda t: t[2])
    [ran] = leader.each(lambda _: implementation(lambda: load.run(0, 1)))
    return Chosen(
        resource,
        variant,
        load,
        method=f"{way}, {dtype}, {n} x {n} x {n}, the best of a search",
        conditions=(f"instructions {ran}", *conditions),
        seen=fastest,
    )


def _load(leader: Crew, way: str, dtype: str, n: int, threads: int, seconds: float) -> Load:
    import torch

    [multiply] = leader.each(lambda _: _prepared(way, dtype, n, threads))

    def run(_: int, passes: int) -> None:
        with torch.inference_mode():
            for _ in range(passes):
                multiply()

    return Load(run, 2 * n**3, seconds)


def _prepared(way: str, dtype: str, n: int, threads: int) -> Callable[[], object]:
    """One product of random matrices as a function, warmed up, on the thread that will call it."""
    import torch

    torch.set_num_threads(threads)
    multiply = _WAYS[way](torch, getattr(torch, dtype), n)
    with torch.inference_mode():
        multiply()
    return multiply


def _mm(torch: Any, dtype: Any, n: int) -> Callable[[], object]:
    a, b = (_random(torch, n, seed).to(dtype) for seed in (1, 2))
    out = torch.empty(n, n, dtype=dtype)
    return lambda: torch.mm(a, b, out=out)


def _int_mm(torch: Any, dtype: Any, n: int) -> Callable[[], object]:
    a, b = ((127 * _random(torch, n, seed).clamp(-1, 1)).to(dtype) for seed in (1, 2))
    out = torch.empty(n, n, dtype=torch.int32)
    return lambda: torch._int_mm(a, b, out=out)


def _onednn(torch: Any, dtype: Any, n: int) -> Callable[[], object]:
    """A linear layer in oneDNN's own layout: what convolutions and compiled programs use."""
    x, weight = (_random(torch, n, seed).to(dtype).to_mkldnn() for seed in (1, 2))
    return lambda: torch.nn.functional.linear(x, weight)


_WAYS: Mapping[str, Callable[[Any, Any, int], Callable[[], object]]] = {
    "torch.mm": _mm,
    "torch._int_mm": _int_mm,
    _ONEDNN: _onednn,
}


def _random(torch: Any, n: int, seed: int) -> Any:
    return torch.randn(n, n, generator=torch.Generator().manual_seed(seed))
