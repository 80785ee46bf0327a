"""What the vector pipes can do: chains of arithmetic that never leave the registers."""

from collections.abc import Callable, Iterator, Sequence

from roofline.bench.cpu.crew import Crew, Load
from roofline.bench.cpu.kernels import Chain, Kernels
from roofline.bench.record import Found, ceiling
from roofline.device import Reach, Variant


def chains(
    crew: Crew, kernels: Kernels, count: int, seconds: float, conditions: Sequence[str]
) -> Iterator[Found]:
    """Register ceilings from `count` samples of `seconds`, of all threads of `crew` together."""
    variant = Variant(threads=len(crew), reach=Reach.REGISTER)
    for resource, chain in kernels.chains.items():
        load = Load(_alone(chain), chain.work * len(crew), seconds)
        yield ceiling(
            resource,
            variant,
            crew.samples(load, count),
            method=f"{chain.what} in registers, kernels {kernels.code}",
            conditions=(f"instructions {kernels.instructions}", *conditions),
        )


def _alone(chain: Chain) -> Callable[[int, int], object]:
    return lambda _, passes: chain.run(passes)
