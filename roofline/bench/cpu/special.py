"""Special functions a second: the ceilings of `sfu`, one for each function that is measured."""

from collections.abc import Iterator, Sequence

from roofline.bench.cpu.chosen import Chosen
from roofline.bench.cpu.crew import Crew, Load
from roofline.bench.cpu.operators import capability
from roofline.device import SFU, Reach, Variant

# A root is an instruction of its own, the others are some tens of them: several times apart.
FUNCTIONS = ("exp", "log", "sin", "tanh", "erf", "sqrt", "rsqrt")
# Of one thread: two arrays stay in L2 or near it.  With fewer, torch leaves the other threads idle.
_ELEMENTS = (1 << 15, 1 << 16, 1 << 17)
_TRIED = 3


def functions(
    leader: Crew, threads: int, seconds: float, conditions: Sequence[str]
) -> Iterator[Chosen]:
    """Of `sfu` by the library: results on fp32 of torch's function, which is the variant's way.

    `leader` may use `threads` CPUs.  A CPU has no unit for these; the library computes them with
    vector arithmetic.
    """
    for function in FUNCTIONS:
        yield _searched(function, leader, threads, seconds, conditions)


def _searched(
    function: str, leader: Crew, threads: int, seconds: float, conditions: Sequence[str]
) -> Chosen:
    import torch

    best: tuple[float, int, Load] | None = None
    for elements in _ELEMENTS:
        load = _load(function, threads, elements * threads, seconds)
        rate = max(leader.sample(load).rate for _ in range(_TRIED))
        if best is None or rate > best[0]:
            best = (rate, elements, load)
    assert best is not None
    return Chosen(
        SFU,
        Variant(threads=threads, reach=Reach.LIBRARY, way=function),
        best[2],
        method=(
            f"torch.{function} of {best[1]} fp32 a thread, results counted, the best of a search"
        ),
        conditions=(f"instructions {capability()}", *conditions, f"torch {torch.__version__}"),
        seen=best[0],
    )


def _load(function: str, threads: int, elements: int, seconds: float) -> Load:
    import torch

    # Above 0, where every one of them has a value.
    x = torch.rand(elements, generator=torch.Generator().manual_seed(elements)) + 0.5
    out = torch.empty_like(x)
    operator = getattr(torch, function)

    def run(_: int, passes: int) -> None:
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        for _ in range(passes):
            operator(x, out=out)

    return Load(run, elements, seconds)
