"""Exponentials a second: the ceiling of special functions."""

from collections.abc import Sequence

from roofline.bench.cpu.crew import Crew, Load
from roofline.bench.cpu.operators import capability
from roofline.bench.record import Found, ceiling
from roofline.device import SFU, Reach, Variant

_ELEMENTS = (1 << 14, 1 << 15, 1 << 16, 1 << 17)  # of one thread: two arrays stay in L2 or near it
_TRIED = 3


def exponentials(
    leader: Crew, threads: int, count: int, seconds: float, conditions: Sequence[str]
) -> Found:
    """Library ceiling of `sfu`: results of torch.exp on fp32; `leader` may use `threads` CPUs.

    A CPU has no unit for these; the library computes them with vector arithmetic.  Others
    (tanh, erf) cost more than exp and stay below this ceiling.
    """
    import torch

    best: tuple[float, int, Load] | None = None
    for elements in _ELEMENTS:
        load = _load(leader, threads, elements * threads, seconds)
        rate = max(leader.sample(load).rate for _ in range(_TRIED))
        if best is None or rate > best[0]:
            best = (rate, elements, load)
    assert best is not None
    return ceiling(
        SFU,
        Variant(threads=threads, reach=Reach.LIBRARY),
        leader.samples(best[2], count),
        method=f"torch.exp of {best[1]} fp32 a thread, results counted, the best of a search",
        conditions=(f"instructions {capability()}", *conditions, f"torch {torch.__version__}"),
    )


def _load(leader: Crew, threads: int, elements: int, seconds: float) -> Load:
    import torch

    x = torch.randn(elements, generator=torch.Generator().manual_seed(elements))
    out = torch.empty_like(x)

    def run(_: int, passes: int) -> None:
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        for _ in range(passes):
            torch.exp(x, out=out)

    return Load(run, elements, seconds)
